"""Documents and questions in a language that the embedder does not know: length, rank, words."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag import (
    Document,
    Grid,
    IndexRecipe,
    InvalidRecipe,
    KnowledgeBase,
    Recipe,
    Settings,
    Workspace,
    score_contributions,
)
from rag.chunking import chunks
from rag.providers import languages, multilingual_embedders
from rag.providers import tokens as subwords
from tests.workspaces import QUICK, add, workspace_at

GERMAN = (
    "Die Pumpen werden jeden Freitag auf undichte Stellen geprüft, bevor das Labor schließt. "
    "Der Schlüssel zum Lager liegt beim diensthabenden Ingenieur. "
    "Der Filter wird alle drei Monate gewechselt, und das Öl wird bis zur oberen Marke eingefüllt. "
)
ENGLISH = (
    "The pumps are checked for leaks every Friday before the laboratory is closed. "
    "The key to the store is kept by the engineer on duty. "
    "The filter is changed every three months, and the oil is filled up to the upper mark. "
)
QUESTION = "Wer hat den Schlüssel zum Lager?"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    home: Path = tmp_path_factory.mktemp("home")
    workspace = Workspace(Settings.from_env({}, home=home))
    recipe = Recipe().with_fields(
        {"index.embedder": "wordllama", "index.chunk_size": 24, "search.refuse": "off"}
    )
    made = workspace.create("mixed", recipe)
    add(workspace, made, {"pumpen.txt": GERMAN, "pumps.txt": ENGLISH})
    exported = '{"id": "q", "text": "%s", "evidence": [{"document": "pumpen.txt", "quote": "%s"}]}'
    quote = "Der Schlüssel zum Lager liegt beim diensthabenden Ingenieur."
    made.questions.import_file("q", "q.jsonl", exported % (QUESTION, quote))
    yield made
    workspace.close()


def test_an_embedder_names_the_languages_that_it_knows():
    assert languages("minilm") == languages("wordllama") == {"en"}
    assert languages("ollama:nomic-embed-text") == {"en"}
    assert languages("ollama:bge-m3") == languages("openai") == languages("fake") == set()
    assert languages("multilingual-e5") == set()
    assert multilingual_embedders() == (
        "multilingual-e5",
        "openai:text-embedding-3-small",
        "ollama:bge-m3",
        "cohere:embed-v4.0",
        "gemini:gemini-embedding-001",
        "vertex:gemini-embedding-001",
        "bedrock:cohere.embed-multilingual-v3",
        "jina:jina-embeddings-v3",
        "voyage:voyage-3.5",
    )
    with pytest.raises(InvalidRecipe):
        languages("nobody")


def _cut(text: str, known: set[str], **fields: object) -> list[str]:
    recipe = IndexRecipe.model_validate({"chunk_size": 60, **fields})
    document = Document("d", "", "", "", text)
    return [
        each.text for each in chunks(document, recipe, subwords.wordpiece_tokens(), languages=known)
    ]


def test_passages_of_an_unknown_language_are_as_long_as_others():
    crumbs = _cut(GERMAN * 4, {"en"}, chunk_unit="tokens")
    estimated = _cut(GERMAN * 4, {"en"}, chunk_unit="auto")
    assert (len(crumbs), len(estimated)) == (8, 4)
    assert _cut(GERMAN * 4, set(), chunk_unit="auto") == crumbs  # nobody says that it lacks any
    english = _cut(ENGLISH * 4, {"en"}, chunk_unit="auto")
    assert english == _cut(ENGLISH * 4, {"en"}, chunk_unit="tokens")


def test_a_question_that_the_embedder_cannot_read_is_ranked_by_words(base):
    recipe = base.recipe().with_fields({"search.threshold": 0.9})
    trace = base.search(QUESTION, recipe)
    stage = trace.stage("language")
    assert stage.figures["dense_weight"] == pytest.approx(0.2)
    assert (trace.threshold, trace.waived_threshold) == (None, 0.9)
    threshold = trace.stage("threshold")
    assert threshold.note == "0.9 does not apply: the embedder does not support this language"
    off = base.search(QUESTION, recipe.with_fields({"search.threshold": None}))
    assert (off.threshold, off.waived_threshold) == (None, None)
    assert trace.hits[0].document == "pumpen.txt"
    assert "Schlüssel" in trace.hits[0].chunk.text
    parts = score_contributions(trace, recipe.search)
    for hit in trace.hits:
        share = parts[hit.chunk.key]
        assert share.dense + share.lexical == pytest.approx(hit.score)
        assert share.dense <= 0.2 + 1e-9
    answer = base.ask(QUESTION, recipe).answer
    assert answer.text.startswith("“Der Schlüssel zum Lager liegt beim diensthabenden Ingenieur.”")
    assert answer.note.startswith("The search compares mainly words")  # no terms of retrieval
    assert answer.note.endswith("German.")


def test_a_question_in_a_language_of_no_passage_names_an_embedder(base):
    """It is ranked as ever, but people are told why little is found."""
    recipe, question = base.recipe(), "¿Con qué frecuencia se revisan las bombas del laboratorio?"
    trace = base.search(question, recipe)
    stage = trace.stage("language")
    assert stage.note.startswith("no document is in Spanish")
    assert stage.hint.endswith("choose the embedder multilingual-e5.")
    alike = recipe.with_fields({"search.other_languages": "alike"})
    assert base.search(question, alike).hits == trace.hits
    assert base.search("¿Frecuencia?", recipe).stage("language") is None


def test_a_question_in_english_is_ranked_as_ever(base):
    recipe = base.recipe()
    alike = recipe.with_fields({"search.other_languages": "alike"})
    question = "Who has the key to the store?"
    trace = base.search(question, recipe)
    assert trace.stage("language") is None
    assert (trace.threshold, trace.waived_threshold) == (0.2, None)
    assert trace.hits == base.search(question, alike).hits
    assert base.search(QUESTION, alike).stage("language") is None
    lexical = recipe.with_fields({"search.mode": "lexical"})
    assert base.search(QUESTION, lexical).stage("language") is None


@pytest.mark.parametrize(
    "fusion", ["weighted", "rrf", "saturation", "opensearch_min_max", "qdrant_rrf"]
)
@pytest.mark.parametrize("weight", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("threshold", ["auto", 0.9])
def test_a_sweep_ranks_it_as_a_search_does(base, fusion, weight, threshold):
    fields = {"search.fusion": fusion, "search.dense_weight": weight, "search.threshold": threshold}
    recipe = base.recipe().with_fields(fields)
    swept = base.tuning.sweeper("q").sweep(Grid.parse({}, recipe), (1, 3)).base
    run = base.runs.evaluate("q", recipe, (1, 3)).run
    assert {name: run.metrics[name] for name in swept} == pytest.approx(dict(swept))
    assert run.metrics["recall@3"] == 1.0


@pytest.mark.parametrize(
    "fusion", ["weighted", "rrf", "saturation", "opensearch_min_max", "qdrant_rrf"]
)
def test_changes_hold_for_it(base, fusion):
    recipe = base.recipe().with_fields({"search.fusion": fusion, "search.top_k": 2})
    explainer = base.explanations.explain(QUESTION, recipe)
    keys = [hit.chunk.key for hit in explainer.trace.candidates]
    confirmed = 0
    for key in keys:
        was_in = explainer.is_in(key, "top_k", 2)
        for change in explainer.changes(key):
            if change.field == "threshold":
                assert change.words.startswith("The threshold has no effect")
            elif change.value is not None:
                assert explainer.is_in(key, change.field, change.value) != was_in
                confirmed += 1
    assert confirmed >= len(keys)
    assert np.isfinite([hit.score for hit in explainer.trace.hits]).all()


def test_tuning_counts_the_questions_that_the_embedder_does_not_know(base):
    tuner = base.tuning.tuner("q")
    assert tuner.unknown_languages(base.recipe()) == {"de": 1}


def _diagnosed(base: KnowledgeBase, recipe: Recipe, *questions: str) -> str:
    """The note on questions whose labelled passages, those of the pumps, are no first results."""
    quote = "Die Pumpen werden jeden Freitag auf undichte Stellen geprüft"
    evidence = [{"document": "pumpen.txt", "quote": quote}]
    lines = [{"id": text, "text": text, "evidence": evidence} for text in questions]
    base.questions.import_file("missed", "x.jsonl", "\n".join(map(json.dumps, lines)))
    diagnosis = base.tuning.diagnoses.diagnose("missed", recipe.with_fields({"search.top_k": 1}))
    assert {one.id for one in diagnosis.questions} == set(questions)
    base.questions.delete_set("missed")
    return diagnosis.note


def test_a_diagnosis_names_the_embedder_that_knows_the_language_of_failed_questions(base):
    english = "Who keeps the key to the store?"
    note = _diagnosed(base, base.recipe(), QUESTION, english)
    assert note.startswith("1 failed question is in German, which wordllama does not support.")
    assert "multilingual-e5" in note
    assert _diagnosed(base, base.recipe(), english) == ""
    lexical = base.recipe().with_fields({"search.mode": "lexical"})
    assert _diagnosed(base, lexical, QUESTION) == ""


def test_a_diagnosis_names_no_embedder_where_none_lacks_a_language(tmp_path):
    workspace = workspace_at(tmp_path)  # "fake" lacks none, like multilingual-e5
    base = workspace.create("mixed", QUICK)
    pumps, _, rest = GERMAN.partition(". ")
    add(workspace, base, {"pumpen.txt": pumps, "lager.txt": rest, "pumps.txt": ENGLISH})
    assert _diagnosed(base, QUICK, QUESTION) == ""
    workspace.close()
