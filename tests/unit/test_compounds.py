"""Compounds that no passage has are searched with their parts."""

import pytest

from rag.lexical import LexicalIndex, synonyms
from tests.unit.test_shown_quotes import RECIPE
from tests.workspaces import add, workspace_at

FARES = (
    "Die Karte für einen Monat kostet 49 Euro, und Sie können sie bis zum Ende der Woche lösen.",
    "Am Bahnhof hält der Bus, und die Linien 27 und 47 fahren von dort weiter in die Stadt.",
    "Die Bewohner der Stadt zahlen keine Gebühren, wenn sie die Arbeit im Garten selbst machen.",
)
SWEDISH = (
    "Ett kort för en månad kostar 490 kronor, och du kan köpa det vid stationen i staden.",
    "Bussen stannar vid stationen, och linjerna går vidare därifrån till andra städer.",
)


def read(question: str, *texts: str) -> dict[str, str]:
    index = LexicalIndex.empty("auto").added(enumerate(texts))
    return {question[one.start : one.end]: one.form for one in synonyms(question, index)}


@pytest.mark.parametrize(
    ("question", "texts", "forms"),
    [
        ("Was kostet die Monatskarte?", FARES, {"Monatskarte": "Monat Karte"}),
        ("Welche Buslinien halten am Bahnhof?", FARES, {"Buslinien": "Bus Linien"}),
        ("Gibt es Gartenarbeit?", FARES, {"Gartenarbeit": "Garten Arbeit"}),
        ("Was kostet die Jahreskarte?", FARES, {}),
        ("Was kostet die „Monatskarte“?", FARES, {}),
        ("Wann hält der Bus am Bahnhof?", FARES, {}),
        ("Was kosten die Monatskarten hier?", (*FARES, "Die Monatskarte ist weg."), {}),
        ("Vad kostar ett månadskort hos er?", SWEDISH, {"månadskort": "månad kort"}),
        ("How much is the Monatskarte of the railway?", FARES, {}),
    ],
)
def test_a_compound_has_parts_that_passages_have(question, texts, forms):
    assert read(question, *texts) == forms


def test_an_answer_is_found_by_the_parts_of_a_compound(tmp_path):
    recipe = RECIPE.with_fields({"search.synonyms": True, "index.analyzer": "auto"})
    workspace = workspace_at(tmp_path)
    base = workspace.create("fares", recipe)
    add(workspace, base, {f"{n}.md": text for n, text in enumerate(FARES)})
    answer = base.ask("Was kostet die Monatskarte?", recipe).answer
    workspace.close()
    assert answer.text.startswith("“Die Karte für einen Monat kostet 49 Euro")
    assert [one.read for one in answer.trace.corrections] == ["Monatskarte (Monat Karte)"]
    assert (answer.assessment.state, answer.assessment.missing) == ("answered", ())
