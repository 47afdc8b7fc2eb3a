"""The examination of documents: what is an edition or a copy, and what is settled."""

from pathlib import Path

import pytest

from rag import Document, DocumentFinding, InvalidInput, KnowledgeBase, NotFound
from rag.library.examination import examine
from rag.readers import read_text
from tests.workspaces import QUICK, add, workspace_at

MEALS = "Meals with customers are reimbursed up to {} EUR per person."


EDITIONS = ((2023, 45), (2026, 60))
WASHING = (
    "Wash the filter with warm water, and dry it in the shade. Then grease the seal a little, "
    "close the lid, and turn the valve until it clicks twice.\n\n{}\n"
)


def _tariff(name: str, factor: int) -> Document:
    """A tariff of 30 lines, none of which is like another."""
    words = ["alpha", "bravo", "delta", "gamma", "kappa", "lambda", "omega", "sigma", "theta"]
    lines = (
        f"The {words[n % 9]} {words[n % 7]} of a {words[n % 5]}{'xyzuvw'[n // 5]} costs"
        f" ${(n + 1) * factor}.00 for {words[n % 4]}."
        for n in range(30)
    )
    return read_text("\n\n".join(lines), name)


def test_texts_that_are_mostly_the_same_are_editions_whatever_their_names():
    old, new = _tariff("ord-12621-ota-2017.txt", 7), _tariff("OTA_2018_-_Ord._12754.txt", 9)
    (finding,) = examine([old, new], "2026-01-01")
    assert (finding.kind, finding.in_force) == ("editions", new.id)


def test_none_of_two_documents_of_one_template_is_in_force():
    old, new = _tariff("bylaw-aldham-2017.txt", 7), _tariff("bylaw-brook-2018.txt", 9)
    (finding,) = examine([old, new], "2026-01-01")
    assert (finding.kind, finding.in_force) == ("editions", "")
    assert "in force" not in finding.summary


@pytest.mark.parametrize(
    ("dates", "kind"), [(("2024", "2026"), "editions"), (("2026", "2026"), "editions")]
)
def test_figures_tell_long_editions_from_copies(dates, kind):
    rows = [f"The {_letters(n)} {_letters(n * 7)} is on the {_letters(n * 3)}." for n in range(400)]
    text = "Valid from 1 January {}.\n\n{}\n\n{}"
    one, other = (
        read_text(text.format(date, "\n\n".join(rows), MEALS.format(value)), name)
        for date, name, value in zip(
            dates, ("handbook-alpha.md", "rules-beta.md"), (45, 60), strict=True
        )
    )
    (finding,) = examine([one, other], "2026-02-01")
    assert finding.kind == kind


def test_copies_of_one_text_are_one_finding_whatever_the_order():
    rows = [f"The {_letters(n)} {_letters(n * 7)} is on the {_letters(n * 3)}." for n in range(300)]
    parts = {"a.md": rows[:200], "b.md": rows[70:270], "c.md": rows[140:], "d.md": ["Other."]}
    documents = [read_text("\n\n".join(part), name) for name, part in parts.items()]
    (finding,) = examine(documents)  # a.md and c.md share less, but each shares most with b.md
    assert (finding.kind, finding.confidence) == ("copies", 0.65)
    assert [place.document for place in finding.places] == ["a.md", "b.md", "c.md"]
    (again,) = examine(documents[::-1])
    assert {place.document for place in again.places} == {"a.md", "b.md", "c.md"}


def test_many_editions_are_one_finding_with_the_newest_first():
    editions = [_document(f"expenses-{year}.md", MEALS, year) for year in (2023, 2026, 2024, 2025)]
    (finding,) = examine(editions, "2026-06-01")
    assert finding.kind == "editions"
    assert finding.in_force == editions[1].id
    names = [f"expenses-{year}.md" for year in (2026, 2025, 2024, 2023)]
    assert [place.document for place in finding.places] == names
    (before,) = examine(editions, "2025-06-01")
    assert before.in_force == editions[3].id


def _letters(number: int) -> str:
    return "".join("bcdfghklmnprstvwxz"[number // 18**place % 18] for place in range(3)) + "a"


@pytest.mark.parametrize("name", ["fees-p4.txt", "minutes-2018.txt", "tariff-2018.txt"])
def test_sisters_series_and_exact_copies_are_no_editions_by_their_texts(name):
    factor = 7 if name.startswith("tariff") else 9
    findings = examine(
        [_tariff("prices-p2.txt" if "p4" in name else "a-2017.txt", 7), _tariff(name, factor)]
    )
    assert "editions" not in _kinds(findings)


REPORT = "# {title}\n\n" + "\n\n".join(
    f"The committee of the {_letters(n)} met {{count}} times and heard the {_letters(n * 7)}."
    for n in range(40)
)


@pytest.mark.parametrize(
    ("names", "titles", "kinds"),
    [
        (("Annual report 2023.md", "Annual report 2024.md"), ("Federation", "Federation"), set()),
        (("scan-2023.md", "scan-2024.md"), ("Annual report 2023", "Annual report 2024"), set()),
        (("Jahresbericht 2023.md", "Jahresbericht 2024.md"), ("Verband", "Verband"), set()),
        (("rules-2023.md", "rules-2024.md"), ("Rules", "Rules"), {"editions"}),
        (
            ("Annual report 2023 draft.md", "Annual report 2023.md"),
            ("Federation", "Federation"),
            {"editions"},
        ),
    ],
)
def test_reports_on_other_periods_are_neither_editions_nor_copies(names, titles, kinds):
    documents = [
        read_text(REPORT.format(title=title, count=count), name)
        for name, title, count in zip(names, titles, (5, 7), strict=True)
    ]
    assert _kinds(examine(documents)) == kinds


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("2018 a 2010 1,000 1,000 1° B " * 9, True),
        ("Permit X X Y Fee A B X " * 9, True),
        ("T h e s e w o r d s a r e a p a r t", False),
    ],
)
def test_letters_of_tables_are_readable(text, *, readable):
    assert ("unreadable" not in _kinds(examine([read_text(text, "page.md")]))) == readable


def test_an_edition_of_the_future_is_not_in_force():
    editions = [_document(f"expenses-{year}.md", MEALS, value) for year, value in EDITIONS]
    (before,) = examine(editions, "2025-12-31")
    assert [place.document for place in before.places] == ["expenses-2023.md", "expenses-2026.md"]
    assert before.in_force == editions[0].id
    (after,) = examine(editions, "2026-01-01")
    assert after.in_force == editions[1].id
    (neither,) = examine(editions, "2022-06-01")
    assert neither.in_force == ""


def test_versions_tell_which_edition_is_in_force_where_no_date_does():
    editions = [
        _document(f"Dues Policy v{version}.md", MEALS, value)
        for version, (_, value) in zip(("1.9", "1.11"), EDITIONS, strict=True)
    ]
    (finding,) = examine(editions)
    assert finding.in_force == editions[1].id
    assert "v1.11.md" in finding.summary.rpartition(". ")[2]


def test_broken_characters_are_unreadable():
    (finding,) = examine([_document("scan.md", "\ufffd\ufffd Meals \ufffd cost")])
    assert (finding.kind, finding.places[0].document) == ("unreadable", "scan.md")


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    workspace = workspace_at(home)
    base = workspace.create("rules", QUICK)
    files = {"faq.md": WASHING.format("Monthly."), "rules.md": WASHING.format("Yearly.")}
    add(workspace, base, files)
    return base


def test_a_second_decision_excludes_nothing(base):
    """Else both texts were left out when two people keep different documents."""
    (finding,) = base.documents.examinations.examine().open
    base.documents.examinations.settle(finding.id, "keep", "rules.md")
    with pytest.raises(InvalidInput, match="settled already"):
        base.documents.examinations.settle(finding.id, "keep", "faq.md")
    with pytest.raises(InvalidInput, match="settled already"):
        base.documents.examinations.settle(finding.id, "ignore")
    with pytest.raises(InvalidInput, match="settled already"):
        base.documents.examinations.settle(finding.id, "keep", "rules.md", "newer")
    base.documents.examinations.settle(finding.id, "keep", "rules.md")
    assert base.documents.passage_edits("rules.md") == []
    assert [edit.kind for edit in base.documents.passage_edits("faq.md")] == ["exclude"]


@pytest.mark.parametrize(
    ("kind", "kept", "other"),
    [("editions", "wash-2026.md", "wash-2023.md"), ("copies", "wash.md", "rinse.md")],
)
def test_a_whole_edition_or_copy_is_excluded_until_its_finding_is_reopened(home, kind, kept, other):
    workspace = workspace_at(home)
    base = workspace.create("washing", QUICK)
    files = {kept: WASHING.format("Repeat it monthly."), other: WASHING.format("Repeat it yearly.")}
    add(workspace, base, files)
    before, passages = base.documents.examinations.examine().open, _passages(base)
    (finding,) = before
    assert finding.kind == kind
    for _ in range(2):
        base.documents.examinations.settle(finding.id, "keep", kept)
        assert base.documents.examinations.examine().open == ()
        assert _passages(base) == {kept: passages[kept], other: []}
        base.documents.examinations.reopen(finding.id)
        assert base.documents.examinations.examine().open == before
        assert _passages(base) == passages
        assert base.documents.passage_edits(other) == []


def test_reopening_leaves_exclusions_that_were_there_before(base):
    (finding,) = base.documents.examinations.examine().open
    whole = base.documents.edit_passages("faq.md", "exclude", (0, 20))
    base.documents.examinations.settle(finding.id, "keep", "rules.md")
    base.documents.examinations.reopen(finding.id)
    assert [edit.id for edit in base.documents.passage_edits("faq.md")] == [whole]


def _passages(base: KnowledgeBase) -> dict[str, list[str]]:
    """The texts of the passages of all documents, by name."""
    index = base.recipe().index
    rows = base.documents.documents(index)
    return {row.name: [one.text for one in base.documents.chunks(row.id, index)] for row in rows}


@pytest.mark.parametrize(
    ("decision", "document"), [("keep", ""), ("keep", "other.md"), ("both", ""), ("delete", "")]
)
def test_decisions_lack_nothing(base, decision, document):
    (finding,) = base.documents.examinations.examine().open
    with pytest.raises(InvalidInput):
        base.documents.examinations.settle(finding.id, decision, document)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        base.documents.examinations.settle("0" * 16, "ignore")
    assert base.documents.examinations.examine().open == (finding,)


def _document(name: str, text: str, *values: object) -> Document:
    return read_text(text.format(*values), name)


def _kinds(findings: list[DocumentFinding]) -> set[str]:
    return {finding.kind for finding in findings}
