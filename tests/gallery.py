"""The gallery: what Touchstone hands to others, made of the sample and of four small sets.

``python -m tests.gallery`` makes the files of ``docs/gallery`` again; ``docs/gallery/sets`` has
what they are made of.
"""

import sys
import tempfile
from pathlib import Path

from rag import (
    SAMPLE,
    KnowledgeBase,
    TourStop,
    answer_stops,
    comparison_stop,
    explanation_stop,
    run_stop,
    tour_html,
)
from rag.__main__ import main as run_verb
from tests.answers import asked
from tests.sample import sample
from tests.workspaces import workspace_at

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"
SETS = ("support", "law", "tables", "german")
QUESTION = "How long may unused leave be carried over?"


def make_pages(folder: Path, home: Path) -> str:
    """Write the pages of the sample; the empty home keeps the run, whose id is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    with sample(home) as base:
        saved, dense = base.recipe(), base.recipe().with_fields({"search.mode": "dense"})
        runs = [base.runs.evaluate(SAMPLE, recipe).run.id for recipe in (dense, saved)]
        base.runs.pin(runs[0])
        tour = base.conversations.tours.get(
            base.conversations.tours.create("How good is our search?", _stops(base, *runs))
        )
        (folder / "sample-tour.html").write_text(tour_html(tour, base.name), "utf-8")
    _verb("report", runs[1], "-o", str(folder / "sample-report.html"), "--home", str(home))
    return runs[1]


def make(folder: Path, home: Path) -> None:
    """Write all files of the gallery into a folder; the empty home keeps what they are made of."""
    run = make_pages(folder, home)
    _verb("bundle", run, "-o", str(folder / "sample-bundle.zip"), "--home", str(home))
    for name in SETS:
        parts = GALLERY / "sets" / name
        documents = [str(path) for path in parts.iterdir() if path.name != "questions.jsonl"]
        questions = str(parts / "questions.jsonl")
        _verb("ingest", name, *sorted(documents), "--home", str(home))
        _verb("import-questions", name, questions, "--name", name, "--home", str(home))
        _verb("evaluate", name, name, "--home", str(home))
        workspace = workspace_at(home)
        run = workspace.base(name).runs.list_all()[0].id
        workspace.close()
        bundle = str(folder / f"{name}-bundle.zip")
        _verb("bundle", run, "-o", bundle, "--with-documents", "--home", str(home))


def _verb(*arguments: str) -> None:
    assert run_verb(list(arguments)) == 0, arguments


def _stops(base: KnowledgeBase, before: str, after: str) -> list[TourStop]:
    """An answer with its page, the way of its first quote, a run, and its comparison."""
    recipe = base.recipe()
    turn = asked(base, QUESTION, recipe)
    documents = {
        citation.document_id: base.documents.document(citation.document_id)
        for citation in turn.citations
    }
    explainer = base.explanations.explain(QUESTION, recipe)
    cited = turn.citations[0]
    place = (cited.document_id, cited.start)
    chunks = (hit.chunk for hit in explainer.trace.hits)
    key = next(chunk.key for chunk in chunks if (chunk.document_id, chunk.start) == place)
    standing = explainer.standing(key)
    document = base.documents.document(standing.chunk.document_id)
    names = {before: "By meaning alone", after: "By meaning and words"}
    run, results = base.runs.get(after), base.runs.results(after)
    (compared,) = base.runs.compare([after], before, "ndcg@10", None)
    return [
        *answer_stops(turn, documents),
        explanation_stop(QUESTION, standing, document),
        run_stop(run, names[after], base.runs.intervals(after), results),
        comparison_stop(compared, names, recipe),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        make(Path(sys.argv[1]) if sys.argv[1:] else GALLERY, Path(scratch) / "home")
