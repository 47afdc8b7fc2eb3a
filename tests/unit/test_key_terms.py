"""Key terms of a question: their kinds, forms and spellings, and what bears them out."""

import pytest

from rag.answering import KeyTerm, Terms, Vocabulary, key_terms


def _figures(question: str) -> list[KeyTerm]:
    return [term for term in key_terms(question, Vocabulary()) if term.kind == "figure"]


@pytest.mark.parametrize(
    ("question", "text", "number"),
    [
        ("Who can approve a sponsorship of $40,000?", "$40,000", "40,000"),
        ("Is a parcel of 3.5 kg too heavy?", "3.5", "3.5"),
        ("Kostet die Prüfung 1'000 CHF?", "1'000", "1'000"),
        ("Sind 2,5 % Skonto erlaubt?", "2,5", "2,5"),
        ("Who pays 1,234,567.50 dollars?", "1,234,567.50", "1,234,567.50"),
        ("Is a discount of 75% allowed?", "75", "75"),
    ],
)
def test_an_amount_is_one_key_term(question, text, number):
    (figure,) = _figures(question)
    assert (figure.text, figure.number) == (text, number)
    assert question[figure.start : figure.end] == text


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Is it 10,000, 20,000 or 30,000?", ["10,000", "20,000", "30,000"]),
        ("Is it between $5 and $10?", ["$5", "$10"]),
        ("Are rooms 100 200 and 300 open?", ["100", "200", "300"]),
        ("Does rule 4.2.1 apply on 24/12/2025?", ["4.2.1", "24/12/2025"]),
    ],
)
def test_other_figures_stay_apart(question, texts):
    assert [figure.text for figure in _figures(question)] == texts


@pytest.mark.parametrize("written", ["40,000", "40.000", "40 000"])
def test_an_amount_is_found_as_others_write_it(written):
    (figure,) = _figures("Who can approve $40,000?")
    words = Vocabulary()
    assert figure.borne_out(words.terms(f"The board approves {written} dollars.")) == 1
    assert figure.borne_out(words.terms("The board approves 3,000 dollars.")) == 0


def test_a_unit_is_one_in_all_spellings():
    terms = {term.text: term for term in key_terms("Pacht pro Quadratmeter", Vocabulary())}
    assert terms["Quadratmeter"].is_like("qm")
    assert terms["Quadratmeter"].is_like("m²")
    assert not terms["Quadratmeter"].is_like("m³")


def test_a_version_is_the_same_with_a_letter_and_without():
    words = Vocabulary()
    for question, other in (("When was 2.0.0 released?", "v2.0.0"), ("Is v2.0.0 out?", "2.0.0")):
        version = next(term for term in key_terms(question, words) if "2.0.0" in term.text)
        assert version.borne_out(words.terms(f"Version: {other} · Date: 2025-08-11")) == 1
        assert version.borne_out(words.terms("Version: v2.0.1 · Date: 2025-08-11")) == 0


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Is the back entrance locked?", ["back", "entrance", "locked"]),
        ("Can I get treatment for my back?", ["treatment", "back"]),
    ],
)
def test_a_word_of_the_verb_is_no_key_term(question, terms):
    assert [term.text for term in key_terms(question, Vocabulary())] == terms


def test_a_code_is_borne_out_whole_or_not_at_all():
    words = Vocabulary()
    code = key_terms("CV-155 blinks", words)[0]
    assert code.borne_out(words.terms("Code: CV-126 · 155 rpm")) == 0.0
    assert code.borne_out(words.terms("Code: CV-155 · Fan blocked")) == 1.0


@pytest.mark.parametrize(
    ("question", "word", "alike"),
    [
        ("cancel", "cancellation", True),
        ("cancel", "cancelled", True),
        ("reserve", "reservation", True),
        ("employer", "employers", True),
        ("cancel", "cannon", False),
        ("employer", "employee", False),
        ("contract", "contractor", False),
        ("international", "internal", False),
        ("Wie kann ich die Wohnung kündigen?", "Kündigung", True),
        ("¿Puedo cancelar la clase?", "cancelación", True),
    ],
)
def test_other_forms_bear_a_word_out(question, word, alike):
    terms = key_terms(question, Vocabulary())
    assert any(term.is_like(word) for term in terms) is alike


class OfTexts(Vocabulary):
    """The words of some texts as those of an index."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self._indexed = self.terms(" ".join(texts))

    def indexed(self, terms: Terms) -> Terms:
        return terms & self._indexed


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("24th", "figure"),
        ("9am", "figure"),
        ("500Wh", "figure"),
        ("17-year-old", "figure"),
        ("625-ABC", "code"),
        ("3A", "code"),
        ("F09", "code"),
    ],
)
def test_a_figure_with_its_unit_is_no_code(text, kind):
    assert key_terms(f"Is {text} there?", Vocabulary())[0].kind == kind


def test_words_that_compare_are_no_key_terms():
    words = OfTexts("The limit is 2000 euros.")
    (limit,) = (term for term in key_terms("Is the limit higher than 2500?", words) if term.indexed)
    assert limit.text == "limit"
    assert "higher" not in [term.text for term in key_terms("Is the limit higher?", words)]


def test_words_by_which_people_ask_are_no_key_terms():
    question = "I want to know who has to be told when somebody's dog was ok or not at all"
    assert [term.text for term in key_terms(question, OfTexts("Dogs are reported."))] == [
        "somebody's",
        "dog",
    ]


@pytest.mark.parametrize("word", ["permit", "allowance", "rights", "findings"])
def test_words_that_only_look_like_those_of_a_question_are_key_terms(word):
    terms = key_terms(f"How much is a parking {word}?", OfTexts("A fine is 40."))
    assert [term.text for term in terms] == ["parking", word]


def kinds(question: str) -> dict[str, str]:
    return {term.text: term.kind for term in key_terms(question, Vocabulary())}


def test_key_terms_are_codes_names_figures_and_words_without_grammar():
    assert kinds("What does error CV-155 mean?") == {"error": "word", "CV-155": "code"}
    assert kinds("Who leads the office in Singapore with 12 people?") == {
        "leads": "word",
        "office": "word",
        "Singapore": "name",
        "12": "figure",
        "people": "word",
    }


def test_words_for_the_kind_of_value_are_no_key_terms():
    assert kinds("How long does it take to charge the battery?") == {
        "charge": "word",
        "battery": "word",
    }
