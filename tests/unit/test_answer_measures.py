"""Measures of answers: words shared with the expected one, citations, refusals."""

import random
from dataclasses import replace

import pytest

from rag import (
    Answer,
    Assessment,
    Citation,
    Question,
    SentenceCheck,
    Settings,
    lacks_expected,
    providers,
)
from rag.evaluation import (
    answer_measures,
    contains_answer,
    exact_match,
    nearest_part,
    plain_answer,
    rouge_l,
    token_f1,
)
from rag.types import Evidence
from tests.answers import hits, trace

WORDS = (
    *("up", "to", "eight", "days", "of", "leave", "may", "be", "carried"),
    *("over,", "the", "rest", "lapses", "in", "June", "2026"),
)


def test_rouge_l_is_that_of_the_reference_implementation():
    from rouge_score.rouge_scorer import RougeScorer  # slow to import: it brings nltk

    theirs = RougeScorer(["rougeL"], use_stemmer=False)
    draw = random.Random(5)
    for _ in range(300):
        one, other = (
            " ".join(draw.choices(WORDS, k=draw.randrange(1, 15))) + draw.choice([".", "?", " €5"])
            for _ in range(2)
        )
        expected = theirs.score(other, one)["rougeL"].fmeasure
        assert rouge_l(one, other) == pytest.approx(expected), (one, other)


def test_squad_normalisation_and_f1():
    assert exact_match("  The  Cat's, hat!", "cats hat") == 1.0
    assert exact_match("the Eight days.", "eight days") == 1.0
    assert token_f1("eight days of leave", "eight days") == pytest.approx(2 * 2 / (4 + 2))
    assert token_f1("eight eight", "eight") == pytest.approx(2 / 3)
    assert (token_f1("", ""), token_f1("a", "the"), token_f1("x", "")) == (1.0, 1.0, 0.0)
    assert (exact_match("nine days", "eight days"), rouge_l("", "eight")) == (0.0, 0.0)


def _question(**more: object) -> Question:
    evidence = (Evidence("doc-1.md", 0, 4, 3, "Text"), Evidence("doc-9.md", 0, 4, 2, "Else"))
    fields = {"evidence": evidence, "answer": "Eight days."} | more
    return Question("q1", "How many days?", **fields)  # type: ignore[arg-type]


def _answer(status: str = "complete", text: str = "Eight days [1]. Nine [2].") -> Answer:
    found = hits("Eight days.", "Other.")
    checks = (
        SentenceCheck(0, 15, "supported", (1,)),
        SentenceCheck(16, 25, "unsupported", (2,), ("no",)),
    )
    cited = tuple(Citation(n, hit) for n, hit in enumerate(found, 1))
    return Answer(text, cited, trace(found), "grounded", status, sentences=checks)  # type: ignore[arg-type]


def measured(question: Question, answer: Answer) -> dict[str, float]:
    """The measures of an answer, whose relevance is told by hashed words."""
    return answer_measures(question, answer, providers.embedder("fake", Settings.from_env({})))


def test_measures_of_an_answer():
    found = measured(_question(), _answer())
    assert plain_answer(_answer().text) == "Eight days. Nine."
    assert found["groundedness"] == 0.5
    assert (found["citation_precision"], found["citation_recall"]) == (0.5, 0.5)
    assert found["token_f1"] == pytest.approx(2 * 2 / (3 + 2))
    assert found["answer_containment"] == 1.0
    assert found["refusal_correctness"] == 1.0
    assert 0.0 < found["answer_relevance"] < 1.0


def test_a_refused_answer_has_nothing_but_being_refused():
    found = measured(_question(), _answer("refused"))
    assert set(found.values()) == {0.0}
    open_one = _question(answerable=False, evidence=())
    rightly = measured(open_one, _answer("refused"))
    assert rightly == {"refusal_correctness": 1.0}
    wrongly = measured(open_one, _answer())
    assert wrongly == {"refusal_correctness": 0.0}


def test_without_an_expected_answer_or_labels_only_the_rest_is_measured():
    found = measured(_question(answer="", evidence=()), _answer())
    assert set(found) == {"groundedness", "answer_relevance", "refusal_correctness"}


def test_only_an_answer_without_doubt_contains_the_expected_one():
    def containment(answer: Answer, expected: str = "8 days") -> float | None:
        found = measured(_question(answer=expected), answer)
        return found.get("answer_containment")

    assert containment(_answer()) == 1.0
    assert containment(_answer(), "7 days") == 0.0
    assert containment(_answer(), "Yes.") is None
    assert containment(replace(_answer(), assessment=Assessment("conflicting"))) == 1.0
    assert containment(replace(_answer(), assessment=Assessment("doubtful"))) == 0.0
    assert containment(_answer("refused")) == 0.0


def test_a_quote_that_is_folded_below_the_answer_is_no_answer():
    one, other = hits("Nine days.", "Eight days.")
    citations = Citation(1, one, answers=True), Citation(2, other)
    quotes = replace(
        _answer(text="“Nine days.” [1]\n\n“Eight days.” [2]"), citations=citations, mode="quotes"
    )
    folded = measured(_question(), quotes)
    assert (folded["answer_containment"], folded["token_f1"]) == (0.0, 0.5)
    unfolded = replace(quotes, citations=tuple(replace(one, answers=True) for one in citations))
    assert measured(_question(), unfolded)["answer_containment"] == 1.0


def test_an_answer_lacks_the_expected_one_unless_a_judge_calls_it_right():
    lacking = {"answer_containment": 0.0, "false_doubt": 0.0, "refusal_correctness": 1.0}
    assert lacks_expected(lacking)
    assert lacks_expected(lacking | {"judged_correctness": 0.5})
    assert not lacks_expected(lacking | {"judged_correctness": 1.0})
    assert not lacks_expected(lacking | {"false_doubt": 1.0})
    assert not lacks_expected(lacking | {"answer_containment": 1.0})
    assert not lacks_expected({})


CONTAINED = (
    ("Severance is limited to a maximum of four months.", "4 months", ""),
    ("Severance is limited to a maximum of 4 months.", "Four months", ""),
    ("for employee-partner you pay $197.27 a month", "$197.27", ""),
    ("for employee-partner you pay 197.27 USD a month", "$197.27 (2026)", "deduction in 2026?"),
    ("you pay 1,250 euros", "1250 EUR", ""),
    ("you pay 1.250 €", "1,250 euros", ""),
    ("you pay 12.50 €", "12,50 Euro", ""),
    ("we launched HEY in June 2020", "June 2020", "When was HEY launched?"),
    ("contract ends 2027-09-30", "30 September 2027", ""),
    ("contract ends 09/30/2027", "30 Sept. 2027", ""),
    ("contract ends 30.9.2027", "September 30th, 2027", ""),
    ("contract ends 2027年9月30日", "30 September 2027", ""),
    ("Der Vertrag endet am 30. September 2027.", "2027-09-30", ""),
    ("contract ends 2027-09-30", "September 2027", ""),
    ("Ask Jennifer Schaaf at Legal", "Jennifer Schaaf", ""),
    ("Toronto │ 5 │ Priya Raman", "5, Priya Raman", "desks in Toronto"),
    ("Use code RF24-02500 for it", "RF24-02500", ""),
    ("You can carry over five days.", "Yes, up to 5 days", ""),
    ("每年有15天年假", "15天", "年假有几天?"),
    ("申请需要经理批准。", "经理批准", "谁批准申请?"),
    ("年次有給休暇は10日です。", "10日", ""),
    ("opens at 5 pm", "17:00", ""),
    ("opens at 17:30", "5:30 p.m.", ""),
    ("opens at 9 a.m.", "09:00", ""),
    ("opens at 9 am.", "09:00", ""),
    ("opens at 9am daily", "09:00", ""),
    ("open from 9 am to 5 pm", "09:00", ""),
    ("opens at 9.30 am", "09:30", ""),
    ("closes at 12 am Monday", "00:00", ""),
    ("opens at 12 am Sat and Sun", "00:00", ""),
    ("closes at 12 am weekdays", "00:00", ""),
    ("Der Zug fährt auf Gleis 14 am Hauptbahnhof ab.", "Gleis 14", ""),
    ("Der Zug fährt auf Gleis 12 am Hauptbahnhof ab.", "Gleis 12", ""),
    ("Der Bus fährt um 12:30 am Montag.", "12:30", ""),
    ("3.50 am Automaten", "3,50", ""),
    ("5 aprıl 2024", "APRİL 5, 2024", ""),
    ("5 de aprıl", "APRİL 5", ""),
    ("Bis 31.03. zu nehmen", "31. März", ""),
    ("Die Frist endet am 31.3.", "31. März", ""),
    ("Vom 01.03. – 31.03.", "31. März", ""),
    ("Bis 31. März", "31.3.", ""),
    ("The limit is 2.5 days", "It is 2.5.", ""),
    ("Amsterdam │ 2027-09-30", "Amsterdam", ""),
    ("twenty-five days", "25 days", ""),
    ("25 days", "twenty-five days", ""),
    ("Es sind vier Wochen Urlaub.", "4 Wochen", ""),
    ("Employees launched it", "Launching", ""),
    ("Members pay 20 euros, guests 25", "20 euros for members", "What do members pay?"),
    ("The red one or blue one", "The blue one", "Is it the red one or the blue one?"),
    ("ลาพักร้อนได้ 6 วัน", "6 วัน", ""),
    ("연차는 15일입니다", "15일", ""),
    ("Days have to be taken by 30 June.", "Until 30 June", ""),
    ("Days have to be taken by 2026-06-30.", "Until June 30th", ""),
    ("Days lapse on the 30th of June.", "30 June", ""),
    ("Bis zum 30. Juni zu nehmen.", "30 June", ""),
    ("期限是6月30日", "6月30日", ""),
    ("of which 5 may be carried over", "5 may be carried over", ""),
    (
        "A full day of 24 hours · Europe: 48 EUR",
        "A full day of 24 hours in Europe is paid with 48 EUR.",
        "What is the daily allowance for a full day of travel in Europe?",
    ),
    (
        "Flask: 2 l · Highest speed: 220 rpm",
        "A 2 l flask may be shaken at up to 220 rpm.",
        "Highest shaking speed for a two litre flask",
    ),
    ("Trustee elections take place each May.", "each May", "When do elections take place?"),
    ("On 3 May 2026", "May", ""),
    ("It is held in May and June.", "May or June", ""),
    ("If the number of trustees is less than four, a panel decides.", "fewer than four", ""),
    ("It is more than 4 days.", "over four", ""),
)
LACKING = (
    ("Der Zug fährt auf Gleis 14 am Hauptbahnhof ab.", "Gleis 2", ""),
    ("closes at 12 am Monday", "12:00", ""),
    ("Bis 30.03. zu nehmen", "31. März", ""),
    ("The limit is 31.3.", "31. März", ""),
    ("The maximum is 6 months of pay.", "4 months", "What is the maximum severance pay?"),
    ("Severance: 4 weeks.", "4 months", ""),
    ("contract ends 2027-06-30", "30 September 2027", ""),
    ("contract ends September 2027", "30 September 2027", ""),
    ("Ask Jennifer Miller at Legal", "Jennifer Schaaf", ""),
    ("The CEO is Bob Roe.", "The CEO is Jane Doe", "Who is the CEO?"),
    ("Use code RF24-02501 for it", "RF24-02500", ""),
    ("每年有十五天年假", "15天", "年假有几天?"),
    ("每年有10天年假", "15天", "年假有几天?"),
    ("申请需要部门主任同意。", "经理批准", "谁批准申请?"),
    ("half of it is paid", "50%", ""),
    ("The red one", "The blue one", "Is it the red one or the blue one?"),
    ("", "4 months", ""),
    ("Five days may go on, on written application by 30 November.", "Until 30 June", ""),
    ("期限是11月30日", "6月30日", ""),
    ("of which 5 may be carried over", "5 May", ""),
    ("of which 6 may be carried over", "5 may be carried over", ""),
    ("It may take place each year.", "each May", "When are elections?"),
    ("Elections take place each June.", "each May", "When are elections?"),
    ("If there are more than four trustees, they vote.", "fewer than four", ""),
    ("If there are less than five trustees, they vote.", "fewer than four", ""),
)


@pytest.mark.parametrize(("answer", "expected", "question"), CONTAINED)
def test_an_answer_contains_what_is_expected_however_it_is_written(answer, expected, question):
    assert contains_answer(answer, expected, question) is True


@pytest.mark.parametrize(("answer", "expected", "question"), LACKING)
def test_another_figure_date_code_or_name_is_not_what_is_expected(answer, expected, question):
    assert contains_answer(answer, expected, question) is False


@pytest.mark.parametrize("expected", ["Yes", "No.", "Ja", "いいえ", "", "…"])
def test_a_verdict_alone_cannot_be_looked_for(expected):
    assert contains_answer("Five days may be carried over.", expected) is None


def test_a_verdict_is_left_out_at_the_beginning_alone():
    assert contains_answer("A fee is due.", "No fee is charged to members") is False
    assert contains_answer("Members pay no fee.", "No, members pay no fee") is True
    assert contains_answer("You may carry it over.", "Yes it is") is None
    assert contains_answer("You may carry it over.", "No, you may not.") is None


def test_words_and_figures_of_the_question_count_only_where_nothing_else_is_expected():
    question = "What do members pay for the red room?"
    assert contains_answer("20 euros", "Members pay 20 euros for the red room.", question) is True
    assert (
        contains_answer("It is the red one.", "The red one", "Is it the red or blue one?") is True
    )
    assert contains_answer("The blue one", "The red one", "Is it the red or blue one?") is False


def test_more_than_half_of_the_words_are_enough():
    expected = "approval by managers, treasurers and auditors"
    assert contains_answer("Approved by a manager and the treasurer, an auditor", expected) is True
    assert contains_answer("Approval by the manager and the treasurer", expected) is True
    assert contains_answer("Approval by the manager", expected) is False


def test_the_part_of_an_answer_nearest_to_the_expected_one_is_shown():
    before = "The trustees meet in the first week of each month to look at the accounts. "
    middle = "A panel decides if the number of trustees is less than four at that time. "
    behind = "It reports to the members, who may ask for a vote on what it has decided."
    part = nearest_part(before + middle + behind, "fewer than four", 90)
    assert "less than four" in part
    assert (part[:2], part[-2:], len(part) <= 94) == ("… ", " …", True)
    assert nearest_part(middle, "fewer than four", 90) == middle
    assert nearest_part(before + middle, "a tram", 40) == "The trustees meet in the first week of …"


@pytest.mark.parametrize(
    ("answer", "expected", "question", "contained"),
    [
        ("secrets_directory: /path/to/secrets", "/run/secrets", "Which path?", False),
        ("It is mounted at /run/secrets/db.", "/run/secrets", "Which path?", True),
        ("Use the maximum of clients", "--max-clients", "", False),
        ("Set --max-clients-per-host", "--max-clients", "", False),
        ("Set `--max-clients=5`", "--max-clients", "", True),
        ("Set docker_secrets_directory", "secrets_directory", "", False),
        ("Set secrets_directory to it", "`secrets_directory`", "", True),
        ("the file /etc/x/config.yaml", "config.yaml", "", True),
        ("the file config.yaml.bak", "config.yaml", "", False),
        ("write to help at example com", "help@example.com", "", False),
        ("It needs 1.20", "1.2", "Which version does it need?", False),
        ("It needs version 1.2.", "1.2", "Which version does it need?", True),
        ("It costs 1.20 euros", "1.2 euros", "What does it cost?", True),
        ("see 192.168.1.10", "192.168.1.1", "", False),
        ("1,234,567 people", "1.234.567", "How many people?", True),
        ("The input and the output are read.", "input/output", "", True),
        ("5 € per month", "5 €/month", "", True),
        ("call https://example.com/api/v1/users", "/api/v1/users", "", True),
        ("call /path/api/v1/users", "/api/v1/users", "", False),
        ("$HOME/.config/app", "~/.config/app", "", True),
        ("call my_module.function()", "my_module.function", "", True),
        ("call my_module.function", "my_module.function()", "", True),
        ("请打开my_file.txt文件", "my_file.txt", "", True),
        ("Version 2.0", "version 2", "", True),
        ("version 2", "Version 2.0", "", True),
        ("version 2.0.1", "Version 2.0", "", False),
        ("v1.20", "v1.2", "", False),
        ("It needs 1.20", "version 1.2", "What does it need?", False),
        ("£2.50", "£2.5", "What does the printed version cost?", True),
        ("$ 19.99", "19,99 USD", "What does the printed version cost?", True),
        ("2.50", "2.5", "What does the printed version cost?", True),
        ("1.5 GB", "1,5 GB", "How much memory does version 3 need?", True),
        ("1.50 GB", "1.5 GB", "Which version has to be installed?", True),
        ("2.5 hours", "2.50 hours", "How long does the release take?", True),
        ("0.5", "0.50", "What is the weight of a release?", True),
    ],
)
def test_paths_options_and_versions_are_contained_as_wholes(answer, expected, question, contained):
    assert contains_answer(answer, expected, question) is contained


CODES = (
    *("report_2024.pdf", "my_module.function", "src/app/my_file.py", "IMG_2024_01.jpg"),
    *("TABLE_NAME.column_name", "setup_env.sh --force", "foo_bar-baz", "x-api_key"),
    *("config.yaml.example", "data_set.csv.gz", "nginx.conf.d", "my_var_", "__init__.py"),
    *("version 2.0b1", "v1.2.3-rc1", "version 2.0b1.2", "v. 2.0", "10.0.0.0/8", "1.2.3..4"),
    *("-foo_bar", "@app_route", "foo_bar--x", "foo_bar.-x", "a+b_c@d-e.org", "../x_y", "./a"),
    *("$HOME/.config/app", "https://example.com/api/v1/users?x=my_id", "//srv_x/share"),
    *("größe_max.ini", "[my_id](docs/x.md#a_b)", "release 1.5 GB"),
)


@pytest.mark.parametrize("text", CODES)
def test_a_code_is_in_a_sentence_with_it(text):
    for question in ("", "What is it?", "Which version is it?", "What does version 3 need?"):
        for written in ("{}", '"{}"', "`{}`", "({})", "The answer is {}."):
            assert contains_answer(written.format(text), text, question) is True


@pytest.mark.parametrize("row", [*CONTAINED, *LACKING, *((code, "", "") for code in CODES)])
def test_each_text_contains_itself(row):
    for text in (*row[:2], f"“{row[0]}”", f"The answer is {row[0]}."):
        assert contains_answer(text, text) is not False
