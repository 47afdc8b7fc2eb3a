"""Steps on the question within a search: what is searched, what stays true, what is said."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rag import Message, Recipe, SearchRecipe, Trace, TraceData, WordCorrection
from rag.retrieval import Corpus, Timeline, gather, retrieve, score_contributions
from rag.retrieval.query_transforms import NO_MODEL, NO_SYNONYM, middle, transform_query
from tests.corpora import corpus
from tests.scripted_chat import ScriptedChat

TEXTS = [
    "Unused leave may be carried over until June.",
    "Holidays that were not taken move to the next year.",
    "The pump makes a grinding noise.",
    "Hotels cost at most 140 euros.",
    "Vacation days expire in summer.",
]
QUESTION = "What happens to unused leave?"
TALK = [Message("user", "How is leave carried over?"), Message("assistant", "Until June.")]


def run(searched: Corpus, history: tuple[Message, ...] = (), **search: object) -> Trace:
    recipe = Recipe(search=SearchRecipe.model_validate({"threshold": None, **search}))
    return retrieve(QUESTION, recipe, searched, None, history)


def plain_figures(trace: Trace) -> dict[int, tuple[float, float]]:
    return {hit.chunk.key: (hit.parts["dense"], hit.parts["bm25"]) for hit in trace.hits}


def test_wordings_bring_in_what_the_question_misses_and_figures_stay_true():
    chat = ScriptedChat("Do vacation days expire?\nDo holidays move to the next year?")
    searched = corpus(TEXTS, chat=chat)
    few = {"candidates": 2, "top_k": 5, "mode": "lexical"}
    alone, more = run(searched, **few), run(searched, expansions=2, **few)
    assert {hit.chunk.key for hit in alone.hits} == {1}
    assert len(more.hits) == 2
    stage = more.stage("expansions")
    assert stage.note == "Do vacation days expire? · Do holidays move to the next year?"
    asked = searched.embedder.embed([QUESTION], "query")[0].astype(np.float64)
    keys = np.array([hit.chunk.key for hit in more.hits], np.int64)
    cosines = searched.dense.vectors(keys).astype(np.float64) @ asked
    bm25 = searched.lexical.scores(QUESTION, keys, k1=1.2, b=0.75, fuzzy=False, prefix=False)
    assert [hit.relevance for hit in more.hits] == pytest.approx(cosines.tolist())
    assert [hit.parts["bm25"] for hit in more.hits] == pytest.approx(bm25.tolist())


def test_a_passage_counts_by_the_wording_that_it_fits_best():
    variants = ["Do vacation days expire?", "grinding pump"]
    searched = corpus(TEXTS, chat=ScriptedChat("\n".join(variants)))
    recipe = SearchRecipe(expansions=2, candidates=5)
    asked, found = gather(QUESTION, recipe, searched, Timeline())
    assert [each.text for each in asked.variants] == variants
    queries = searched.embedder.embed([QUESTION, *variants], "query").astype(np.float64)
    rows = searched.dense.vectors(found.keys).astype(np.float64)
    assert found.near is not None
    assert found.near == pytest.approx((rows @ queries.T).max(axis=1))
    assert found.dense_rank.tolist() == np.argsort(np.argsort(-found.near)).tolist()
    best = dict(zip(found.keys.tolist(), found.words.tolist(), strict=True))
    assert best[1] == best[3] == best[5] == 1.0
    assert all(0.0 <= share <= 1.0 for share in best.values())


def test_shares_add_up_with_wordings_too():
    searched = corpus(TEXTS, chat=ScriptedChat("Do vacation days expire?"))
    trace = run(searched, expansions=1, top_k=9)
    recipe = SearchRecipe(threshold=None, expansions=1, top_k=9)
    parts = score_contributions(trace, recipe)
    for hit in trace.hits:
        share = parts[hit.chunk.key]
        assert share.dense + share.lexical == pytest.approx(hit.score, abs=1e-12)
        assert "expanded" in hit.parts


def test_hyde_searches_halfway_and_measures_with_the_question():
    passage = "Vacation days expire in summer."
    searched = corpus(TEXTS, chat=ScriptedChat(passage))
    alone, more = run(searched, mode="dense"), run(searched, mode="dense", hyde=True)
    query, other = searched.embedder.embed([QUESTION, passage], "query")
    halfway = middle(query, other).astype(np.float64)
    rows = searched.dense.vectors(np.array([hit.chunk.key for hit in more.hits]))
    assert [hit.score for hit in more.hits] == pytest.approx((rows @ halfway).tolist(), abs=1e-6)
    cosines = {hit.chunk.key: hit.relevance for hit in alone.hits}
    assert {hit.chunk.key: hit.relevance for hit in more.hits} == pytest.approx(cosines)
    assert more.hits[0].chunk.key == 5
    stage = more.stage("hyde")
    assert stage.note == passage


def test_hyde_asks_nobody_where_words_alone_are_searched():
    chat = ScriptedChat("A passage of words.")
    trace = run(corpus(TEXTS, chat=chat), mode="lexical", hyde=True)
    assert chat.asked == []
    assert trace.failures == ()


def test_a_follow_up_is_searched_and_measured_as_its_complete_question():
    complete = "When does unused leave expire?"
    searched = corpus(TEXTS, chat=ScriptedChat(complete))
    trace = run(searched, tuple(TALK), rewrite=True)
    assert (trace.question, trace.typed) == (complete, QUESTION)
    recipe = Recipe(search=SearchRecipe(threshold=None))
    same = retrieve(complete, recipe, searched, None)
    assert plain_figures(trace) == plain_figures(same)
    assert [hit.relevance for hit in trace.hits] == [hit.relevance for hit in same.hits]


def test_without_a_conversation_there_is_nothing_to_complete():
    chat = ScriptedChat("Anything")
    trace = run(corpus(TEXTS, chat=chat), rewrite=True)
    assert chat.asked == []
    assert (trace.question, trace.typed, trace.failures) == (QUESTION, "", ())


@pytest.mark.parametrize(
    ("step", "value"), [("rewrite", True), ("expansions", 3), ("hyde", True), ("rerank", "chat")]
)
@pytest.mark.parametrize("chat", [None, ScriptedChat("")])
def test_a_step_that_cannot_work_says_so_and_the_plain_question_is_searched(step, value, chat):
    searched = corpus(TEXTS, chat=chat)
    if step == "rerank" and chat is not None:
        from rag.retrieval import Listwise

        searched = replace(searched, reranker=Listwise(chat, 4))
    trace, plain = run(searched, tuple(TALK), **{step: value}), run(searched)
    (failed,) = trace.failures
    assert failed.name == step
    assert failed.note.startswith(NO_MODEL if chat is None else "The language model ")
    assert [hit.chunk.key for hit in trace.hits] == [hit.chunk.key for hit in plain.hits]
    assert [hit.score for hit in trace.hits] == [hit.score for hit in plain.hits]
    assert plain_figures(trace) == plain_figures(plain)


MISTYPED = "What hapens to unsued leave?"


def test_meaning_and_words_search_what_was_meant():
    recipe = Recipe(search=SearchRecipe(threshold=None, spelling="question"))
    searched = corpus(TEXTS)
    found = retrieve(MISTYPED, recipe, searched, None)
    right = retrieve("What happens to unused leave?", recipe, searched, None)
    assert [(hit.chunk.key, hit.parts) for hit in found.hits] == [
        (hit.chunk.key, hit.parts) for hit in right.hits
    ]
    assert (found.question, found.reading) == (MISTYPED, "What happens to unused leave?")
    assert (found.searched, found.words) == (found.reading, found.reading)
    assert found.corrections == (
        WordCorrection("hapens", "happens"),
        WordCorrection("unsued", "unused"),
    )
    assert found.read_as == "Read “hapens” as “happens”, “unsued” as “unused”."
    stage = found.stage("spelling")
    assert stage.note == "hapens → happens, unsued → unused"
    assert (right.reading, right.corrections, right.read_as) == ("", (), "")
    assert right.searched == right.question
    told = TraceData.of(found).dump()
    assert told["reading"] == found.reading
    assert told["corrections"][1] == {"typed": "unsued", "read": "unused"}


def test_for_bm25_alone_meaning_stays_what_was_typed():
    searched = corpus(TEXTS)
    asked = transform_query(MISTYPED, SearchRecipe(spelling=True), searched, Timeline())
    typed = searched.embedder.embed([MISTYPED], "query")[0]
    assert np.array_equal(asked.vector, typed)
    assert (asked.words, asked.reading) == ("What hapens to unused leave?", MISTYPED)


def test_the_vector_of_what_was_typed_does_not_stand_for_what_was_meant():
    searched = corpus(TEXTS)
    typed, right = searched.embedder.embed([MISTYPED, "What happens to unused leave?"], "query")
    asked = transform_query(
        MISTYPED, SearchRecipe(spelling="question"), searched, Timeline(), vector=typed
    )
    assert np.array_equal(asked.vector, right)


TRIPS = [*TEXTS, "The price of a trip is due in advance."]


def test_meaning_and_words_search_synonyms_of_a_word_that_no_passage_has():
    recipe = Recipe(search=SearchRecipe(threshold=None, synonyms=True, spelling="question"))
    searched = corpus(TRIPS)
    found = retrieve("Is the tariff of a jounrey due?", recipe, searched, None)
    read = "Is the tariff (price) of a journey (trip) due?"
    right = retrieve(read, recipe, searched, None)
    assert [(hit.chunk.key, hit.parts) for hit in found.hits] == [
        (hit.chunk.key, hit.parts) for hit in right.hits
    ]
    assert (found.hits[0].chunk.key, found.reading, found.words) == (6, read, read)
    assert found.corrections == (
        WordCorrection("jounrey", "journey"),
        WordCorrection("tariff", "tariff (price)"),
        WordCorrection("journey", "journey (trip)"),
    )
    stage = found.stage("synonyms")
    assert stage.note == "tariff: price, journey: trip"
    without = right.stage("synonyms")
    assert (right.reading, right.corrections, without.note) == ("", (), NO_SYNONYM)


def test_synonyms_are_read_beside_words_that_are_corrected_for_bm25_alone():
    search = SearchRecipe(synonyms=True, spelling=True)
    question = "Does a journey cost less in sumer?"
    searched = corpus(TRIPS)
    asked = transform_query(question, search, searched, Timeline())
    assert asked.words == "Does a journey (trip) cost less in summer?"
    meant = searched.embedder.embed(["Does a journey (trip) cost less in sumer?"], "query")[0]
    assert np.array_equal(asked.vector, meant)
    assert asked.corrections == (WordCorrection("journey", "journey (trip)"),)


def test_a_reranker_reads_what_was_meant():
    heard = list[str]()

    class Listening:
        def scores(self, question: str, texts: Sequence[str]) -> np.ndarray:
            heard.append(question)
            return np.arange(len(texts), dtype=np.float64)

    searched = replace(corpus(TEXTS), reranker=Listening())
    recipe = Recipe(search=SearchRecipe(threshold=None, spelling="question", rerank="service"))
    retrieve(MISTYPED, recipe, searched, None)
    assert heard == ["What happens to unused leave?"]
