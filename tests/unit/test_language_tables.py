"""The words of answers without a model come from one table per language, and from nowhere else."""

import shutil
import subprocess
import sys
from pathlib import Path

import rag
from rag.answering.languages import languages

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
from rag.answering.assessing.validity import date_in
from rag.answering.units import unit_at
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
