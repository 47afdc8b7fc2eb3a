"""Texts that systems return are located in documents."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.experiments.systems import alignment
from rag.experiments.systems.alignment import AlignedText, Aligner, Source

MANUAL = (
    "# Pump C16\n\nThe **oil** of the pump is changed twice a year, see [the plan]"
    "(https://example.org/plan). Use two litres of mineral oil.\n\n"
    "A label on the housing states the serial number, the voltage and the year of manufacture."
)
POLICY = "Employees may work remotely for two days a week. Résumés of efficient staff are kept."
TEXTS = {"m": MANUAL, "p": POLICY}


def aligner(texts: dict[str, str] = TEXTS) -> Aligner:
    sources = [Source(name, f"files/{name}.md", len(text)) for name, text in texts.items()]
    return Aligner(sources, texts.__getitem__)


def shown(place: AlignedText) -> str:
    return TEXTS[place.document_id][place.start : place.end]


def test_the_same_words_are_exact():
    text = "Use two litres of mineral oil."
    start = MANUAL.index(text)
    assert aligner().align(f" {text}\n") == AlignedText("m", start, start + 30, "exact", 1.0)


@pytest.mark.parametrize(
    ("returned", "stands"),
    [
        (
            "The oil of the pump\nis changed twice a year, see the plan.",
            "The **oil** of the pump is changed twice a year, see [the plan](",
        ),
        (
            "The <b>oil</b> of the pump is changed twice a year&nbsp;",
            "The **oil** of the pump is changed twice a year,",
        ),
        (
            "of min-\neral oil. A label on the hous-\ning states",
            "of mineral oil.\n\nA label on the housing states",
        ),
        (
            "...s may work remotely for two days a we...",
            "s may work remotely for two days a we",
        ),
        (
            unicodedata.normalize("NFD", "Résumés of e\ufb03cient staff are kept!"),
            "Résumés of efficient staff are kept.",
        ),
    ],
)
def test_layout_markup_and_spelling_forms_make_no_difference(returned, stands):
    place = aligner().align(returned)
    assert (place.method, place.similarity, shown(place)) == ("normalised", 1.0, stands)


def test_a_title_before_a_text_is_no_part_of_its_place():
    passage = MANUAL[MANUAL.index("A label") :]
    place = aligner().align(f"Source: handbook of pumps, the seventh edition\n{passage}")
    assert (place.method, shown(place)) == ("shingles", passage)
    assert 0.5 < place.similarity < 1


def test_words_that_differ_at_the_ends_belong_to_the_place():
    passage = MANUAL[MANUAL.index("A label") :]
    place = aligner().align(passage.replace("A label", "A plate").replace("manufacture", "making"))
    assert place.method == "shingles"
    assert shown(place).startswith("A label")


def test_another_text_is_foreign():
    text = "The committee approves the annual budget of the theatre in its meeting of November."
    for returned in (text, "", " ** ", "budget"):
        assert aligner().align(returned) == AlignedText("", 0, 0, "foreign", 0.0)


def test_one_text_in_two_documents_is_ambiguous_unless_a_name_decides():
    both = aligner({"a": MANUAL, "b": f"Second edition. {MANUAL}"})
    text = "states the serial number, the voltage and the year"
    assert (both.align(text).method, both.align(text).document_id) == ("ambiguous", "a")
    for title, names in (("b", ()), ("", ["b.md"]), ("B.MD", ()), ("files/b.md", ())):
        place = both.align(text, title, names)
        assert (place.method, place.document_id) == ("exact", "b")


def test_one_text_twice_in_a_document_is_ambiguous():
    twice = aligner({"a": f"{MANUAL}\n\nAgain.\n\n{MANUAL}"})
    place = twice.align("states the serial number, the voltage and the year")
    assert (place.method, place.start) == ("ambiguous", MANUAL.index("states"))


def test_short_texts_are_located():
    place = aligner().align("two litres")
    assert (place.method, shown(place)) == ("exact", "two litres")


def test_a_cache_that_holds_one_document_changes_nothing(monkeypatch):
    monkeypatch.setattr(alignment, "_CACHED", 1)
    small = aligner()
    for text in (MANUAL, POLICY, MANUAL):
        assert small.align(text).method == "exact"


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=400), st.text(max_size=80), st.integers(0, 300), st.integers(0, 300))
def test_a_place_is_always_in_its_document(text, noise, start, end):
    documents = {"x": text, "y": f"{text}{noise}"}
    located = aligner(documents)
    for returned in (text[start:end], noise, f"{noise}{text[:end]}"):
        place = located.align(returned)
        assert (place.document_id == "") == (place.method == "foreign")
        if place.document_id:
            assert 0 <= place.start < place.end <= len(documents[place.document_id])
        if place.method == "exact":
            assert documents[place.document_id][place.start : place.end] == returned.strip()


def test_a_name_decides_between_more_documents_than_are_compared():
    texts = {f"{number:02}": f"Manual {number} of a pump. {POLICY}" for number in range(40)}
    place = aligner(texts).align(POLICY, title="39.md")
    assert (place.document_id, place.method) == ("39", "exact")
