"""The examination of documents: what contradicts, what is an edition, and what is settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag import DocumentFinding, InvalidInput, KnowledgeBase, NotFound
from rag.answering.checking.decimals import decimal_mark
from rag.examination.claims import claims_of, figures_of
from rag.examination.examining import examine
from rag.readers import read_text
from rag.types import Document, Table
from tests.workspaces import QUICK, add, found, workspace_at

MEALS = "Meals with customers are reimbursed up to {} EUR per person."
ANSWERS = "Please note: meals with customers get reimbursed up to {} EUR for each person."


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("At 15 000 rpm for 2 minutes", {("15000", "rpm"), ("2", "minute")}),
        ("between 2 and 8 °C", {("2", "°c"), ("8", "°c")}),
        ("by 30 June 2026, or June 30", {("2026-06-30", "date"), ("-06-30", "date")}),
        ("€45, or 1,200.50 EUR", {("45", "eur"), ("1200.5", "eur")}),
        ("1,234,567 EUR or 1,234,568 EUR", {("1234567", "eur"), ("1234568", "eur")}),
        ("three people, see section 4.2 on page 7 of 2024", {("3", "people")}),
        ("ten or more days or five occasions", {("10", "day"), ("5", "occasion")}),
        ("message CV-118 in the 48th edition", set()),
        ("9 am, 10 m, 5 l, 8 t", {("9", "am"), ("10", "m"), ("5", "l"), ("8", "t")}),
        ("within 5 working days, not 5 days", {("5", "workingday"), ("5", "day")}),
        ("within 48hours or 12months", {("48", "hour"), ("12", "month")}),
        ("die Satzung in der Fassung der Änderung Nr. 28 vom Mai", {("28", "")}),
        ("37signals pays $2,750/year, see 2 https://example.com", {("2750", "usd"), ("2", "")}),
        ("sıx weeks", set()),
    ],
)
def test_figures_have_a_value_and_a_unit(text: str, figures: set[tuple[str, str]]) -> None:
    assert figures_of(text).keys() == figures


@pytest.mark.parametrize(
    ("text", "mark", "figures"),
    [
        ("$1.050,00 y $872,00", ".", {("1050", "usd"): "$1.050,00", ("872", "usd"): "$872,00"}),
        ("1.140 metros", ",", {("1140", "metro"): "1.140 metros"}),
        ("1.140 metres", ".", {("1.14", "metre"): "1.140 metres"}),
        ("0,990 or 2,125 kg", ",", {("0.99", "kg"): "0,990 kg", ("2.125", "kg"): "2,125 kg"}),
        ("1.234.567 and 1,200.50 EUR", ",", {("1234567", "eur"): "1.234.567 EUR"}),
        ("0.990 kg", ",", {("0.99", "kg"): "0.990 kg"}),
        ("release 3.2.1", ".", {}),
        ("The budget is EUR 1.140.000.", ",", {("1140000", "eur"): "EUR 1.140.000"}),
        ("EUR 1 140,50 is due", ",", {("1140.5", "eur"): "EUR 1 140,50"}),
    ],
)
def test_the_marks_of_a_number_part_decimals_or_thousands(
    text: str, mark: str, figures: dict[tuple[str, str], str]
) -> None:
    assert figures.items() <= figures_of(text, mark).items()
    assert len(figures_of(text, mark)) == len(figures) + text.count("1,200.50")


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("Tasas: $872,00, $1.050,00 y 4.10.", ","),
        ("Fees: $872.00 and $1,050.00.", "."),
        ("Section 3: 2,125 or 1,140 units.", "."),
        (
            "La tasa mínima de los establecimientos comerciales de la ciudad es de 1.140 pesos por "
            "cada mes o fracción, y se paga en la oficina de la municipalidad.",
            ",",
        ),
        (
            "Die Beratung öffnet ab 14.30 Uhr und schließt um 17.30 Uhr. Der Betrag ist 1.140 Euro,"
            " der Zins ist 4,5 % und die Gebühr 2,5 % im Jahr.",
            ",",
        ),
        ("Siehe Ziffer 3.10 der Satzung. Der Betrag im Jahr ist 1.140 Euro für ein Kind.", ","),
        ("Fees: 4.5 % and 2.5 % of 1,140 USD, as in section 3.1.", "."),
    ],
)
def test_most_amounts_of_a_document_tell_its_decimal_mark(text: str, mark: str) -> None:
    assert decimal_mark(text) == mark


def test_figures_are_shown_as_they_are_written() -> None:
    tax = "El traslado de una pala cargadora chica por cada hora cuesta {}."
    documents = [_document("a.md", tax, "$1.050,00"), _document("b.md", tax, "$872,00")]
    finding = examine(documents)[0]
    assert finding.summary == "a.md states $1.050,00, b.md states $872,00."
    same = [_document("a.md", tax, "$1.050,00"), _document("b.md", tax, "$1050,00")]
    assert "contradiction" not in _kinds(examine(same))


def test_sentences_in_other_words_contradict_in_their_figure() -> None:
    (finding,) = examine([_document("faq.md", ANSWERS, 60), _document("rules.md", MEALS, 45)])
    assert finding.kind == "contradiction"
    assert finding.summary == "faq.md states 60 EUR, rules.md states 45 EUR."
    assert [place.text for place in finding.places] == [ANSWERS.format(60), MEALS.format(45)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("faq.md", "rules.md"),  # the same figure
        ("pump-p2.md", "pump-p4.md"),  # sister products
        ("minutes-2025-11.md", "minutes-2026-01.md"),  # a series
    ],
)
def test_what_agrees_or_is_on_something_else_does_not_contradict(one: str, other: str) -> None:
    changed = 45 if one == "faq.md" else 60
    documents = [_document(one, ANSWERS, 45), _document(other, MEALS, changed)]
    assert "contradiction" not in _kinds(examine(documents))


def test_cells_are_aligned_by_the_labels_of_row_and_column() -> None:
    one = _table("parts.md", "12 EUR")
    other = _table("offer.md", "14 EUR")
    (finding,) = (each for each in examine([one, other]) if each.kind == "contradiction")
    assert [place.value for place in finding.places] == ["12 EUR", "14 EUR"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("24+ Class", "24 Class", False),
        ("C++", "C", False),
        ("C#", "C", False),
        ("Type A+", "Type A", False),
        ("Grade A-", "Grade A", False),
        ("-5 V rail", "+5 V rail", False),
        ("< 5 kg", "> 5 kg", False),
        ("**Gasket-set**:", "Gasket set", True),
        ("Gasket set –", "Gasket set", True),
    ],
)
def test_rows_whose_labels_differ_by_a_sign_are_on_different_things(
    one: str, other: str, *, same: bool
) -> None:
    tables = _table("parts.md", "12 EUR", one), _table("offer.md", "14 EUR", other)
    assert ("contradiction" in _kinds(examine(tables))) is same


def test_a_claim_has_no_figure_that_its_quote_lacks() -> None:
    listed = "The licence of a workshop has {} parts:\n\n- the workshop may repair every pump\n"
    one, other = _document("a.md", listed, 3), _document("b.md", listed, 2)
    for claim in claims_of(0, one):
        quote = one.text[claim.start : claim.end]
        assert all(written in quote for written in claim.figures.values())
    for finding in examine([one, other]):
        for place in finding.places:
            assert place.value in place.text


def test_a_figure_in_words_is_shown_in_words() -> None:
    rule = "A workshop sends every broken pump back after {} working days at the latest."
    (finding,) = examine([_document("faq.md", rule, "two"), _document("rules.md", rule, 5)])
    assert finding.summary == "faq.md states two working days, rules.md states 5 working days."


def test_the_newest_edition_is_in_force_with_its_differences() -> None:
    editions = [_document(f"expenses-{year}.md", MEALS, value) for year, value in EDITIONS]
    findings = {finding.kind: finding for finding in examine(editions)}
    assert list(findings) == ["editions"]
    assert findings["editions"].in_force == editions[1].id
    (difference,) = findings["editions"].differences
    assert {difference.one.value, difference.other.value} == {"45 EUR", "60 EUR"}


def test_an_edition_that_is_no_longer_in_force_contradicts_no_other_document() -> None:
    editions = [_document(f"expenses-{year}.md", MEALS, value) for year, value in EDITIONS]
    findings = examine([*editions, _document("faq.md", ANSWERS, 60)])
    assert _kinds(findings) == {"editions"}  # the one of 2023 has 45
    (finding, *_) = examine([*editions, _document("faq.md", ANSWERS, 50)])
    assert finding.summary in (
        "expenses-2026.md states 60 EUR, faq.md states 50 EUR.",
        "faq.md states 50 EUR, expenses-2026.md states 60 EUR.",
    )


EDITIONS = ((2023, 45), (2026, 60))


def _tariff(name: str, factor: int) -> Document:
    """A tariff of 30 lines, none of which is like another."""
    words = ["alpha", "bravo", "delta", "gamma", "kappa", "lambda", "omega", "sigma", "theta"]
    lines = (
        f"The {words[n % 9]} {words[n % 7]} of a {words[n % 5]}{'xyzuvw'[n // 5]} costs"
        f" ${(n + 1) * factor}.00 for {words[n % 4]}."
        for n in range(30)
    )
    return read_text("\n\n".join(lines), name)


def test_texts_that_are_mostly_the_same_are_editions_whatever_their_names() -> None:
    old, new = _tariff("ord-12621-ota-2017.txt", 7), _tariff("OTA_2018_-_Ord._12754.txt", 9)
    (finding,) = examine([old, new], "2026-01-01")
    assert (finding.kind, finding.in_force, len(finding.differences)) == ("editions", new.id, 30)
    assert finding.summary.startswith(
        f"{new.name} and {old.name} look like two editions of one document"
    )


def test_none_of_two_documents_of_one_template_is_in_force() -> None:
    old, new = _tariff("bylaw-aldham-2017.txt", 7), _tariff("bylaw-brook-2018.txt", 9)
    (finding,) = examine([old, new], "2026-01-01")
    assert (finding.kind, finding.in_force) == ("editions", "")
    assert "is in force" not in finding.summary


@pytest.mark.parametrize("dates", [("2024", "2026"), ("2026", "2026")])
def test_long_texts_that_differ_in_few_figures_are_editions(dates: tuple[str, str]) -> None:
    rows = [f"The {_letters(n)} {_letters(n * 7)} is on the {_letters(n * 3)}." for n in range(400)]
    text = "Valid from 1 January {}.\n\n{}\n\n{}"
    one, other = (
        read_text(text.format(date, "\n\n".join(rows), MEALS.format(value)), name)
        for date, name, value in zip(
            dates, ("handbook-alpha.md", "rules-beta.md"), (45, 60), strict=True
        )
    )
    (finding,) = examine([one, other], "2026-02-01")
    (difference,) = finding.differences
    assert finding.kind == "editions"
    assert {difference.one.value, difference.other.value} == {"45 EUR", "60 EUR"}
    assert ": 100% of their runs of 6 words, without figures, are the same." in finding.summary


def _letters(number: int) -> str:
    return "".join("bcdfghklmnprstvwxz"[number // 18**place % 18] for place in range(3)) + "a"


def test_copies_that_differ_do_not_share_the_whole_text() -> None:
    rows = [f"The {_letters(n)} {_letters(n * 7)} is on the {_letters(n * 3)}." for n in range(400)]
    one = read_text("\n\n".join(rows), "alpha.md")
    other = read_text("\n\n".join([*rows[:200], "And so it is.", *rows[200:]]), "beta.md")
    (finding,) = examine([one, other])
    assert finding.summary == "alpha.md and beta.md share 99% of the shorter text."


@pytest.mark.parametrize("name", ["fees-p4.txt", "minutes-2018.txt", "tariff-2018.txt"])
def test_sisters_series_and_exact_copies_are_no_editions_by_their_texts(name: str) -> None:
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
def test_reports_on_other_periods_are_neither_editions_nor_copies(
    names: tuple[str, str], titles: tuple[str, str], kinds: set[str]
) -> None:
    documents = [
        read_text(REPORT.format(title=title, count=count), name)
        for name, title, count in zip(names, titles, (5, 7), strict=True)
    ]
    assert _kinds(examine(documents)) == kinds


def test_many_contradictions_of_two_documents_are_one_finding() -> None:
    words = ["Gyms", "Pools", "Taxis", "Hotels", "Trains"]
    line = "{} for customers are reimbursed up to {} EUR per stay of the person."
    one, other = (
        read_text("\n\n".join(line.format(word, value) for word in words), name)
        for name, value in (("faq.md", 60), ("rules.md", 45))
    )
    many = [finding for finding in examine([one, other]) if finding.kind == "contradiction"]
    assert [len(finding.differences) for finding in many] == [5]
    assert many[0].summary == "faq.md and rules.md state different figures in 5 places."
    assert len(many[0].contradicting) == 10


def test_the_same_words_are_shown_once() -> None:
    twice = f"{ANSWERS.format(60)}\n\nDinner.\n\n{ANSWERS.format(60)}"
    findings = examine([read_text(twice, "faq.md"), _document("rules.md", MEALS, 45)])
    (finding,) = (one for one in findings if one.kind == "contradiction")
    assert {(place.document, place.start) for place in finding.contradicting} == {
        ("faq.md", 0),
        ("faq.md", len(twice) - len(ANSWERS.format(60))),
        ("rules.md", 0),
    }


@pytest.mark.parametrize(
    "text",
    [
        "This by-law shall come into force and effect on January 1, {}.",
        "Every person who contravenes this by-law is liable to a fine of ${}.",
        "La presente ordenanza fija para cada comercio una tasa mínima de ${}.",
    ],
)
def test_what_two_rules_say_of_themselves_does_not_contradict(text: str) -> None:
    front = "Streets and waters. " * 100
    documents = [
        read_text(f"{front}\n\n{text.format(value)}", name)
        for name, value in (("streets.md", 2020), ("waters.md", 2022))
    ]
    assert "contradiction" not in _kinds(examine(documents))


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("2018 a 2010 1,000 1,000 1° B " * 9, True),
        ("Permit X X Y Fee A B X " * 9, True),
        ("T h e s e w o r d s a r e a p a r t", False),
    ],
)
def test_letters_of_tables_are_readable(text: str, *, readable: bool) -> None:
    assert ("unreadable" not in _kinds(examine([read_text(text, "page.md")]))) == readable


def test_an_edition_of_the_future_is_not_in_force() -> None:
    editions = [_document(f"expenses-{year}.md", MEALS, value) for year, value in EDITIONS]
    (before,) = examine(editions, "2025-12-31")
    assert [place.document for place in before.places] == ["expenses-2023.md", "expenses-2026.md"]
    assert before.in_force == editions[0].id
    assert before.summary.endswith("By their dates, expenses-2023.md is in force.")
    (after,) = examine(editions, "2026-01-01")
    assert after.in_force == editions[1].id
    (neither,) = examine(editions, "2022-06-01")
    assert neither.in_force == ""


def test_versions_tell_which_edition_is_in_force_where_no_date_does() -> None:
    editions = [
        _document(f"Dues Policy v{version}.md", MEALS, value)
        for version, (_, value) in zip(("1.9", "1.11"), EDITIONS, strict=True)
    ]
    (finding,) = examine(editions)
    assert finding.in_force == editions[1].id
    assert finding.summary.endswith("By their versions, Dues Policy v1.11.md is in force.")


def test_broken_characters_are_unreadable() -> None:
    (finding,) = examine([_document("scan.md", "\ufffd\ufffd Meals \ufffd cost")])
    assert (finding.kind, finding.places[0].document) == ("unreadable", "scan.md")


def test_findings_with_the_same_texts_have_ids_of_their_own() -> None:
    twice = f"{ANSWERS.format(60)}\n\nDinner.\n\n{ANSWERS.format(60)}"
    findings = examine([_document("faq.md", twice), _document("rules.md", MEALS, 45)])
    assert len({finding.id for finding in findings}) == len(findings)


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    workspace = workspace_at(home)
    base = workspace.create("rules", QUICK)
    add(workspace, base, {"faq.md": ANSWERS.format(60), "rules.md": MEALS.format(45)})
    return base


def test_the_words_of_the_other_document_are_excluded(base: KnowledgeBase) -> None:
    (finding,) = base.examinations.examine().open
    base.examinations.settle(finding.id, "keep", "rules.md")
    after = base.examinations.examine()
    assert after.open == ()
    assert [row.document for _, row in after.settled] == ["rules.md"]
    assert [edit.kind for edit in base.passage_edits.of("faq.md")] == ["exclude"]
    assert base.passage_edits.of("rules.md") == []
    assert found(base, "What do meals cost?") == [MEALS.format(45)]


def test_a_finding_is_settled_until_it_is_reopened(base: KnowledgeBase) -> None:
    (finding,) = base.examinations.examine().open
    base.examinations.settle(finding.id, "both", reason="Lunch and dinner.")
    assert base.examinations.examine().open == ()
    base.examinations.reopen(finding.id)
    assert base.examinations.examine().open == (finding,)
    with pytest.raises(NotFound):
        base.examinations.reopen(finding.id)


def test_a_second_decision_excludes_nothing(base: KnowledgeBase) -> None:
    """Else both texts were left out when two people keep different documents."""
    (finding,) = base.examinations.examine().open
    base.examinations.settle(finding.id, "keep", "rules.md")
    with pytest.raises(InvalidInput, match="settled already"):
        base.examinations.settle(finding.id, "keep", "faq.md")
    with pytest.raises(InvalidInput, match="settled already"):
        base.examinations.settle(finding.id, "ignore")
    with pytest.raises(InvalidInput, match="settled already"):
        base.examinations.settle(finding.id, "keep", "rules.md", "newer")
    base.examinations.settle(finding.id, "keep", "rules.md")
    assert base.passage_edits.of("rules.md") == []
    assert [edit.kind for edit in base.passage_edits.of("faq.md")] == ["exclude"]


WASHING = (
    "Wash the filter with warm water, and dry it in the shade. Then grease the seal a little, "
    "close the lid, and turn the valve until it clicks twice.\n\n{}\n"
)


@pytest.mark.parametrize(
    ("kind", "kept", "other"),
    [("editions", "wash-2026.md", "wash-2023.md"), ("copies", "wash.md", "rinse.md")],
)
def test_a_whole_edition_or_copy_is_excluded_until_its_finding_is_reopened(
    home: Path, kind: str, kept: str, other: str
) -> None:
    workspace = workspace_at(home)
    base = workspace.create("washing", QUICK)
    files = {kept: WASHING.format("Repeat it monthly."), other: WASHING.format("Repeat it yearly.")}
    add(workspace, base, files)
    before, passages = base.examinations.examine().open, _passages(base)
    (finding,) = before
    assert finding.kind == kind
    for _ in range(2):
        base.examinations.settle(finding.id, "keep", kept)
        assert base.examinations.examine().open == ()
        assert _passages(base) == {kept: passages[kept], other: []}
        base.examinations.reopen(finding.id)
        assert base.examinations.examine().open == before
        assert _passages(base) == passages
        assert base.passage_edits.of(other) == []


def test_keeping_one_of_two_documents_excludes_every_place_of_the_other_and_no_more(
    home: Path,
) -> None:
    workspace = workspace_at(home)
    base = workspace.create("rules", QUICK)
    answer = ANSWERS.format(60)
    text = f"{answer}\n\nDinner is at eight.\n\n{answer}"
    add(workspace, base, {"faq.md": text, "rules.md": MEALS.format(45)})
    (finding,) = base.examinations.examine().open
    base.examinations.settle(finding.id, "keep", "rules.md")
    excluded = {(edit.start, edit.end) for edit in base.passage_edits.of("faq.md")}
    assert excluded == {(0, len(answer)), (len(text) - len(answer), len(text))}
    assert base.passage_edits.of("rules.md") == []
    base.examinations.reopen(finding.id)
    assert base.passage_edits.of("faq.md") == []


def test_reopening_leaves_exclusions_that_were_there_before(base: KnowledgeBase) -> None:
    (finding,) = base.examinations.examine().open
    whole = base.passage_edits.add("faq.md", "exclude", (0, len(ANSWERS) - 1))
    base.examinations.settle(finding.id, "keep", "rules.md")
    base.examinations.reopen(finding.id)
    assert [edit.id for edit in base.passage_edits.of("faq.md")] == [whole]


def _passages(base: KnowledgeBase) -> dict[str, list[str]]:
    """The texts of the passages of all documents, by name."""
    index = base.recipe().index
    rows = base.documents.documents(index)
    return {row.name: [one.text for one in base.documents.chunks(row.id, index)] for row in rows}


@pytest.mark.parametrize(
    ("decision", "document"), [("keep", ""), ("keep", "other.md"), ("both", ""), ("delete", "")]
)
def test_decisions_lack_nothing(base: KnowledgeBase, decision: str, document: str) -> None:
    (finding,) = base.examinations.examine().open
    with pytest.raises(InvalidInput):
        base.examinations.settle(finding.id, decision, document)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        base.examinations.settle("0" * 16, "ignore")
    assert base.examinations.examine().open == (finding,)


def _document(name: str, text: str, *values: object) -> Document:
    return read_text(text.format(*values), name)


def _table(name: str, price: str, part: str = "Gasket set") -> Document:
    text = f"part\tprice\tweight\n{part}\t{price}\t40 g\nMotor\t90 EUR\t8 kg"
    table = Table(0, len(text), ("part", "price", "weight"))
    return Document(name, name, "", "text/csv", text, tables=(table,))


def _kinds(findings: list[DocumentFinding]) -> set[str]:
    return {finding.kind for finding in findings}
