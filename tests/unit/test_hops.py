"""Several retrievals for one request are measured hop by hop."""

import pytest

from rag.systems.hops import HopFigures, hop_figures


def test_evidence_grows_by_hop_and_calls_without_news_are_redundant():
    hops = [["a", "b"], ["b", "c"], ["c", "a"], ["d"], []]
    assert hop_figures(hops, {"c", "d"}) == HopFigures((0.0, 0.5, 0.5, 1.0, 1.0), 2, 2)


def test_hops_without_evidence_are_not_useful():
    assert hop_figures([["a"]], ["c"]) == HopFigures((0.0,), None, 0)
    assert hop_figures([], ["c"]) == HopFigures((), None, 0)


def test_figures_need_something_relevant():
    with pytest.raises(ValueError, match="nothing is relevant"):
        hop_figures([["a"]], [])
