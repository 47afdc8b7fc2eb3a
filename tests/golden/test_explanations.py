"""Explanations of the sample hold: what they state was done, and their sums are the scores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag import KnowledgeBase
from tests.bench.explanations import EXPLAINED, FIELDS, PAIRS, added_up, turned
from tests.sample import sample

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with sample(tmp_path_factory.mktemp("sample")) as filled:
        yield filled


def test_stated_changes_turn_the_fate_and_shorter_ones_do_not(base: KnowledgeBase) -> None:
    found = turned(base, PAIRS // 6)  # all of them are in the benchmark
    assert found["stated"] == found["turned by it"] == sum(found[f"stated: {f}"] for f in FIELDS)
    assert (found["a shorter one turned"], found["not confirmed"]) == (0, 0)
    assert all(found[f"stated: {field}"] > 10 for field in FIELDS)
    assert found["a shorter one tried"] > 100


def test_the_words_of_an_explanation_add_up_to_the_score(base: KnowledgeBase) -> None:
    found = added_up(base, EXPLAINED)
    assert found["largest difference, in billionths"] < 1
    assert min(found[f"{kind} matches"] for kind in ("exact", "prefix", "fuzzy")) > 100
