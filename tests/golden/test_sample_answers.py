"""Answers without a language model on the sample: the right row, for codes and for tables."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tests.sample
from rag import KnowledgeBase

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
QUESTIONS = {
    row["id"]: row
    for row in map(json.loads, (SAMPLE / "questions.jsonl").read_text("utf-8").splitlines())
}
CELLS: dict[str, list[tuple[str, ...]]] = {
    "q005": [("60 EUR per person",)],
    "q008": [("KM-9120-15", "139.00")],
    "q010": [("Full day of 24 hours", "48 EUR")],
    "q011": [("CV-118", "Rotor not recognised", "Seat the rotor again")],
    "q012": [("CV-115", "Clean the optical window")],
    "q013": [("IS-214", "Fluid does not circulate")],
    "q014": [("IS-223", "Select [Always]")],
    "q015": [("BU-322", "transfer samples")],
    "q016": [("BU-340", "Backup system has injected")],
    "q017": [("EM-409", "move the flap by hand")],
    "q018": [("SW-504", "Balance the load")],
    "q019": [("HV-612", "Empty it; clean the float")],
    "q020": [("LB-715", "Do not restart")],
    "q021": [("KM-2204-33", "Rotor key 6 mm")],
    "q022": [("KM-5120-21", "Boreal U700"), ("The U400 takes KM-5120-20",)],
    "q023": [("KM-7120-02", "221.00")],
    "q024": [("TK-20226", "Which battery")],
    "q025": [("use KM-2200-51",), ("replaces KM-2200-50",)],
    "q026": [("No instrument is accepted without a filled-in decontamination certificate",)],
    "q027": [("below RF24-02500",)],
    "q028": [("latch motors",), ("lot number is on the white label",)],
    "q029": [("OUT_SP_00", "set the set point")],
    "q030": [("KM-6110-62", "lead_time_days: 30")],
    "q031": [("KMSRV-07",)],
    "q073": [("Maximum speed", "15 000 rpm")],
    "q074": [("Energy", "8.9 kWh")],
    "q075": [("Heater power", "2.9 kW")],
    "q076": [("Toluene", "77 mbar")],
    "q077": [("Silica gel", "4 h")],
    "q078": [("2 l", "220 rpm")],
    "q079": [("Applications that were declined", "6 months")],
    "q080": [("Private car", "0.38 EUR")],
    "q081": [("up to 10 000 EUR", "division head")],
    "q082": [("8443",)],
    "q083": [("RF-6L", "15 000")],
    "q084": [("S120", "610")],
    "q085": [("Freezer A", "-31"), ("warmed up to -31",)],
    "q086": [("58.1 percent",), ("one glass in six",)],
    "q115": [("QN-160", "Wait three minutes")],
    "q116": [("DP-812", "Address used twice")],
    "q117": [("SC-908", "Lamp switched off")],
    "q118": [("Largest sample", "124 g")],
    "q119": [("3.2 mm", "210 ml/min")],
    "q128": [("Boreal", "1 450", "30")],
    "q129": [("Mitochondria", "10 000")],
}
"""What one quote of the answer must hold: each phrase of one of the alternatives."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with tests.sample.sample(tmp_path_factory.mktemp("sample")) as filled:
        yield filled


def quoted(base: KnowledgeBase, question: str) -> list[str]:
    """The quotes of an answer, white space aside."""
    answer = base.ask(question, base.recipe()).answer
    return [" ".join(each.split()) for each in answer.text.split("\n\n")]


def holds(quote: str, cells: list[tuple[str, ...]]) -> bool:
    return any(all(phrase in quote for phrase in phrases) for phrases in cells)


@pytest.mark.slow
@pytest.mark.thorough  # every answer is recorded, and whoever changes one reads it
@pytest.mark.parametrize(("tag", "number"), [("code", 25), ("table", 21)])
def test_the_answer_holds_the_right_row(sample: KnowledgeBase, tag: str, number: int) -> None:
    asked = [key for key, row in QUESTIONS.items() if tag in row["tags"]]
    assert len(asked) == number
    assert set(asked) <= set(CELLS)
    found = {key: quoted(sample, QUESTIONS[key]["text"]) for key in asked}
    wrong = {
        key: quotes
        for key, quotes in found.items()
        if not any(holds(each, CELLS[key]) for each in quotes)
    }
    assert len(wrong) <= number * 0.1, json.dumps(wrong, indent=1, ensure_ascii=False)
