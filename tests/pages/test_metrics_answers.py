"""The metrics page measures answers too, and lets a model judge hits."""

import json

import pytest

from pages.components.metrics.failures import _answer, _counts, headline
from pages.components.shell.text import plain
from rag import QuestionResult
from tests.answer_runs import Chat, with_chat
from tests.handbook import texts
from tests.pages.conftest import finished
from tests.servers import Reply, scripted


def test_answers_are_measured_beside_retrieval(labelled, open_page):
    app = open_page("metrics.py")
    app.checkbox(key="answers").check().run()
    app.button(key="metrics_evaluate").click().run()
    assert not app.exception
    assert "answers" not in [item.key for item in app.checkbox]  # while the job runs
    assert finished(labelled, "evaluate-answers").status == "done"
    app.run()
    assert app.checkbox(key="answers").value is True
    run = labelled.base("notes").runs.list_all("checks")[0]
    shown = {card.label: card.value for card in app.metric}
    assert "Groundedness" not in shown  # quotes are what their sources say
    assert shown["nDCG@10"] == f"{run.metrics['ndcg@10']:.3f}"
    assert plain(run.environment["answers"]) in texts(app)
    assert "on average search " in run.environment["answers"]
    (unanswered,) = (card for card in app.metric if card.label == "Rightly unanswered")
    refused = f"{run.metrics['correct_refusal']:.0%}"
    assert refused in unanswered.help
    assert not any(one.value.endswith(refused) for one in app.caption)  # one figure a card
    assert shown["Correct decisions"] == f"{run.metrics['correct_decision']:.0%}"


def test_a_set_of_expected_answers_alone_is_evaluated_by_its_answers(labelled, open_page):
    base = labelled.base("notes")
    rows = [{"id": "a1", "text": "How long may leave be carried over?", "answer": "30 June"}]
    rows.append({"id": "a2", "text": "In which class are trains booked?", "answer": "second"})
    base.questions.import_file("answers", "a.jsonl", "\n".join(map(json.dumps, rows)))
    app = open_page("metrics.py", set="answers")
    assert "answers alone" in texts(app)
    app.button(key="metrics_evaluate").click().run()
    assert finished(labelled, "evaluate-answers").status == "done"
    app = open_page("metrics.py", set="answers")
    assert not app.exception
    (run,) = base.runs.list_all("answers")
    assert run.questions == 2
    shown = {card.label: card.value for card in app.metric}
    assert "–" not in shown.values()  # nothing of labels, which the set has none of
    assert shown["Expected answer found"] in next(
        one.value for one in app.markdown if one.value.startswith("#####")
    )
    assert not {"First relevant", "Recall by k"} & {*app.dataframe[-1].value.columns}
    assert app.button(key="frame_next_go").label == "Label passages"  # there is nothing to judge


def test_answers_that_were_refused_wrongly_are_marked(labelled, open_page):
    base = labelled.base("notes")
    base.recipes.save(base.recipe().with_fields({"search.threshold": 0.99}))
    assert labelled.jobs.run(base.runs.start_answers("checks", base.recipe())).status == "done"
    (run,) = base.runs.list_all()
    assert run.metrics["false_doubt"] == 1.0
    app = open_page("metrics.py")
    rows = app.dataframe[-1].value
    answers = dict(zip(rows["Question"], rows["Answer"], strict=True))
    assert answers.pop("Who won the world cup in 1954?") == "refused, rightly"
    assert set(answers.values()) == {"not answered"}
    first = dict(zip(rows["Question"], rows["First relevant"], strict=True))
    del first["Who won the world cup in 1954?"]
    assert rows["First relevant"].isna().sum() == 1
    assert set(first.values()) == {"rank 1, cut by the threshold"}
    assert list(rows["Relevant passages"].dropna()) == ["0 of 1"] * 3
    failed = (
        "3 of 4 questions failed, each counted once: 3 found low or not at all (nDCG@5 below 0.5)."
    )
    assert failed in app.header[-1].proto.help
    assert run.metrics["correct_decision"] == 1 - 3 / 4


def test_the_prompts_of_answers_are_named(labelled, open_page, monkeypatch):
    with_chat(monkeypatch, Chat())
    base = labelled.base("notes")
    fields = {"provider": "ollama", "model": "small", "evidence": "passages"}
    recipe = base.recipe().with_fields({f"answer.{name}": fields[name] for name in fields})
    job = base.runs.start_answers("checks", recipe)
    assert labelled.jobs.run(job).status == "done"
    (run,) = base.runs.list_all()
    assert run.prompts == base.conversations.prompts.wording().version(recipe.answer.mode)
    base.runs.remove(run.id)
    base.runs.evaluate("checks", base.recipe())
    assert not any("Prompts:" in each.value for each in open_page("metrics.py").caption)


def test_the_outcome_of_an_answer_is_said_by_the_metric_that_there_is():
    def outcome(*, answerable: bool = True, **metrics: float) -> str | None:
        return _answer(
            QuestionResult("q", "Why?", (), answerable, metrics, (("a", 1.0, 0),), 1, 1, 1)
        )

    assert outcome() is None
    assert outcome(judged_correctness=1.0, token_f1=0.2) == "right"
    assert outcome(judged_correctness=0.5) == "partly right"
    assert outcome(judged_correctness=0.0, false_doubt=1.0) == "not answered, wrong"
    assert outcome(exact_match=1.0, token_f1=1.0) == "right"
    assert outcome(exact_match=0.0, token_f1=0.4) is None
    assert outcome(exact_match=0.0, token_f1=0.4, false_doubt=0.0) == "answered"
    disagree = {"conflicting_sources": 1.0, "false_doubt": 0.0}
    assert outcome(**disagree) == "conflicting"
    assert outcome(judged_correctness=1.0, **disagree) == "conflicting, right"
    wrong = outcome(answerable=False, correct_doubt=0.0, conflicting_sources=1.0)
    assert wrong == "conflicting, wrongly"
    assert outcome(answerable=False) == "not refused"  # nothing was answered
    assert outcome(answerable=False, correct_doubt=0.0) == "answered, wrongly"
    assert outcome(answerable=False, correct_doubt=1.0) == "not answered, rightly"


def test_failures_are_counted_by_what_they_fail_by():
    def result(*, answerable: bool = True, **metrics: float) -> QuestionResult:
        named = {name.replace("_at_", "@"): value for name, value in metrics.items()}
        return QuestionResult("q", "Why?", (), answerable, named, (("a", 1.0, 0),), 1, 1, 1)

    results = [
        result(ndcg_at_5=0.2),
        result(ndcg_at_5=0.8, nugget_recall_at_5=0.5),
        result(ndcg_at_5=0.8, nugget_recall_at_5=1.0, false_doubt=1.0),
        result(ndcg_at_5=0.8, false_doubt=0.0),
        result(ndcg_at_5=0.8, false_doubt=0.0, answer_containment=0.0),
        result(ndcg_at_5=0.8, false_doubt=0.0, answer_containment=1.0),
        result(answerable=False),
        result(answerable=False, correct_doubt=0.0),
        result(answerable=False, correct_doubt=1.0),
    ]
    assert _counts(results, 5) == (
        "6 of 9 questions failed, each counted once: 1 found low or not at all "
        "(nDCG@5 below 0.5), 1 with parts of the answer missing in the first 5, 1 answered "
        "wrongly, 1 not refused, 1 doubtful, 1 answered, not as expected."
    )
    right = result(ndcg_at_5=0.2, false_doubt=0.0, answer_containment=1.0)
    assert _counts([right, results[3]], 5) == (
        "0 of 2 questions failed. 1 question got the expected answer, although relevant passages "
        "rank low or were not found (nDCG@5 below 0.5)."
    )
    assert " 1 other question got the expected answer, although" in _counts([right, results[0]], 5)


def test_failures_that_are_equally_frequent_are_all_named(labelled):
    base = labelled.base("notes")
    run = base.runs.evaluate("checks", base.recipe()).run

    def result(*, answerable: bool = True, **metrics: float) -> QuestionResult:
        ranked = {"ndcg@5": 0.8, **metrics}
        return QuestionResult("q", "Why?", (), answerable, ranked, (("a", 1.0, 0),), 1, 1, 1)

    doubtful = result(false_doubt=1.0)
    unexpected = result(false_doubt=0.0, answer_containment=0.0)
    wrongly = result(answerable=False, correct_doubt=0.0)
    orange = ":orange["
    assert headline(run, [doubtful, doubtful, unexpected], "passage").count(orange) == 1
    tied = headline(run, [wrongly, doubtful, unexpected, wrongly, doubtful], "passage")
    assert tied.count(orange) == 2


def test_metrics_and_failures_count_the_same_failures_whichever_run_is_newest(labelled, open_page):
    base = labelled.base("notes")
    recipe = base.recipe().with_fields({"search.top_k": 7})
    base.recipes.save(recipe)
    base.questions.edit_question("checks", "q3", answer="At most 139 euros")

    def failed() -> tuple[str, str]:
        diagnosis = base.tuning.diagnoses.diagnose("checks", recipe)
        counts = open_page("metrics.py").header[0].help
        return counts.split(" questions")[0], f"{len(diagnosis.questions)} of {diagnosis.asked}"

    base.runs.evaluate("checks", recipe)
    before, diagnosed = failed()
    assert before == diagnosed
    assert open_page("metrics.py").checkbox(key="answers").value is False
    assert labelled.jobs.run(base.runs.start_answers("checks", recipe)).status == "done"
    assert open_page("metrics.py").checkbox(key="answers").value is True  # as the last time
    scored, diagnosed = failed()
    assert scored == diagnosed != before
    base.runs.evaluate("checks", recipe)
    assert failed() == (scored, diagnosed)


def test_answers_without_the_expected_one_are_counted_and_listed_first(labelled, open_page):
    base = labelled.base("notes")
    base.questions.edit_question("checks", "q2", answer="Because the bearing is dry")
    base.questions.edit_question("checks", "q3", answer="At most 139 euros")
    first, second = (item.text for item in base.questions.usable("checks") if item.answer)
    base.questions.edit_question("checks", "q1", answer="Yes")
    third = next(item.text for item in base.questions.usable("checks") if item.answer == "Yes")
    job = base.runs.start_answers("checks", base.recipe())
    assert labelled.jobs.run(job).status == "done"
    app = open_page("metrics.py")
    assert not app.exception
    rows = app.dataframe[-1].value
    outcomes = dict(zip(rows["Question"], rows["Expected answer"], strict=True))
    assert (outcomes[first], outcomes[second]) == ("found", "not found")
    assert rows["Question"][0] == second
    assert outcomes[third] == "not scored"
    assert dict(zip(rows["Question"], rows["Answer"], strict=True))[first] == "answered"


def test_what_is_known_of_open_hits_is_told_where_a_judge_is_chosen(labelled, open_page):
    base = labelled.base("notes")
    run = base.runs.evaluate("checks", base.recipe()).run
    app = open_page("metrics.py")
    app.session_state[f"metrics_judge_{run.id}"] = True
    app.run()
    assert not app.exception
    found = base.runs.open_hits(run.id)
    assert found.pool > 0
    assert plain(found.sentences[0]) in texts(app)
    assert app.button(key=f"metrics_judge_start_{run.id}").disabled
    app.text_input(key="metrics_judge").set_value("nobody:knows").run()
    app.button(key=f"metrics_judge_start_{run.id}").click().run()
    assert "nobody" in texts(app)


def test_a_decision_model_is_tried_and_its_reliability_is_drawn(labelled, open_page, monkeypatch):
    base = labelled.base("notes")
    run = base.runs.evaluate("checks", base.recipe()).run
    answer = {"type": "predicate", "name": "asked", "probability": 0.8}
    reply = Reply(body=json.dumps({"model": "m-1", "answers": [answer]}))
    with scripted(reply) as server:
        monkeypatch.setenv("TOUCHSTONE_DECISIONS_URL", server.url)
        app = open_page("metrics.py")
        app.session_state[f"metrics_judge_{run.id}"] = True
        app.run()
        app.text_input(key="metrics_judge").set_value("decisions:m").run()
        app.button(key=f"metrics_judge_try_{run.id}").click().run()
        assert not app.exception
        assert plain("decisions:m agrees with people on 3 of 3") in texts(app)
        assert base.runs.judge_calibration(run.id, "decisions:m") is None
        app.button(key=f"metrics_judge_start_{run.id}").click().run()
        assert finished(labelled, "judge").status == "done"
        app.run()
    calibration = base.runs.judge_calibration(run.id, "decisions:m")
    assert calibration.hits > 0
    assert plain(calibration.sentence) in texts(app)
    (chart,) = (
        one for one in app.get("plotly_chart") if one.proto.id.endswith("judge_reliability")
    )
    points = json.loads(chart.proto.spec)["data"][-1]
    assert points["x"] == pytest.approx([0.8])
    assert points["customdata"] == [calibration.hits]


def test_a_choice_that_is_kept_is_that_of_its_knowledge_base(labelled, open_page):
    _copy, job = labelled.duplicate("notes", "copy")
    labelled.jobs.run(job)
    app = open_page("metrics.py", kb="notes")
    app.checkbox(key="answers").check().run()
    app.sidebar.selectbox(key="kb").set_value("copy").run()
    assert app.checkbox(key="answers").value is False
    app.sidebar.selectbox(key="kb").set_value("notes").run()
    assert app.checkbox(key="answers").value is True
