"""The inspector says where any passage went, what would change that, what other recipes do."""

import json
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.inspector.explanations import explainer
from pages.components.inspector.rank_flow import columns, figure, flows, takeaway
from pages.components.inspector.recipe_comparison import fields
from pages.components.shell.charts import LIGHT
from pages.components.shell.text import plain
from rag import Chunk, InvalidRecipe, KnowledgeBase, Workspace
from rag.operation import operation
from rag.workspace.knowledge_base import Explanations
from tests.handbook import LEAVE, texts, visit

CERTIFICATE = "A certificate is needed from the fourth day."


def passage(base: KnowledgeBase, words: str) -> Chunk:
    index = base.recipe().index
    return next(
        chunk
        for info in base.documents.documents(index)
        for chunk in base.documents.chunks(info.id, index)
        if words in chunk.text
    )


def test_the_selected_passage_is_followed_and_its_changes_are_stated(base):
    wanted = passage(base, "second class")
    app = visit("inspector.py", q=LEAVE, view="What if", passage=wanted.id)
    explainer = base.explanations.explain(LEAVE, base.recipe())
    standing, changes = explainer.standing(wanted.key), explainer.changes(wanted.key)
    assert standing.lost == "threshold"
    assert r"lost at threshold\: relevance 0\.158 is below 0\.200" in texts(app)
    table = app.dataframe[0].value
    assert list(table["stage"]) == [step.stage for step in standing.steps]
    assert list(table["how"]) == [step.words for step in standing.steps]
    stated = [change for change in changes if change.value is not None]
    assert [button.key for button in app.button if "what_if_apply" in (button.key or "")] == [
        f"what_if_apply_{change.field}" for change in stated
    ]


def test_a_search_that_recovered_is_explained_anew(base):
    # A reranker that failed at first: the same question and recipe, another order.
    recipe = base.recipe()
    worked = base.search(LEAVE, recipe.with_fields({"search.threshold": None}))
    ranked = [replace(hit, rank=rank) for rank, hit in enumerate(reversed(worked.hits), start=1)]
    failed = replace(worked, hits=tuple(ranked))
    first, last = worked.hits[0].chunk.key, len(worked.hits)
    ranks = []
    for trace in (failed, worked, failed):
        standing = explainer(base, trace, recipe).standing(first)
        ranks.append(standing.hit.rank)
    assert ranks == [last, 1, last]
    assert last > 1
    slower = replace(worked, seconds=worked.seconds + 1)
    assert explainer(base, slower, recipe) is explainer(base, worked, recipe)


def test_applying_a_change_brings_the_passage_in(base):
    wanted = passage(base, "second class")
    changes = base.explanations.explain(LEAVE, base.recipe()).changes(wanted.key)
    value = next(change.value for change in changes if change.field == "threshold")
    recipe = base.recipe().with_fields({"search.threshold": value})
    explanation = base.explanations.explain_quotes(base.search(LEAVE, recipe), recipe)
    fate = explanation.fates[wanted.key]
    assert (fate.number, bool(fate.reason)) == (0, True)
    app = visit("inspector.py", q=LEAVE, view="What if", passage=wanted.id)
    app.button(key="what_if_apply_threshold").click().run()
    assert not app.exception
    said = (element.value.replace("\\", "") for element in app.markdown)
    headline = next(words for words in said if "given to the answer, rank 2" in words)
    assert f"not quoted: {fate.reason}" in headline
    assert "check_circle" not in headline
    app.button(key="frame_recipe_reset").click().run()
    assert r"lost at threshold" in texts(app)


def test_a_passage_that_is_no_candidate_is_looked_up_by_its_address(base):
    base.recipes.save(base.recipe().with_fields({"search.candidates": 1}))
    wanted = passage(base, "goggles")
    app = visit("inspector.py", q=LEAVE, view="What if", passage=wanted.id)
    assert r"cut by candidates\=1\; it has no term of the question" in texts(app)
    stale = visit("inspector.py", q=LEAVE, view="What if", passage="0" * 16)
    assert "given to the answer, rank 1" in texts(stale).replace("\\", "")


def test_a_missing_sentence_is_found_and_looked_up(base):
    app = visit("inspector.py", q=LEAVE)
    app.text_input(key="missing").set_value(CERTIFICATE).run()
    assert "has these words" in texts(app)
    assert "(leave.md)" in texts(app).replace("\\", "")
    (look,) = [each for each in app.button if (each.key or "").startswith("what_if_look_")]
    look.click().run()
    wanted = passage(base, CERTIFICATE)
    assert app.query_params["passage"] == wanted.id
    assert not app.exception


def test_words_beside_the_quoted_ones_are_not_called_quoted(base):
    quote, beside = "until 30 June of the next year", "It lapses after that day."
    for words, other in ((quote, False), (beside, True)):
        shown = texts(visit("inspector.py", q=LEAVE, missing=words)).replace("\\", "")
        assert ("quoted as [1] by another sentence" in shown) is other


def test_what_was_expected_of_a_question_goes_with_it(base):
    app = visit("inspector.py", q=LEAVE, missing=CERTIFICATE, missing_document="safety.md")
    assert app.text_input(key="missing").value == CERTIFICATE
    app.text_input(key="q").set_value("Who signs for the goggles?").run()
    assert app.text_input(key="missing").value == ""
    assert app.selectbox(key="missing_document").value is None
    assert not {"missing", "missing_document"} & set(app.query_params)
    assert app.query_params["q"] == "Who signs for the goggles?"


def test_a_document_shows_where_its_passages_stand(base):
    app = visit("inspector.py", q=LEAVE, missing_document="safety.md")
    shown = [each for each in app.button if (each.key or "").startswith("what_if_look_")]
    (document,) = [
        each for each in base.documents.documents(base.recipe().index) if each.name == "safety.md"
    ]
    chunks = base.documents.chunks(document.id, base.recipe().index)
    assert {each.key for each in shown} == {f"what_if_look_{chunk.id}" for chunk in chunks}


def test_attribution_is_computed_when_it_is_asked_for(base):
    app = visit("inspector.py", q=LEAVE, view="Attribution")
    assert "cosine lost" not in str([each.proto for each in app.dataframe])
    app.button(key="attribution_compute").click().run()
    hit = base.search(LEAVE, base.recipe()).hits[0]
    expected = base.explanations.explain(LEAVE, base.recipe()).attribution(hit.chunk.key)
    words, sentences = (frame.value for frame in app.dataframe)
    assert sorted(words["loss"]) == pytest.approx(sorted(p.change for p in expected.words))
    assert set(sentences["part"]) == {" ".join(part.text.split()) for part in expected.sentences}
    app.segmented_control(key="view").set_value("Stages").run()
    app.segmented_control(key="view").set_value("Attribution").run()
    assert len(app.dataframe) == 2  # still known


def test_two_recipes_are_compared(base):
    app = visit("inspector.py", q=LEAVE, view="Compare", changes="threshold=null, top_k=3")
    other = base.recipe().with_fields({"search.threshold": None, "search.top_k": 3})
    found = base.explanations.compare(LEAVE, base.recipe(), other)
    metrics = {each.label: each.value for each in app.metric}
    assert metrics["Rank-biased overlap"] == f"{found.overlap:.2f}"
    assert metrics["Shown by both"] == "1 of 3"
    assert "0 up, 0 down, 2 new, 0 gone." in texts(app)
    assert texts(app).count(":blue-badge[new]") == 2
    app.text_input(key="changes").set_value("mode").run()
    assert "has no value" in texts(app)
    app.segmented_control(key="against").set_value("The saved recipe").run()
    assert [each.value for each in app.info] == ["Both recipes are the same."]
    app.segmented_control(key="against").set_value("A run's recipe").run()
    assert "No run yet" in texts(app)


def test_a_recipe_of_another_embedder_is_compared_with_the_weight_of_that(base):
    index = base.recipe().with_fields({"index.embedder": "wordllama"}).index
    Workspace.from_env().jobs.run(base.documents.build(index))
    app = visit("inspector.py", q=LEAVE, view="Compare", changes="index.embedder=wordllama")
    assert plain("search.dense_weight 0.6 → 0.35") in texts(app)


def test_labels_that_each_recipe_shows_are_told(base):
    row = {
        "id": "q1",
        "text": LEAVE,
        "evidence": [{"document": "travel.md", "quote": "Trains are booked in second class."}],
    }
    base.questions.import_file("labelled", "labelled.jsonl", json.dumps(row))
    app = visit("inspector.py", q=LEAVE, view="Compare", set="labelled", changes="threshold=null")
    assert {each.label: each.value for each in app.metric}["Labels found"] == "1 of 1"
    table = app.dataframe[0].value
    assert (table["as it is"][0], table["other"][0]) == (None, 2)


def test_without_candidates_the_missing_can_still_be_found(base):
    app = visit("inspector.py", q="zzz", mode="Lexical", view="What if", missing=CERTIFICATE)
    assert "No candidates" in app.info[0].value
    assert "no term of the question" in texts(app)


def test_recipe_fields_are_read_as_on_the_command_line():
    read = fields("mode=dense, index.chunk_size=100,")
    assert read == {"search.mode": "dense", "index.chunk_size": 100}
    with pytest.raises(InvalidRecipe, match="has no value"):
        fields("mode")


def test_lines_run_through_the_stages_of_both_recipes(base):
    recipe = base.recipe().with_fields({"search.mode": "hybrid", "search.threshold": None})
    other = recipe.with_fields({"search.mode": "lexical", "search.top_k": 1})
    compared = base.explanations.compare(LEAVE, recipe, other)
    assert list(columns(compared.before)) == ["dense", "lexical", "fused", "returned"]
    assert list(columns(compared.after)) == ["lexical", "returned"]
    lines = flows(compared)
    for trace, side in ((compared.before, "left"), (compared.after, "right")):
        drawn = [getattr(line, side)[-1] for line in lines if getattr(line, side)[-1]]
        assert sorted(drawn) == [hit.rank for hit in trace.hits]
    first = next(line for line in lines if line.right[-1] == 1)
    hit = compared.after.hits[0]
    assert first.name == (hit.document, f"#{hit.chunk.order + 1}")
    assert first.right == (hit.parts["bm25_rank"], 1)
    gone = sum(line.right[-1] is None for line in lines)
    assert gone == len(lines) - 1
    assert takeaway(compared, lines).startswith(f"0 up, 0 down, 0 new, {gone} gone.")


def test_the_chart_says_where_a_relevant_passage_was_lost(base):
    recipe = base.recipe().with_fields({"search.mode": "hybrid", "search.threshold": None})
    compared = base.explanations.compare(
        LEAVE, recipe, recipe.with_fields({"search.threshold": 1.0})
    )
    [first, *rest] = flows(compared)
    relevant = [replace(first, grade=1), *rest]
    misleading = [replace(first, grade=-1), *rest]
    assert "Relevant" not in takeaway(compared, misleading)
    widths = [
        {trace.line.width for trace in figure(compared, lines, LIGHT).data}
        for lines in (relevant, misleading)
    ]
    assert [max(drawn) for drawn in widths] == [4, 1.5]
    names = figure(compared, relevant, LIGHT).layout.annotations[2:]  # behind those of the recipes
    assert len(names) == len(relevant)
    assert {one.bgcolor for one in names} == {f"{LIGHT.page}B3"}  # lines stay in sight behind
    editions = [
        replace(first, name=(f"hockey-rules-20{year}.docx", "#5"), grade=0) for year in (15, 17)
    ]
    texts = [one.text for one in figure(compared, editions, LIGHT).layout.annotations[2:]]
    assert texts == ["hocke…s-2015 #5", "hocke…s-2017 #5"]


def test_views_compute_only_when_chosen(base, monkeypatch):
    @operation("viewer")
    def never(*_arguments: object) -> None:
        raise AssertionError("explained")

    monkeypatch.setattr(Explanations, "explain", never)
    monkeypatch.setattr(Explanations, "compare", never)
    for view in ("Stages", "Terms", "Attribution", "Prompt"):
        app: AppTest = visit("inspector.py", q=LEAVE, view=view)
        assert not app.error
