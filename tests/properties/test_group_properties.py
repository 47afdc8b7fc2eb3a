"""Groups of questions are those that a comparison of every pair finds, at a bounded cost."""

import json
import subprocess
import sys
from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from rag import Question
from rag.library.questions import groups
from rag.library.questions.groups import similar_sets
from rag.types import Evidence, Integers

ROOT = Path(__file__).resolve().parents[2]
ONE_WORDING = """
import re, sys, time
from pathlib import Path
from rag.library.questions.groups import groups_of
from rag.types import Question
asked = [Question(str(n), sys.argv[1].format(n)) for n in range(20_000)]
started = time.process_time()
grouped = len(groups_of(asked))
seconds = time.process_time() - started
# Not ru_maxrss, which begins with what the parent takes.
memory = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(grouped, seconds, int(memory[1]) // 1024)
"""
WORDS = ["the", "price", "of", "kiln", "glaze", "ferry", "and", "violin"]
SETS = st.lists(st.frozensets(st.integers(0, 9), max_size=8), max_size=40)
QUESTIONS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), max_size=7),
        st.lists(
            st.tuples(st.integers(0, 45), st.sampled_from([0, 200, 400, 900]), st.integers(0, 2)),
            max_size=3,
        ),
    ),
    max_size=60,
)


def _chains_of_every_pair(sets: Sequence[frozenset[Hashable]], least: float) -> Integers:
    """The number of its chain for each set, by the common members of all pairs in one table."""
    columns: dict[Hashable, int] = {}
    rows = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    places = [columns.setdefault(one, len(columns)) for members in sets for one in members]
    shape = len(sets), max(len(columns), 1)
    table = csr_matrix((np.ones(len(places), np.int32), (rows, places)), shape=shape)
    shared = (table @ table.T).tocoo()
    sizes = np.array([len(members) for members in sets], np.int64)
    union = sizes[shared.row] + sizes[shared.col] - shared.data
    close = shared.data >= least * union - 1e-9
    ends = shared.row[close], shared.col[close]
    links = csr_matrix((np.ones(len(ends[0])), ends), shape=(len(sets), len(sets)))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


def _partition(numbers: Integers) -> list[int]:
    """The first place with the same number, for each place."""
    first: dict[int, int] = {}
    return [first.setdefault(number, place) for place, number in enumerate(numbers.tolist())]


def _check(questions: Sequence[Question]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "similar_sets", _chains_of_every_pair)
        expected = groups.groups_of(questions)
    assert groups.groups_of(questions) == expected


@given(SETS, st.sampled_from([0.5, 0.8, 0.75, 1.0]), st.sampled_from([1, 3, 200_000]))
def test_chains_are_those_of_every_pair(sets, least, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag.library.questions.groups._BLOCK", block)
        found = similar_sets(sets, least)
    assert _partition(found) == _partition(_chains_of_every_pair(sets, least))


@given(QUESTIONS)
def test_groups_are_those_of_every_pair(drawn):
    _check(
        [
            Question(
                f"q{number}",
                " ".join(words),
                tuple(
                    Evidence(
                        f"d{document}", 200 * place, 200 * place + 50 if place else None, grade
                    )
                    for document, place, grade in labels
                ),
            )
            for number, (words, labels) in enumerate(drawn)
        ]
    )


def test_groups_of_the_sample_are_those_of_every_pair():
    lines = (ROOT / "data" / "sample" / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    _check(
        [
            Question(
                item["id"],
                item["text"],
                tuple(
                    Evidence(label["document"], 0, None, label.get("grade", 1))
                    for label in item.get("evidence", ())
                ),
            )
            for item in asked
        ]
    )


@pytest.mark.parametrize(
    ("wording", "grouped"),
    [
        ("What is the price of the product number {}?", 0),
        ("What is the price in dollars of the one product that has number {}?", 20_000),
    ],
)
def test_many_questions_of_one_wording_cost_little(wording, grouped):
    """Processor seconds and megabytes at most, of a process that does nothing else."""
    command = [sys.executable, "-c", ONE_WORDING, wording]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    count, seconds, megabytes = map(float, done.stdout.split())
    assert (count, seconds < 10, megabytes < 300) == (grouped, True, True)
