"""The rule of what is taken in at every door: which texts and numbers it refuses, and why."""

import json
import math

import pytest

from rag import find_fault, why_not_json
from rag.input_rules import mend, storable

NUL = "There is a character 0 in the text, which cannot be stored"
HALF = "There is half a character (a lone surrogate) in the text, which cannot be stored"
BEYOND = "There is a number beyond all bounds"


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "\x01 \ud7ff \ue000 \U0001f600",
        2**53,
        -(2**53),
        float(2**53),
        b"\0",
        {"key": ["text", 1.5, None, {"inner": ("a", 2)}]},
    ],
)
def test_what_every_program_reads_is_taken_in(value):
    assert find_fault(value) == ""


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        ("a\0b", NUL),
        ("a\ud800", HALF),
        ("\udfff", HALF),
        (2**53 + 1, BEYOND),
        (-(2**53) - 1, BEYOND),
        (1e300, BEYOND),
        (math.inf, BEYOND),
        (math.nan, BEYOND),
    ],
)
def test_what_is_refused_is_found_however_deep_it_is(item, fault):
    for value in (item, [1, item], {"a": {"b": [item]}}, {item: 1}, (("x", {item}),)):
        assert find_fault(value) == fault


def test_what_is_mended_has_no_fault_and_sound_text_stays():
    assert storable("a\0b\ud800c\U0001f600") == "ab?c\U0001f600"
    broken = {"a\0": ["b\ud83d", 1, None, {"c": "\U0001f600"}]}
    assert mend(broken) == {"a": ["b?", 1, None, {"c": "\U0001f600"}]}
    assert find_fault(mend(broken)) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000, "it is nested too deep"),
        (
            "9" * 5_000,
            "it has a number of thousands of digits, and the largest is 9,007,199,254,740,992",
        ),
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_what_is_not_json_says_why_in_plain_words(text, why):
    with pytest.raises((ValueError, RecursionError)) as raised:
        json.loads(text)
    assert why_not_json(raised.value) == why
