"""Words of a question that no passage has, and the synonyms that passages have."""

import re
from importlib.resources import files

import pytest

from rag import Recipe, SearchRecipe, WordCorrection
from rag.lexical import LexicalIndex, analyzer, function_words, synonyms
from tests.unit.test_shown_quotes import RECIPE
from tests.workspaces import add, workspace_at

PRICES = (
    "The daily rate of a mountain bicycle is 24 pounds, and a helmet is included in it.",
    "A car of the club costs 60 pounds for each day, and the driver pays for the petrol.",
    "Everybody who works here has annual leave of 25 days, and takes it within the year.",
)
GERMAN = (
    "Ein Fahrrad kostet am Tag 24 Euro, und der Helm ist im Preis der Miete schon enthalten.",
    "Wer länger bleibt, zahlt für jeden weiteren Tag den halben Preis und bekommt eine Karte.",
)
ALL_LINES = [
    line
    for line in files("rag.lexical").joinpath("synonyms.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
LINES = [line for line in ALL_LINES if " => " not in line]
ONE_WAY = [line for line in ALL_LINES if " => " in line]


def index(*texts: str) -> LexicalIndex:
    return LexicalIndex.empty("auto").added(enumerate(texts))


def read(question: str, *texts: str) -> dict[str, str]:
    """The words of a question that have synonyms over some passages, and these."""
    return {
        question[form.start : form.end]: form.form for form in synonyms(question, index(*texts))
    }


@pytest.mark.parametrize(
    ("question", "forms"),
    [
        ("How much is a mountain bike?", {"bike": "bicycle"}),
        ("Bikes: how much are they?", {"Bikes": "bicycle"}),
        ("What does an e-bike cost?", {"bike": "bicycle"}),
        ("Is there a vehicle?", {"vehicle": "car"}),
        ("Do vehicles have gasoline?", {"vehicles": "car", "gasoline": "petrol"}),
        ("How long is my vacation?", {"vacation": "leave"}),
        ("Is the leave yearly?", {}),  # "year" has its stem
        ("How much is a bicycle?", {}),
        ("How much is a bike, or a bicycle?", {}),
        ("Who is Bike?", {}),
        ("What is “bike” here?", {}),
        ("What is bike_24?", {}),
        ("How much is a BIKE?", {}),
        ("How much is a tram?", {}),
    ],
)
def test_a_word_that_no_passage_has_is_read_with_synonyms(question, forms):
    assert read(question, *PRICES) == forms


def test_three_synonyms_at_most_and_the_most_common_first():
    texts = [
        "A lavatory is beside the entrance of the museum, and it is open all day long.",
        "The washroom and the lavatory of the garden are closed from November to March.",
        "The toilet, the washroom and the lavatory are cleaned every hour by our people.",
        "The bathroom of the second floor is for those who stay at the house overnight.",
    ]
    assert read("Where is a restroom?", *texts) == {"restroom": "lavatory / washroom / bathroom"}


@pytest.mark.parametrize(
    ("question", "text", "forms"),
    [
        ("Are dogs permitted?", "It is not allowed to bring a dog here.", {"permitted": "allow"}),
        (
            "Who notified us?",
            "The notification is sent by the office.",
            {"notified": "notification"},
        ),
        (
            "Is the trip cancelled?",
            "The termination of it is by post.",
            {"cancelled": "termination"},
        ),
        ("When was it stolen?", "A theft is told to the police.", {"stolen": "theft"}),
        ("Are the tires new?", "Each tyre of it has been replaced.", {"tires": "tyre"}),
        # Another word with the stem of a synonym is none, neither here nor there.
        ("Which expense is paid?", "What is costly is on the other list.", {}),
        ("Is it costly?", "Your expense is on the other list.", {}),
        ("How many people are here?", "Your personal data are not on the list.", {}),
        ("Are you tired of it?", "Each tyre of it has been replaced.", {}),
    ],
)
def test_forms_of_a_word_have_its_synonyms_and_other_words_of_its_stem_do_not(
    question, text, forms
):
    filler = "And this is what they all have said of it when they were at the house with us."
    assert read(question, f"{text} {filler}") == forms


def test_other_languages_than_english_have_no_synonyms():
    assert read("Was kostet ein bike am Tag, und ist der Helm dabei?", *PRICES, *GERMAN) == {}
    assert read("How much is a mountain bike?", *GERMAN) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("bus", "tram"), ("Monday", "Tuesday"), ("maternity", "parental")),
        *(("dog", "pet"), ("open", "close"), ("allow", "forbid")),
        *(("buy", "sell"), ("adult", "child"), ("town", "village"), ("apartment", "flat")),
    ],
)
def test_siblings_opposites_and_kinds_are_no_synonyms(one, other):
    for asked, written in ((one, other), (other, one)):
        text = f"We have {written.lower()} here, and that is what all of them said about it."
        assert read(f"What about {asked.lower()} here?", text) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [("bike", "bicycle"), ("vehicle", "car"), ("attorney", "lawyer"), ("vacation", "leave")],
)
def test_everyday_words_and_those_of_rules_are_synonyms(one, other):
    for asked, written in ((one, other), (other, one)):
        text = f"We have a {written} here, and that is what all of them said about it."
        assert read(f"What about a {asked} here?", text) == {asked: written}


def test_lines_of_the_list_are_well_formed():
    for line in LINES:
        assert re.fullmatch(r"(to )?[a-z]{2,}(, [a-z]{2,})+", line)
        words = line.removeprefix("to ").split(", ")
        assert not function_words("english") & set(words), line
        assert len(set(words)) == len(words), line
        assert len({next(iter(analyzer("english").query_tokens(word))) for word in words}) > 1
        regular = {word + ending for word in words for ending in ("s", "es")}
        regular |= {f"{word[:-1]}ies" for word in words if word.endswith("y")}
        if line.startswith("to "):
            roots = {word.removesuffix("e") for word in words} | {word + word[-1] for word in words}
            regular |= {root + ending for root in roots for ending in ("ed", "ing")}
        assert not regular & set(words), line


@pytest.mark.parametrize("line", ONE_WAY)
def test_a_line_of_one_way_is_well_formed(line):
    assert re.fullmatch(r"[a-z]{3,}( [a-z]+){0,3} => [a-z]{2,}(, [a-z]{2,})*", line)
    phrase, _, others = line.partition(" => ")
    words = others.split(", ")
    assert len({phrase, *words}) == 1 + len(words)
    text = f"We have a {words[0]} here, and that is what all of them said about it."
    assert read(f"What about a {phrase} here?", text) == {phrase: words[0]}


@pytest.mark.parametrize(
    ("question", "text", "forms"),
    [
        ("Who is handing in the report?", "Submit the report.", {"handing in": "submit"}),
        ("Can I get my money back?", "No refund is given.", {"money back": "refund"}),
        ("Is a carry-on bag free?", "We continue with holidays.", {}),
        ("Is there a time off-peak?", "Holidays are in June.", {}),
        ("What is “time off” here?", "Holidays are in June.", {}),
        ("What do I hand? In which room?", "Submit the report.", {}),
        ("Who fixes a leak?", "We repair what leaks.", {"fixes": "repair"}),
        ("Who fixes a leak?", "We repair and fix what leaks.", {}),
        ("Who repairs a leak?", "We fix what leaks.", {}),
        ("Is petrol sold?", "The gas is in the cellar.", {}),
    ],
)
def test_a_phrase_has_synonyms_in_one_way(question, text, forms):
    assert read(question, f"{text} That is what all of them said about it here.") == forms


def test_no_group_is_part_of_another():
    groups = [frozenset(line.removeprefix("to ").split(", ")) for line in LINES]
    assert [sorted(one) for one in groups if any(one < other for other in groups)] == []
    assert len(set(groups)) == len(groups)


def test_the_forms_that_a_word_was_read_with():
    assert WordCorrection("bike", "bike (bicycle)").other_forms == ("bicycle",)
    many = WordCorrection("restroom", "restroom (toilet / bathroom)")
    assert many.other_forms == ("toilet", "bathroom")
    assert WordCorrection("biek", "bike").other_forms == ()


def test_an_answer_in_other_words_is_no_doubtful_one(tmp_path):
    text = "# Prices\n\nA mountain bicycle is 24 pounds a day.\n\nA helmet is 3 pounds a day.\n"
    question = "How much is a bike?"
    workspace = workspace_at(tmp_path)
    base = workspace.create("prices", RECIPE)
    add(workspace, base, {"prices.md": text})
    answer = base.ask(question, RECIPE).answer
    assert (answer.state, answer.citations[0].quote) == (
        "answered",
        "A mountain bicycle is 24 pounds a day.",
    )
    assert "bike" not in answer.assessment.reason  # it stands nowhere in the quote
    assert answer.trace.read_as == "Read “bike” as “bike (bicycle)”."
    without = base.ask(question, RECIPE.with_fields({"search.synonyms": False})).answer
    workspace.close()
    assert (without.state, without.assessment.missing) == ("doubtful", ("bike",))


def test_synonyms_are_on_in_new_recipes_and_off_in_stored_ones():
    assert Recipe().search.synonyms
    stored = Recipe().search.model_dump(mode="json")
    del stored["synonyms"]
    old = SearchRecipe.restore(stored)
    assert (old.synonyms, "synonyms" in old.left_out) == (False, True)
