"""Questions for a day, a month or a range: another row or sentence is no answer."""

import pytest

from tests.unit.test_shown_quotes import ask

FILES = {
    "bus.md": "# Bus\n\nOn Tuesdays Halvor drives the bus. On Thursdays Signe drives the bus. "
    "From May to September the bus leaves every 20 minutes. From October to April the bus leaves "
    "every 90 minutes.\n\nLetters posted before 16:00 leave on 1 day. Letters posted after 16:00 "
    "leave on 2 days.\n",
    "dogs.csv": "age of dog,vaccination\n12 weeks to 8 years,each 12 months\n"
    "over 8 years,each 24 months\n",
    "bad.md": "# Bad\n\nMo-Fr ist das Bad von 8 bis 18 Uhr geöffnet, Sa geschlossen.\n\n"
    "| Menge | Gebühr |\n|---|---|\n| bis 100 kg | 6 € |\n| 101 bis 500 kg | 18 € |\n"
    "| über 0,5 t oder 500 kg | 45 € |\n",
    "release.md": "# Release\n\nBugs of all kinds are fixed until the code freeze. Badges are "
    "given to testers after the fair.\n",
    "messe.md": "# Messe\n\nVor der Messe streicht Karl die Stände. Nach dem Aufbau prüft die "
    "Feuerwehr alle Gänge.\n",
}


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Who drives the bus on Thursdays?", "On Thursdays Signe drives the bus."),
        ("How many minutes apart does the bus leave in December?", "From October to April"),
        ("On which day leave letters posted after 16:00?", "Letters posted after 16:00"),
        ("When is the vaccination of a dog over 8 years?", "age of dog: over 8 years"),
        ("When is the vaccination of a dog of 3 years?", "age of dog: 12 weeks to 8 years"),
        ("Was ist die Gebühr für die Menge 300 kg?", "Menge: 101 bis 500 kg"),
        ("Which bugs are fixed before the code freeze?", "Bugs of all kinds are fixed until"),
        ("Was streicht Karl bis zur Messe?", "Vor der Messe streicht Karl"),
    ],
)
def test_the_case_of_the_question_is_quoted_without_a_doubt(tmp_path, question, quote):
    answer = ask(tmp_path, FILES, question)
    assert (answer.state, answer.text[1 : 1 + len(quote)]) == ("answered", quote)


@pytest.mark.parametrize(
    ("question", "said", "meant"),
    [
        ("When is the vaccination of a dog of 3 years?", "vaccination", "3"),
        ("Was ist die Gebühr für die Menge 300 kg?", "Gebühr", "300"),
    ],
)
def test_a_value_within_a_range_is_not_said_to_be_in_the_quote(tmp_path, question, said, meant):
    reason = ask(tmp_path, FILES, question).assessment.reason
    assert said in reason
    assert meant not in reason


@pytest.mark.parametrize(
    ("question", "case"),
    [
        ("Who drives the bus on Sundays?", "Sundays"),
        ("Wer öffnet das Bad am Sonntag?", "Sonntag"),
        ("Which bugs are fixed after the code freeze?", "after the code freeze"),
        ("Which badges are given to testers before the fair?", "before the fair"),
        ("Was streicht Karl nach der Messe?", "nach der Messe"),
    ],
)
def test_another_case_is_a_doubt_that_names_the_case(tmp_path, question, case):
    answer = ask(tmp_path, FILES, question)
    assert answer.state == "doubtful"
    assert f"“{case}”" in answer.assessment.reason


@pytest.mark.parametrize(
    ("question", "case"),
    [
        ("Is the bus driven on Sundays?", "Sundays"),
        ("Are bugs fixed after the code freeze?", "after the code freeze"),
    ],
)
def test_a_question_for_yes_or_no_is_answered_by_other_cases_too(tmp_path, question, case):
    assert f"“{case}”" not in ask(tmp_path, FILES, question).assessment.reason


@pytest.mark.parametrize("day", ["2 July 2026", "July 2, 2026", "2. Juli 2026", "2026-07-02"])
@pytest.mark.parametrize("written", ["2026-07-{:02}", "{} July 2026"])
def test_a_day_is_the_same_in_another_notation(tmp_path, day, written):
    rows = ["| day | shift | duty manager |", "|---|---|---|"]
    for n, name in enumerate(("Karl Ebner", "Sunita Rao", "Helen Moss"), start=1):
        rows.append(f"| {written.format(n)} | early | {name} |")
    files = {"rota.md": "\n".join(["# Rota", "", *rows, ""])}
    answer = ask(tmp_path, files, f"Who is the duty manager on {day}?")
    assert (answer.state, answer.citations[0].quote[-10:]) == ("answered", "Sunita Rao")


def test_a_row_of_another_day_is_doubted_in_any_notation(tmp_path):
    rows = "| 2026-07-01 | early | Karl Ebner |\n| 2026-07-12 | early | Helen Moss |\n"
    files = {"rota.md": f"# Rota\n\n| day | shift | duty manager |\n|---|---|---|\n{rows}"}
    assert ask(tmp_path, files, "Who is the duty manager on 2 July 2026?").state == "doubtful"
