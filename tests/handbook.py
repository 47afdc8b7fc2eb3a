"""A small knowledge base for tests of pages: three documents, one question set, quick embedder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamlit.testing.v1 import AppTest

from rag import KnowledgeBase, Recipe, Workspace
from tests.workspaces import add, fill_home, workspace_at

FRAME = Path(__file__).resolve().parents[1] / "pages" / "frame.py"
LEAVE = "How long may unused leave be carried over?"
DOCUMENTS: Mapping[str, str] = {
    "leave.md": "# Leave\n\nUnused leave may be carried over until 30 June of the next year. "
    "It lapses after that day.\n\n# Illness\n\nA certificate is needed from the fourth day.",
    "travel.md": "# Travel\n\nTrains are booked in second class. A hotel may cost $120 a night.",
    "safety.md": "# Safety\n\nWear **goggles** <b>always</b>. The rotor stops within :red[90] s.",
}
QUESTIONS = [
    {"id": "q1", "text": LEAVE, "tags": ["suggested"], "answerable": True},
    {"id": "q2", "text": "What may a hotel cost?", "answerable": True},
]
# Without context: the figures of these tests are counted by hand from what the documents say.
RECIPE = Recipe().with_fields(
    {
        "index.embedder": "fake",
        "index.chunk_size": 24,
        "index.context": "none",
        "search.threshold": 0.2,
        "search.top_k": 2,
        "answer.evidence": "passages",  # a scripted model is not tried first
    }
)


def make(home: Path) -> tuple[Workspace, KnowledgeBase]:
    """Fills a home; the workspace stays open so that a test can look into it."""
    fill_home(home, _prepare)
    workspace = workspace_at(home)
    return workspace, workspace.base("handbook")


def _prepare(home: Path) -> None:
    workspace = workspace_at(home)
    base = workspace.create("handbook", RECIPE)
    assert set(add(workspace, base, DOCUMENTS)) == {"added"}
    lines = "\n".join(json.dumps({**each, "evidence": []}) for each in QUESTIONS)
    base.questions.import_file("questions", "questions.jsonl", lines)
    workspace.close()


def visit(page: str, **parameters: str) -> AppTest:
    """A visitor's first look at a page, with the recipe open where it has one."""
    app = AppTest.from_file(str(FRAME), default_timeout=300)
    for name, value in parameters.items():
        app.query_params[name] = value
    for folded in ("recipe_panel", "tuning_more", "documents_builds"):
        app.session_state[folded] = True
    app.switch_page(page).run()
    assert not app.exception
    return app


def ask(app: AppTest, question: str) -> AppTest:
    """Asks in the chat."""
    app.chat_input[0].set_value(question).run()
    assert not app.exception
    return app


def unfold(app: AppTest) -> AppTest:
    """Opens what is advanced in the recipe panel, which is drawn only then."""
    app.session_state["recipe_advanced"] = True
    return app.run()


def texts(app: AppTest) -> str:
    """Everything that the page says, as markdown."""
    return "\n".join(each.value for each in [*app.markdown, *app.caption, *app.error])


def marked(app: AppTest, kind: str = "passage") -> str:
    """Collect the words that the text of the open document has marked, rows as they were stored."""
    drawn = [element.proto.json for element in app.get("bidi_component")]
    [blocks] = [json.loads(data)["blocks"] for data in drawn if '"blocks"' in data]
    return "\n".join(
        words
        for block in blocks
        for words, marks in [
            *block.get("pieces", []),
            *(("\t".join(row_words(cells)), mark) for cells, mark in block.get("rows", [])),
        ]
        if kind in marks.split()
    )


def row_words(cells: Sequence[Sequence[tuple[str, str]]]) -> list[str]:
    """The words of each cell of a row that is drawn."""
    return ["".join(words for words, _ in cell) for cell in cells]
