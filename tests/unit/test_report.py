"""A report is one file that shows the figures, loads nothing, and lets no text become markup."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pages.components.shell.charts import DARK, LIGHT
from rag import KnowledgeBase, NotFound, Recipe, unmarked
from rag.__main__ import main
from rag.evaluation.report import charts
from rag.evaluation.report.words import element
from tests.answer_runs import ASKED, PRICED, Chat, evaluated, with_chat
from tests.runs import DOCUMENTS, QUESTIONS, SET, VECTORS, WORDS, handbook
from tests.verbs import output_of
from tests.workspaces import add, workspace_at

STYLE = Path(charts.__file__).with_name("page.css").read_text()


class Page(HTMLParser):
    """What a browser would see: elements with attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._text: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._text).split())


def _run(base: KnowledgeBase, **changes: object) -> str:
    recipe = WORDS.with_fields({f"search.{name}": value for name, value in changes.items()})
    return base.runs.evaluate(SET, recipe, (1, 3, 5, 10)).run.id


def test_it_tells_which_prompts_the_answers_had_and_what_they_took(home, monkeypatch):
    workspace, base = handbook(home)
    with_chat(monkeypatch, Chat())
    evaluated(workspace, base, PRICED)
    (run,) = base.runs.list_all()
    text = Page(base.runs.report(run.id)).text
    prompts = base.conversations.prompts.wording().version(PRICED.answer.mode)
    assert f"Prompts {prompts} Answers 0 answered, 4 doubtful, 1 refused; " in text
    assert f"{110 * ASKED // 5} tokens each, {110 * ASKED} in all; 0.000084 USD " in text
    assert "answers 5" not in text  # among the packages
    quotes = Page(base.runs.report(_run(base))).text
    assert "Prompts " not in quotes
    assert "Answers " not in quotes


def test_nothing_is_loaded_and_nothing_runs(base):
    html = base.runs.report(_run(base, mode="dense"), _run(base))
    page = Page(html)
    assert {"svg", "polyline", "rect"} <= {tag for tag, _ in page.elements}
    assert not {"script", "link", "img", "iframe", "a", "object"} & {
        tag for tag, _ in page.elements
    }
    assert not re.search(r"https?:|url\(|@import|src=|href=", html)
    policies = [a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert len(html) < 100_000


def test_the_same_run_gives_the_same_file(base):
    run = _run(base)
    assert base.runs.report(run) == base.runs.report(run)


def test_the_baseline_is_the_pinned_run_unless_another_is_named(base):
    words, vectors = _run(base), _run(base, mode="dense")
    named = base.runs.report(vectors, words)
    base.runs.pin(words)
    assert base.runs.report(vectors) == named
    (found,) = base.runs.compare([vectors], words)
    text = Page(named).text
    assert "mode lexical → dense" in text
    assert f"{found.figures.headline} {found.figures.evidence}" in text
    assert "Difference in nDCG@10 by question" in text
    again = _run(base, top_k=3)
    assert "Difference in nDCG@10 by question" not in Page(base.runs.report(again, words)).text
    figures = found.figures
    assert f"{figures.won} better {figures.tied} the same {figures.lost} worse" in text


def test_the_run_of_the_figures_is_named_above_them(base):
    """By the name that the verdict below calls it."""
    run = _run(base)
    for name in (base.runs.recipe_name(WORDS), "Keywords only"):
        base.runs.name_recipe(WORDS, name)
        facts, _, _ = Page(base.runs.report(run)).text.partition("nDCG@10")
        assert f" Run “{name}” " in facts


def test_labels_that_changed_are_no_change_of_a_run(base):
    """Cards, their marks and the curve of the baseline agree with the verdict."""
    old = _run(base)
    (judged,) = (item for item in base.questions.labelled(SET) if item.id == "q2")
    base.questions.label(SET, "q1", judged.labels[0].document_id, 0, 40, 3)
    new = _run(base)
    (ours, theirs) = (base.runs.get(run).metrics["ndcg@10"] for run in (new, old))
    assert ours != theirs
    for pair in ((new, old), (old, new)):
        (found,) = base.runs.compare(pair[:1], pair[1])
        assert found.figures.all_tied
        html = base.runs.report(*pair)
        changes = re.findall(r">([^<]+) vs\. baseline<", html)
        assert (len(changes), set(changes)) == (4, {"no change"})
        strips = re.findall(r'<s style="left:(.*?)"></s><b style="left:(.*?)"></b>', html)
        assert len(strips) == 4
        assert all(mark == dot for mark, dot in strips)
        curves = re.findall(r'<polyline points="(.*?)" class="line (before|ndcg)"', html)
        assert [name for _, name in curves] == ["before", "ndcg"]
        assert curves[0][0] == curves[1][0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mode": "hybrid", "threshold": 0.2}, ["support", "no passage is dropped"]),
        ({"mode": "hybrid", "threshold": None}, ["support"]),
        ({"mode": "hybrid", "other_languages": "alike"}, []),
        ({"mode": "dense", "threshold": 0.2}, []),
    ],
)
def test_what_holds_for_questions_in_other_languages_is_said(base, changes, said):
    text = Page(base.runs.report(_run(base, **changes))).text
    assert [words for words in ("support", "no passage is dropped") if words in text] == said


def test_misses_show_what_was_expected_and_what_came_instead(base):
    run = _run(base, mode="dense")
    results = [item for item in base.runs.results(run) if item.answerable]
    worst = min(results, key=lambda item: item.metrics["ndcg@10"])
    assert worst.metrics["ndcg@10"] < 1
    text = Page(base.runs.report(run)).text
    section = text.split("The worst questions")[1].split("All figures")[0]
    returned = worst.relevant_among(Recipe().search.top_k)
    assert f"{returned} of {worst.relevant} relevant returned" in section
    assert section.index(worst.text) == min(
        section.index(item.text) for item in results if item.text in section
    )
    label = next(q for q in base.questions.usable(SET) if q.id == worst.question_id).evidence[0]
    assert label.quote in section
    names = {info.id: info.name for info in base.documents.documents(VECTORS.index)}
    chunks = {
        chunk.id: chunk for name in names for chunk in base.documents.chunks(name, VECTORS.index)
    }
    came = chunks[worst.ranking[0][0]]
    assert f"1. {names[came.document_id]}" in section
    assert " ".join(unmarked(came.text).split())[:60] in section


def test_wrong_answers_are_the_first_of_the_worst_questions(home):
    workspace = workspace_at(home)
    base = workspace.create("wrong", WORDS)
    text = "Severance pay is at most 6 months of salary."
    add(workspace, base, {"severance.md": text, "travel.txt": DOCUMENTS["travel.txt"]})
    right = [{"document": "severance.md", "quote": text}]
    rows = [
        {"id": "low", "text": "Severance pay?", "evidence": [{"document": "travel.txt"}]},
        {
            "id": "unexpected",
            "text": "How much severance pay is there at most?",
            "evidence": right,
            "answer": "Four months",
        },
        {"id": "none", "text": "What is severance pay at most?", "answerable": False},
        {"id": "doubt", "text": "What severance pay do managers in Norway get?", "evidence": right},
    ]
    rows = [{**row, "tags": ["pay"]} for row in rows]
    base.questions.import_file(SET, "q.jsonl", "\n".join(map(json.dumps, rows)))
    assert workspace.jobs.run(base.runs.start_answers(SET, WORDS)).status == "done"
    (run,) = base.runs.list_all()
    page = Page(base.runs.report(run.id)).text
    section = page.partition("The worst questions")[2].partition("All figures")[0]
    doubted = next(one for one in base.runs.results(run.id) if one.question_id == "doubt")
    assert (doubted.metrics["ndcg@10"], doubted.metrics["false_doubt"]) == (1, 1)
    places = [section.find(str(rows[row]["text"])) for row in (2, 1, 0, 3)]
    assert -1 not in places
    assert places == sorted(places)
    (tagged,) = base.runs.by_tag(run.id, ["ndcg@10"])
    assert f"95% interval pay {tagged.questions} " in page.partition("By tag")[2]
    none, _, unexpected = section[: places[2]].partition(str(rows[1]["text"]))
    assert f"no document has the answer : {text}" in none
    assert f"not as expected : {text}" in unexpected
    assert "Four months" in unexpected
    assert "0 of 1 expected answers" in page


def test_texts_of_misses_have_no_marks_of_markdown(home):
    workspace = workspace_at(home)
    base = workspace.create("marked", WORDS)
    text = "### Setup: **first** steps\n\n- Riders choose a class.\n- Riders wear a helmet."
    add(workspace, base, {"setup.md": text, "travel.txt": DOCUMENTS["travel.txt"]})
    evidence = [{"document": "setup.md", "quote": "### Setup: **first** steps"}]
    row = {"id": "q", "text": "What may a hotel cost riders?", "evidence": evidence}
    base.questions.import_file(SET, "q.jsonl", json.dumps(row))
    page = Page(base.runs.report(_run(base, threshold=None))).text
    section = page.partition("The worst questions")[2].partition("All figures")[0]
    expected, _, came = section.partition("Came first")
    assert "Setup: first steps" in expected
    assert "Riders choose a class." in came
    assert "#" not in section
    assert "*" not in section
    assert "- Riders" not in section


def test_only_what_is_relevant_was_expected(home):
    workspace = workspace_at(home)
    base = workspace.create("graded", WORDS)
    add(workspace, base, DOCUMENTS)
    evidence = [
        {"document": name, "grade": int(name == "travel.txt")} for name in sorted(DOCUMENTS)
    ]
    row = {"id": "q", "text": "Which class do we ride in?", "evidence": evidence}
    base.questions.import_file(SET, "q.jsonl", json.dumps(row))
    text = Page(base.runs.report(_run(base, threshold=1.0))).text
    section = text.partition("Expected")[2].partition("Came first")[0]
    assert "travel.txt" in section
    assert "leave.md" not in section
    assert "pump.txt" not in section


HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>&amp;\"'</style>"


def test_text_of_users_never_becomes_markup(home):
    workspace = workspace_at(home)
    base = workspace.create(f"base {HOSTILE}"[:80], WORDS)
    add(workspace, base, {f"{HOSTILE}.txt".replace("/", "_"): f"Alpha beta. {HOSTILE} gamma."})
    add(workspace, base, {"plain.txt": f"Delta alpha {HOSTILE} epsilon."})
    rows = [
        {"id": f"q {HOSTILE}", "text": f"alpha {HOSTILE}?", "tags": [f"tag {HOSTILE}"]},
        {"id": "two", "text": "epsilon", "tags": []},
    ]
    for row in rows:
        row["evidence"] = [{"document": "plain.txt", "quote": f"{HOSTILE} epsilon"}]
    name = f"set {HOSTILE}"
    base.questions.import_file(name, "q.jsonl", "\n".join(map(json.dumps, rows)))
    runs = [
        base.runs.evaluate(name, recipe.with_fields({"search.b": b}), (1, 10)).run.id
        for recipe, b in ((WORDS, 0.0), (VECTORS, 0.5))
    ]
    base.runs.describe(runs[1], note=f"note {HOSTILE}")
    base.runs.describe(runs[1], tags=[HOSTILE[:40]])
    html = base.runs.report(runs[1], runs[0])
    page = Page(html)
    assert not {"script", "img"} & {tag for tag, _ in page.elements}
    assert [a for _, a in page.elements if any(key.startswith("on") for key in a)] == []
    assert html.count("<style>") == html.count("</style>") == 1
    assert f"alpha {HOSTILE}?" in page.text
    assert f"note {HOSTILE}" in page.text
    assert f"set {HOSTILE}" in page.text


def test_changed_questions_and_documents_are_said(home):
    workspace, base = handbook(home)
    run = _run(base)
    assert "since this run" not in Page(base.runs.report(run)).text
    base.questions.import_file(SET, "questions.jsonl", QUESTIONS.replace("hotel", "room"))
    add(workspace, base, {"leave.md": DOCUMENTS["leave.md"].replace("29", "30")})
    text = Page(base.runs.report(run)).text
    assert "The questions or their labels have changed since this run." in text
    assert "The documents have changed since this run." in text


@pytest.mark.parametrize(
    ("colours", "block"),
    [(LIGHT, STYLE.split("@media screen")[0]), (DARK, STYLE.split("@media screen")[1])],
    ids=["light", "dark"],
)
def test_colours_are_those_of_the_dashboard(colours, block):
    declared = dict(re.findall(r"--([a-z-]+): (#[0-9A-F]{6})", block))
    shared = ("page", "text", "muted", "grid", "accent", "dense", "lexical", "fused", "relevant")
    assert {name: declared[name] for name in shared} == {
        name: getattr(colours, name) for name in shared
    }
    assert declared["not-relevant"] == colours.not_relevant


def test_charts_are_well_formed_and_draw_their_values():
    lines = {"ndcg": ("nDCG", [0.0, 0.5, 1.0]), "recall": ("Recall", [0.1, 0.5, 0.99])}
    svg = ElementTree.fromstring(charts.against_k([1, 5, 10], lines))
    heights = [float(each.get("cy", "")) for each in svg.iter("circle")][:3]
    assert heights[1] == pytest.approx((heights[0] + heights[2]) / 2)
    labels = {each.text: float(each.get("y", "")) for each in svg.iter("text")}
    assert abs(labels["nDCG"] - labels["Recall"]) >= 16
    bars = ElementTree.fromstring(charts.histogram([("1", 4, "found"), ("2", 1, "found")], "t"))
    sizes = [float(each.get("height", "")) for each in bars.iter("rect")]
    assert sizes[0] == pytest.approx(4 * sizes[1], abs=0.05)
    drawn = ElementTree.fromstring(charts.differences([0.5, -0.25, 0.0]))
    assert [each.get("class") for each in drawn.iter("rect")] == ["bar won", "bar lost"]
    ticks = [each.text for each in drawn.iter("text") if "tick" in each.get("class", "")]
    assert ticks[:5] == ["−0.50", "−0.25", "0", "+0.25", "+0.50"]  # as far as the largest
    ends = [float(each.get("x", "")) for each in drawn.iter("text") if each.text == "+0.50"]
    assert ends[0] > len("+0.50") * 9.5  # units of a character on a telephone


def test_markup_escapes_what_is_not_markup():
    inner = element("b", "1 < 2")
    assert element("p", inner, " & ", None, title='"', class_="x", id=None) == (
        '<p title="&quot;" class="x"><b>1 &lt; 2</b> &amp; </p>'
    )


def test_the_command_line_writes_the_file(home, tmp_path, capsys):
    base = handbook(home)[1]
    run, target = _run(base), tmp_path / "report.html"
    told = output_of(capsys, "report", run, "-o", target)
    assert target.read_text("utf-8") == base.runs.report(run)
    assert told == {"run": run, "file": str(target), "bytes": target.stat().st_size}
    assert main(["report", run, "--kb", "handbook", "-o", str(target)]) == 0
    assert main(["report", "unknown", "-o", str(target)]) == 2
    assert main(["report", run, "-o", str(tmp_path / "absent" / "r.html")]) == 2


def test_unknown_runs_are_refused(base):
    with pytest.raises(NotFound):
        base.runs.report("unknown")
    with pytest.raises(NotFound):
        base.runs.report(_run(base), "unknown")
