"""The pictures of the documentation, taken of the sample in a real browser.

``python -m tests.pictures`` makes all of ``docs/images`` again; with names, such as ``lost``, only
these.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from rag import SAMPLE, KnowledgeBase
from rag.__main__ import main as run_verb
from tests.browser.conftest import ARGUMENTS, AT_REST, CHROMIUM
from tests.browser.waiting import LONG, idle
from tests.dashboard import serving
from tests.sample import sample

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
QUESTION = "From which day of illness do I need a doctor's certificate?"
LOST, ITS_WORDS = "Are pets allowed at work?", "May I bring a dog?"
WIDTH, HEIGHT, TALL = 1280, 900, 1080
SMOOTH = Image.Resampling.LANCZOS
FRAMES, MILLISECONDS = 25, 400
"""Pictures of the moving one, and how long each is shown."""
STEPS = 4
"""How often the slider moves between two pictures."""
QUALITY = 60
COLOURS = 128


def tuning(page: Page, address: str) -> None:
    """Move the threshold there and back: its line, the cards and the sentences follow."""
    page.set_viewport_size({"width": WIDTH, "height": TALL})
    page.goto(f"{address}/tuning?{urlencode({'kb': SAMPLE, 'cut': 'Set', 'threshold': 0.2})}")
    slider = page.get_by_role("slider", name=re.compile("^Threshold"))
    page.get_by_test_id("stMetricValue").nth(4).wait_for()
    slider.scroll_into_view_if_needed()
    frames = []
    for frame in range(FRAMES):
        frames.append(_picture(page).resize((WIDTH * 3 // 4, TALL * 3 // 4), SMOOTH))
        for _ in range(STEPS):
            slider.press("ArrowRight" if frame < FRAMES // 2 else "ArrowLeft")
    frames[0].save(
        IMAGES / "tuning.webp",
        save_all=True,
        append_images=frames[1:],
        duration=MILLISECONDS,
        loop=0,
        quality=QUALITY,
        method=6,
    )


def chat(page: Page, address: str) -> None:
    """Ask, and open the page of the first source."""
    page.goto(f"{address}/chat?kb={SAMPLE}")
    box = page.get_by_placeholder("Ask your documents")
    box.fill(QUESTION)
    box.press("Enter")
    page.get_by_text("quotes, no language model").wait_for()
    page.locator("span.listening").wait_for(state="attached")
    page.get_by_role("link", name="[1]", exact=True).first.click()
    page.wait_for_url(re.compile(r"source=1\.1"))
    page.locator("img").last.wait_for()
    _save(page, "chat")


def lost(page: Page, address: str) -> None:
    """Look for the passage that was expected: its rank, and the step that dropped it."""
    page.goto(f"{address}/inspector?{urlencode({'kb': SAMPLE, 'q': LOST, 'missing': ITS_WORDS})}")
    page.get_by_text("has these words").wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    _save(page, "lost")


def compare(page: Page, address: str, name: str, runs: tuple[str, str]) -> None:
    """Open the comparison of two runs, which begins with its verdict."""
    page.goto(f"{address}/runs?{urlencode({'kb': SAMPLE, 'runs': ','.join(runs)})}")
    page.get_by_text("How it was tested").first.wait_for()
    _save(page, name)


def _save(page: Page, name: str) -> None:
    """Keep a picture with a palette: a fraction of the bytes, and no difference to be seen."""
    colours = _picture(page).quantize(COLOURS, dither=Image.Dither.NONE)
    colours.save(IMAGES / f"{name}.png", optimize=True)


def _picture(page: Page) -> Image.Image:
    idle(page)
    page.wait_for_timeout(MILLISECONDS)  # charts are drawn after the page
    idle(page)
    # A busy machine draws a page before the widgets on it.
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=LONG)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def _measure(base: KnowledgeBase, folder: Path) -> dict[str, tuple[str, str]]:
    """Evaluate two recipes and a retriever that is no part of Touchstone; return pairs of runs."""
    recipe = base.recipe()
    mixed = recipe.with_fields({"search.fusion": "saturation", "search.dense_weight": 0.5})
    saved = base.runs.evaluate(SAMPLE, recipe).run.id
    changed = base.runs.evaluate(SAMPLE, mixed).run.id
    base.runs.pin(saved)
    returned = folder / "grep.jsonl"
    returned.write_text("\n".join(map(json.dumps, _grep(base))), "utf-8")
    run_verb(["evaluate", SAMPLE, SAMPLE, "--returned", str(returned), "--home", str(folder)])
    foreign = base.runs.list_all()[0].id
    return {"verdict": (saved, changed), "audit": (saved, foreign)}


def _grep(base: KnowledgeBase) -> Iterator[dict[str, object]]:
    """The lines that share most words with each question, as a file of Ragas has them."""
    index = base.recipe().index
    texts = [base.documents.document(info.id).text for info in base.documents.documents(index)]
    lines = [(line, _words(line)) for text in texts for line in text.splitlines() if line.strip()]
    for question in base.questions.labelled(SAMPLE):
        words = _words(question.text)
        best = sorted(lines, key=lambda line: -len(words & line[1]))[:10]
        yield {
            "user_input": question.text,
            "retrieved_contexts": [line for line, _ in best],
        }


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


@contextmanager
def _browser() -> Iterator[Callable[[], Page]]:
    """A browser in light colours, as what opens its tabs."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = chromium.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", **AT_REST
        )
        context.set_default_timeout(LONG)
        yield context.new_page
        chromium.close()


def main(names: list[str]) -> None:
    """Take the pictures of these names, or all."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with sample(home) as base:
            pairs = _measure(base, home)
        views = {"tuning": tuning, "chat": chat, "lost": lost}
        views |= {name: partial(compare, name=name, runs=runs) for name, runs in pairs.items()}
        with serving(home) as address, _browser() as open_tab:
            for name in names or views:
                views[name](open_tab(), address)


if __name__ == "__main__":
    main(sys.argv[1:])
