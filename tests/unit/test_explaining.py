"""Explanations of a small knowledge base: look-ups, finding the missing, side by side."""

from typing import Any

import pytest

from rag import InvalidInput, KnowledgeBase, NotFound, passage_key
from tests.runs import VECTORS, WORDS

LEAVE = "How long may unused leave be carried over?"
HYBRID = WORDS.with_fields({"search.mode": "hybrid", "search.candidates": 2, "search.top_k": 1})


def key(base: KnowledgeBase, words: str, recipe: Any = HYBRID) -> int:
    """The passage that has these words."""
    return next(
        chunk.key
        for info in base.documents.documents(recipe.index)
        for chunk in base.documents.chunks(info.id, recipe.index)
        if words in " ".join(chunk.text.split())
    )


def test_a_result_is_followed_into_the_prompt(base):
    found = base.explanations.explain(LEAVE, HYBRID).standing(
        key(base, "carried over until 30 June")
    )
    assert (found.lost, found.document) == ("", "leave.md")
    assert [step.stage for step in found.steps] == [
        "dense",
        "lexical",
        "fusion",
        "refuse",
        "threshold",
        "top_k",
        "context",
    ]
    assert {step.outcome for step in found.steps} == {"found", "kept"}
    assert found.hit
    assert found.figures.dense == found.hit.parts["dense"]
    assert found.figures.bm25 == found.hit.parts["bm25"]


def test_a_passage_that_never_was_a_candidate_has_its_true_ranks(base):
    explainer = base.explanations.explain(LEAVE, HYBRID)
    everything = base.search(LEAVE, VECTORS.with_fields({"search.top_k": 100}))
    candidates = {
        hit.chunk.key
        for hit in (
            *explainer.trace.hits,
            *(drop.hit for stage in explainer.trace.stages for drop in stage.dropped),
        )
    }
    outside = [hit for hit in everything.hits if hit.chunk.key not in candidates]
    assert outside
    for hit in outside:
        found = explainer.standing(hit.chunk.key)
        assert found.figures.dense_rank == hit.rank
        assert found.figures.dense == pytest.approx(hit.parts["dense"], abs=1e-12)
        assert found.lost == "candidates"
        assert found.reason.startswith(f"dense rank {hit.rank}, cut by candidates=2; ")
    strange = [explainer.standing(hit.chunk.key) for hit in outside]
    assert any(each.reason.endswith("it has no term of the question") for each in strange)
    assert {"unused", "leave"} <= set(strange[-1].figures.lacking)


def test_a_passage_below_the_threshold_says_so(base):
    recipe = HYBRID.with_fields({"search.candidates": 100, "search.threshold": 0.99})
    found = base.explanations.explain(LEAVE, recipe).standing(key(base, "grinding noise", recipe))
    assert found.lost == "threshold"
    assert found.summary.endswith("is below 0.990")


def test_a_relevance_just_below_the_threshold_is_told_from_it(base):
    recipe = HYBRID.with_fields({"search.candidates": 100, "search.threshold": None})
    passage = key(base, "grinding noise", recipe)
    explainer = base.explanations.explain(LEAVE, recipe)
    hits = {hit.chunk.key: hit for hit in explainer.trace.candidates}
    near = round(hits[passage].relevance + 0.00003, 5)
    strict = recipe.with_fields({"search.threshold": near, "search.exact_codes": False})
    summary = base.explanations.explain(LEAVE, strict).standing(passage).summary
    relevance, limit = summary.rpartition("relevance ")[2].split(" is below ")
    assert float(relevance) < float(limit)


def test_a_retrieval_without_a_prompt_ends_with_its_results(base):
    trace = base.explanations.part(LEAVE, HYBRID).trace
    explainer = base.explanations.explain(LEAVE, HYBRID, trace)
    assert explainer.trace is trace
    found = explainer.standing(key(base, "carried over until"))
    assert found.lost == ""


def test_tools_are_left_out(base):
    explainer = base.explanations.explain(LEAVE, HYBRID.with_fields({"search.tools": ["nowhere"]}))
    assert explainer.recipe == HYBRID
    assert [hit.chunk for hit in explainer.trace.hits] == [
        hit.chunk for hit in base.search(LEAVE, HYBRID).hits
    ]


def test_filters_say_that_they_exclude(base):
    explainer = base.explanations.explain(
        LEAVE, HYBRID.with_fields({"search.documents": ["leave*"]})
    )
    found = explainer.standing(key(base, "grinding noise"))
    assert (found.lost, found.figures.dense_rank) == ("filter", None)
    kept = explainer.standing(key(base, "carried over until"))
    assert [step.stage for step in kept.steps][:2] == ["filter", "dense"]
    assert {change.value for change in explainer.changes(key(base, "grinding noise"))} == {None}


def test_a_second_search_is_told_apart_from_the_first(base):
    recipe = HYBRID.with_fields({"search.feedback": 1, "search.feedback_weight": 1.0})
    explainer = base.explanations.explain(LEAVE, recipe)
    plain = base.explanations.explain(LEAVE, HYBRID)
    for info in base.documents.documents(recipe.index):
        for chunk in base.documents.chunks(info.id, recipe.index):
            found, first = explainer.standing(chunk.key), plain.standing(chunk.key)
            assert found.steps[:2] == first.steps[:2]
            assert (found.hit is None) == (found.lost == "candidates")
            if found.hit is None:
                assert found.reason == "the second search does not find it"
            else:
                assert "feedback" in [step.stage for step in found.steps]


def test_a_text_is_found_where_it_stands(base):
    explainer = base.explanations.explain(LEAVE, HYBRID)
    (first, *_) = explainer.find("Grease the bearing every 500  hours")
    assert (first.match, first.standing.chunk.key) == ("exact", key(base, "Grease the bearing"))
    assert first.gap
    assert first.gap.last == explainer.trace.hits[-1]
    assert first.gap.dense == explainer.trace.hits[-1].parts["dense"] - first.standing.figures.dense
    assert first.gap.score is None
    (slip, *_) = explainer.find("The Hollin pump makes a grinding noise if its bearing is dry")
    assert (slip.match, slip.standing.document) == ("similar", "pump.txt")
    assert {each.match for each in explainer.find("Which car do we rent?")} == {"nearest"}
    (shown,) = explainer.find("Unused leave may be carried over until 30 June.")
    assert (shown.match, shown.gap) == ("exact", None)


def test_a_document_shows_its_best_placed_passages(base):
    explainer = base.explanations.explain(LEAVE, HYBRID)
    (leave,) = [each for each in base.documents.documents(HYBRID.index) if each.name == "leave.md"]
    found = explainer.in_document(leave.id)
    keys = {chunk.key for chunk in base.documents.chunks(leave.id, HYBRID.index)}
    assert {each.standing.chunk.key for each in found} == keys
    assert found[0].standing.lost == ""
    assert found[0].standing.chunk.key == key(base, "carried over until")


@pytest.mark.parametrize("text", ["", "  \n", "x" * 5001])
def test_nothing_and_far_too_much_are_not_looked_for(base, text):
    with pytest.raises(InvalidInput):
        base.explanations.explain(LEAVE, HYBRID).find(text)


def test_unknown_passages_are_refused(base):
    explainer = base.explanations.explain(LEAVE, HYBRID)
    for ask in (explainer.standing, explainer.changes, explainer.attribution):
        with pytest.raises(NotFound, match="No passage has the id 0000000000000001"):
            ask(1)
    with pytest.raises(InvalidInput, match="not the id of a passage"):
        passage_key("leave")


def test_attribution_is_of_the_vectors_that_search(base):
    explainer, wanted = base.explanations.explain(LEAVE, HYBRID), key(base, "carried over until")
    found = explainer.attribution(wanted)
    assert found.cosine == pytest.approx(explainer.standing(wanted).figures.dense, abs=1e-6)
    assert {"unused", "leave"} <= {part.text for part in found.words if part.change > 0}
