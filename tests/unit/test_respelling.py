"""Mistyped words of a question, as the words of the documents say that they were meant."""

import numpy as np
import pytest

from rag.lexical import LexicalIndex, respellings
from rag.lexical.respelling import slip

ENGLISH = (
    "A support ticket is closed when the ticketing system has heard from the customer.",
    "Every ticket of the service desk names the system that failed, and its serial number.",
    "Maintenance of the Corvane C16 centrifuge needs a new rotor, whose catalogue number is R-16.",
    "Employees carry over unused annual leave; requirements of the works council are listed here.",
    "The brake of a rotor is serviced when its timber housing was viewed by the inspector.",
    "The requirements for reimbursement of expenses are in the policy of the finance department.",
)
GERMAN = (
    "Der Urlaubsantrag wird im System gestellt, und die Führungskraft genehmigt den Antrag.",
    "Ein Urlaubsantrag muss spätestens zwei Wochen vor dem Urlaub geleistet und gestellt werden.",
    "Die Reisekosten werden mit dem Formular der Buchhaltung abgerechnet, sonst gibt es kein Geld.",
)
RUSSIAN = (
    "Сотрудник подаёт заявление на отпуск за две недели до начала отпуска своему руководителю.",
    "Заявление подписывает руководитель отдела, и после этого отпуск оплачивается бухгалтерией.",
)
CHINESE = ("员工每年有三十天假期，未使用的假期可以转到下一年。申请假期请使用系统。",)


def index(*texts: str, analyzer: str = "auto") -> LexicalIndex:
    return LexicalIndex.empty(analyzer).added(enumerate(texts))


def read(question: str, *texts: str) -> str:
    """A question as it is read over some passages."""
    result, end = "", 0
    for start, stop, word in respellings(question, index(*texts)):
        result, end = result + question[end:start] + word, stop
    return result + question[end:]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("tikcet sytem", "ticket system"),
        ("Who clsoes a suport tciket?", "Who closes a support ticket?"),
        ("TIcket? No: Tikcet.", "TIcket? No: Ticket."),
        ("serial numberr of the rottor", "serial number of the rotor"),
        ("maintemance of a Corvnae", "maintenance of a Corvane"),
        ("Whta does teh policy sya?", "What does the policy sya?"),
        ("requireents of the works council", "requirements of the works council"),
        ("hWat is reimbursment?", "What is reimbursement?"),
    ],
)
def test_slips_of_the_hand_are_read_as_words_of_the_documents(typed, meant):
    assert read(typed, *ENGLISH) == meant


@pytest.mark.parametrize(
    "right",
    [
        "Who closes a ticket of the service desk?",
        "What does a packet cost?",  # everyday English that no passage has, beside "ticket"
        "Is a wicket a thicket or a cricket?",
        "How do I bake bread, and who hewed the timer of a motor?",  # beside "brake" and "timber"
        '"tikcet sytem"',
        "the “tikcet” and the 'sytem'",
        "tikcet-17, R-61, sytem_id, TIKC3T, tikcet.sytem, a@tikcet.com, /tikcet",
        "TICKT, SYSTM and ROTR",  # acronyms
        "json, nginx, docker and kubernetes",
        "leaves, leaving, ticketed, closing, customers",
        "Meyer, Jansson and Nguyen",
        "",
        "?!",
        "12 345 6789",
        "tikc" * 40,
    ],
)
def test_what_may_be_right_stays(right):
    assert read(right, *ENGLISH) == right


@pytest.mark.parametrize(
    "foreign",
    [
        "Wie lange im Voraus muss ich den Urlaub beantragen, und wer genehmigt ihn?",
        "¿Cuántos días de vacaciones tengo cada año y quién los aprueba?",
        "Combien de jours de congé ai-je, et qui doit signer la demande ?",
        "Сколько дней отпуска положено сотруднику в год?",
        "每年有多少天假期？",
    ],
)
def test_questions_in_other_languages_stay(foreign):
    assert read(foreign, *ENGLISH) == foreign


def test_german_is_read_by_german_documents():
    assert read("Wer genehmigt den Ulraubsantrag?", *GERMAN) == "Wer genehmigt den Urlaubsantrag?"
    assert read("Urlaubsanntrag stellen", *GERMAN) == "Urlaubsantrag stellen"
    for right in (
        "Welche Anträge sind gelistet, und wer hat sie genehmigen lassen?",
        "Gibt es Gold oder Felder für Systeme, Formulare und Wochentage?",
    ):
        assert read(right, *GERMAN) == right


def test_russian_is_read_by_russian_documents():
    assert read("кто подписывает заявлнеие на отпуск", *RUSSIAN) == (
        "кто подписывает заявление на отпуск"
    )
    right = "Какие заявления подаются сотрудниками о переводе в другой отдел?"
    assert read(right, *RUSSIAN) == right


def test_chinese_stays():
    assert read("员工每年有几天假期？如何申清？", *CHINESE) == "员工每年有几天假期？如何申清？"


def test_the_commoner_word_and_the_likelier_slip_count():
    texts = ["The rotor turns."] * 3 + ["A rotot is no rotor."]
    assert read("rotro", *texts) == "rotor"
    assert slip("rotro", "rotor") == ("swapped", 3, 0.0)
    assert slip("rottor", "rotor") == ("doubled", 3, 0.0)
    assert slip("roor", "rotor") == ("dropped", 2, 1.0)
    assert slip("rotoe", "rotor") == ("beside", 4, 2.0)
    assert slip("rotyor", "rotor") == ("brushed", 3, 2.5)
    assert slip("rotqor", "rotor") == ("added", 3, 4.0)
    assert slip("rozor", "rotor") == ("replaced", 2, 5.0)
    assert slip("otor", "rotor") == ("dropped", 0, 2.0)


def test_of_two_short_words_that_are_rare_either_may_be_meant():
    texts = ["The logon page.", "A logon fails.", "A hotel costs 90 euros.", "Book a hotel."]
    assert read("Who wants my login?", *texts) == "Who wants my login?"
    assert read("What does a hotek cost?", *texts) == "What does a hotel cost?"
    assert read("Where is the logno page?", *texts) == "Where is the logon page?"


def test_only_so_many_words_are_looked_up():
    assert len(respellings("tikcet " * 500, index(*ENGLISH))) == 64


def test_words_are_those_of_passages_that_are_there():
    full = index(*ENGLISH)
    assert full.similar_words("ticket") == {"ticket": 2}
    assert full.similar_words("centrifuge") == {"centrifuge": 1}
    less = full.removed(np.array([2]))
    assert less.similar_words("centrifuge") == {}
    assert respellings("centirfuge", less) == []
    again = less.added([(7, "A centrifuge, a ticket.")])
    assert again.similar_words("centrifuge") == {"centrifuge": 1}
    assert again.similar_words("tickett") == {"ticket": 3}


def test_words_are_saved_and_those_of_an_earlier_version_are_missed(tmp_path):
    full = index(*ENGLISH)
    full.save(tmp_path)
    loaded = LexicalIndex.load(tmp_path)
    assert loaded.is_complete
    assert loaded.similar_words("tikcet") == {"ticket": 2}
    for path in tmp_path.rglob("word*"):
        path.unlink()
    old = LexicalIndex.load(tmp_path)
    assert not old.is_complete
    assert old.similar_words("tikcet") == {}
    assert old.search("ticket", 5, k1=1.2, b=0.75, fuzzy=False, prefix=False)[0].tolist() == [0, 1]
    assert not old.added([(9, "A ticket.")]).is_complete


def test_a_word_that_stands_once_is_not_preferred_over_one_that_a_dictionary_knows():
    damaged = ("Die Haltestele der Linie 3 liegt vor dem Bahnhof und ist nachts beleuchtet.",)
    right = "Where is the Haltestelle of line 3?"
    assert read(right, *ENGLISH, *damaged) == right
