"""The language of texts: analyzers of passages, parts of compounds, and the words of answers."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rag
from rag import language_name
from rag.answering import Vocabulary, key_terms
from rag.answering.languages import languages
from rag.chunking.estimates import EstimatedTokens, tokens
from rag.languages import document_language, language, likeliest
from rag.lexical import LexicalIndex, analyzer, synonyms
from tests.unit.test_shown_quotes import RECIPE
from tests.workspaces import add, workspace_at

ENGLISH = "The pumps are checked for leaks every Friday before the laboratory closes."
GERMAN = "Die Pumpen werden jeden Freitag vor dem Ende der Arbeit auf undichte Stellen geprüft."
RUSSIAN = "Насосы проверяют на утечки каждую пятницу до закрытия лаборатории."
CHINESE = "每周五在实验室关闭之前检查水泵是否泄漏。"
OPTIONS = {"k1": 1.2, "b": 0.75, "fuzzy": False, "prefix": False}


def index(name: str, *texts: str) -> LexicalIndex:
    return LexicalIndex.empty(name).added(enumerate(texts))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENGLISH, "en"),
        (GERMAN, "de"),
        (GERMAN.upper(), "de"),
        (RUSSIAN, "ru"),
        (CHINESE, "zh"),
        ("水泵 Corvane C16R 的噪音水平是多少", "zh"),
        ("ポンプの騒音", "ja"),
        ("펌프 소음", "ko"),
        ("Η αντλία", "el"),
        ("", "en"),
        ("CV-118\t4410\tTX-9", "en"),
        ("Rotor prüfen", "en"),
    ],
)
def test_a_passage_is_in_the_language_that_is_sure(text, code):
    assert language(text) == code


def test_a_question_is_in_the_likeliest_however_short():
    assert likeliest("Was ist das?")[0] == "de"
    assert likeliest("How do pumps work?")[0] == "en"
    assert likeliest("1234") == ("en", 0.0)


def test_a_word_counts_as_the_analyzer_of_its_own_language_cuts_it():
    both = index("auto", *[ENGLISH] * 3, *[GERMAN] * 3, "A secondary carer has leave for a child.")
    vocabulary = Vocabulary(both, 7)
    assert both.terms("secondary") == {"secondari": 1, "secondary": 1}
    assert vocabulary.terms("secondary") == {"secondari"}
    (secondary, carers) = key_terms("Secondary carers?", vocabulary)
    assert (secondary.indexed, carers.indexed) == (True, True)
    passage = vocabulary.terms("A secondary carer has leave for a child.")
    assert [term.borne_out(passage) for term in (secondary, carers)] == [1.0, 1.0]
    (unknown,) = key_terms("Warranty?", vocabulary)
    assert not unknown.indexed
    by_two = replace(carers, readings=(frozenset({"carer"}), frozenset({"carers"})))
    assert [by_two.borne_out(frozenset({term})) for term in ("carer", "carers", "cat")] == [1, 1, 0]


def test_a_passage_lacks_a_word_only_where_no_analyzer_finds_it():
    both = index("auto", *[ENGLISH] * 3, *[GERMAN] * 3, "A secondary carer has leave for a child.")
    question = "secondary warranty carers"
    explanation = both.explain(question, 6, **OPTIONS)
    assert [match.term for match in explanation.matches] == ["secondari", "carer"]
    spellings = both.spellings(question)
    assert [spellings[term] for term in explanation.unmatched] == ["warranty"]


def test_each_part_of_a_run_of_chinese_may_be_lacking():
    leave = "员工每年享有十五天带薪年假，加班费按工资的一点五倍支付。"
    both = index("auto", *[ENGLISH] * 3, *[leave] * 3, "加班必须事先获得经理的批准。")
    explanation = both.explain("加班费是多少", 6, **OPTIONS)
    assert "加班" in {match.term for match in explanation.matches}
    assert "班费" in explanation.unmatched


def test_in_an_english_base_auto_is_english():
    texts = [ENGLISH, "Leaks are repaired at once.", "TX-4410-B\t12\tseal"]
    auto, english = index("auto", *texts), index("english", *texts)
    keys = np.arange(3)
    for question in ("Who checks the pumps?", "Wer prüft die Pumpen?", "TX-4410-B", "to be"):
        assert auto.terms(question) == english.terms(question)
        ours, theirs = (one.scores(question, keys, **OPTIONS) for one in (auto, english))
        assert ours.tolist() == theirs.tolist()


def test_each_passage_is_found_by_the_words_of_its_language():
    mixed = index("auto", ENGLISH, GERMAN, RUSSIAN, CHINESE)
    asked = ["check the pump", "Freitag undichte Stellen", "проверка насоса", "检查水泵"]
    assert [mixed.search(q, 1, **OPTIONS)[0].tolist() for q in asked] == [[0], [1], [2], [3]]
    assert mixed.analyzers == {"english", "german", "russian", "multilingual"}
    assert mixed.explain("Pumpe prüfen", 1, **OPTIONS).score == pytest.approx(
        mixed.scores("Pumpe prüfen", np.array([1]), **OPTIONS)[0]
    )
    assert [GERMAN[a:b] for a, b in mixed.matched_spans("Pumpe", GERMAN, fuzzy=False, prefix=False)]


def test_function_words_of_the_question_are_dropped_in_every_cut():
    mixed = index("auto", ENGLISH, GERMAN)
    assert set(mixed.terms("Wann werden die Pumpen geprüft?")) == {
        *analyzer("german").query_tokens("Pumpen geprüft"),
        *analyzer("english").query_tokens("Pumpen geprüft"),
    }


def test_it_is_the_same_when_it_is_read_again(tmp_path):
    mixed = index("auto", ENGLISH, GERMAN)
    mixed.save(tmp_path)
    again = LexicalIndex.load(tmp_path)
    assert again.analyzers == mixed.analyzers
    assert again.terms("Freitag") == mixed.terms("Freitag")
    assert mixed.removed(np.array([1])).search("Freitag", 5, **OPTIONS)[0].tolist() == []


@pytest.mark.parametrize(
    ("text", "code", "name"),
    [(GERMAN, "de", "German"), (ENGLISH, "en", "English"), ("水泵每周五检查。", "zh", "Chinese")],
)
def test_a_document_is_in_the_language_of_most_of_it(text, code, name):
    assert document_language(text * 20 + ENGLISH) == code
    assert language_name(code) == name


def test_tokens_are_estimated_alike_in_every_language():
    assert tokens("The key is kept by Dr. 4410.") == 9
    assert tokens("Der Schlüssel liegt bereit.") == 6
    assert tokens("Как часто меняют фильтр?") == 8
    assert tokens("仓库钥匙由值班工程师保管。") == 7
    counted = EstimatedTokens()
    spans = counted.offsets("Der Schlüssel")
    assert spans.tolist() == [[0, 3], [4, 8], [8, 13]]
    assert counted.count("Der Schlüssel") == 3


PACKAGE = Path(rag.__file__).parent
ITALIAN = """
code = "it"
months = "gennaio, febbraio, marzo"

[units]
day = "giorno, giorni"

[price]
asks = "quanto costa"
"""
ASKING = """
from rag.answering.asked_values import asked_value
from rag.answering.assessing.dates import date_in
from rag.answering.words import unit_at
print(asked_value("Quanto costa il biglietto?").name)
print(date_in("3 marzo 2026")[0], unit_at("3 giorni", 0, 1))
"""


def test_a_table_is_all_that_a_new_language_takes(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "rag")
    (tmp_path / "rag/answering/languages/italian.toml").write_text(ITALIAN, "utf-8")
    asked = subprocess.run(
        [sys.executable, "-c", ASKING], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert asked.stdout.split() == ["a", "price", "2026-03-03", "day"]


def test_the_english_table_has_every_key_of_the_others():
    english, *others = (
        {f"{key}.{name}" for key, rows in one.sections.items() for name in rows}
        for one in languages()
    )
    assert {key for keys in others for key in keys} - english == set()


def test_months_and_numbers_have_all_their_places():
    counted = {"months": 12, "numbers": 10, "tens": 5}
    short = {
        (one.code, key)
        for one in languages()
        for key, places in counted.items()
        if (text := one.lists(key).get("", "")) and len(text.split(",")) < places
    }
    assert short == set()


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
