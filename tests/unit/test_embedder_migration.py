"""Moving to another embedding model: costs, the check of stored vectors, and what is measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from rag import InvalidInput, InvalidRecipe, KnowledgeBase, NotFound, Recipe, Workspace
from rag.__main__ import main
from rag.documents import build_job
from rag.documents.ingestion import Ingestion
from rag.errors import ProviderUnavailable
from rag.evaluation.comparison import Comparison
from rag.jobs import Reporter
from rag.protocols import InputType
from rag.providers.hashing import HashingEmbedder
from rag.runs.evaluator import Evaluation, Evaluator
from rag.tuning import migration_job
from rag.types import Cost, Vectors
from tests.runs import SET, handbook
from tests.workspaces import add

Target = tuple[Workspace, KnowledgeBase, Recipe]


@pytest.fixture
def target(home: Path) -> Target:
    workspace, base = handbook(home)
    return workspace, base, base.tuning.migration.target("wordllama")


def test_the_target_differs_in_its_embedder_and_the_weight_that_suits_it(target: Target) -> None:
    _, base, recipe = target
    assert dict(base.recipe().differences(recipe)) == {
        "index.embedder": ("fake", "wordllama"),
        "search.dense_weight": (0.6, 0.35),
    }


def test_costs_count_what_is_not_embedded_yet(target: Target) -> None:
    workspace, base, recipe = target
    plan = base.tuning.migration.plan(recipe)
    passages = base.documents.builds()[0].passages
    assert plan.cost.passages == plan.cost.to_embed == passages
    assert plan.cost.bytes_before == passages * 64 * 4
    assert plan.cost.bytes_after == passages * 256 * 4
    assert plan.cost.tokens > 50
    assert plan.cost.price is None
    assert [step.state for step in plan.steps] == ["next", "later", "later", "later", "later"]
    workspace.jobs.run(base.documents.build(recipe.index))
    built = base.tuning.migration.plan(recipe)
    assert (built.cost.to_embed, built.cost.tokens) == (0, 0)
    assert [step.state for step in built.steps][:2] == ["done", "next"]


def test_vectors_of_another_model_are_found(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, base, recipe = target
    migration, passages = base.tuning.migration, base.documents.builds()[0].passages
    sound = migration.plan(recipe).check
    assert (sound.sampled, sound.foreign, sound.share[0]) == (passages, (), 0.0)

    embed = HashingEmbedder.embed

    def renewed(self: HashingEmbedder, texts: Sequence[str], input_type: InputType) -> Vectors:
        """The provider has another version of the model for texts about pumps."""
        vectors = embed(self, texts, input_type)
        pumps = ["pump" in text for text in texts]
        return np.where(np.array(pumps)[:, None], np.roll(vectors, 1, axis=1), vectors)

    monkeypatch.setattr(HashingEmbedder, "embed", renewed)
    check = migration.plan(recipe).check
    assert {item.document for item in check.foreign} == {"pump.txt"}
    assert all(item.cosine < 0.98 for item in check.foreign)
    assert check.share[0] > 0
    assert main(["migrate-embedder", "handbook", "wordllama", "--json"]) == 1
    with pytest.raises(InvalidInput, match="at least one vector"):
        migration.plan(recipe, 0)


def test_both_embedders_are_measured_and_compared(
    target: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    _, base, recipe = target
    arguments = ["migrate-embedder", "handbook", "wordllama", "--set", SET, "--json"]
    assert main(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    before, after = (base.runs.get(result["effect"][name]) for name in ("before", "after"))
    assert (before.recipe, after.recipe) == (base.recipe(), recipe)
    gain = after.metrics["ndcg@10"] - before.metrics["ndcg@10"]
    assert result["effect"]["difference"] == pytest.approx(gain)
    assert len(result["effect"]["questions"]) == 4
    assert result["recipe"] == recipe.model_dump(mode="json")
    assert [step["state"] for step in result["steps"]][:3] == ["done", "done", "next"]


def test_a_switch_keeps_the_measured_rankings_and_the_old_index_for_some_days(
    target: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    _, base, recipe = target
    old, verb = base.recipe().index.hash, ["migrate-embedder", "handbook", "wordllama"]
    assert main([*verb, "--switch"]) == 2
    assert main([*verb, "--set", SET, "--switch", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["parity"] == {"equal": 5, "questions": 5}
    assert result["cost"]["to_embed"] == result["cost"]["passages"] > 0
    assert result["seconds_measured"] > 0
    assert [step["state"] for step in result["steps"]] == ["done"] * 4 + ["next"]
    assert base.recipe() == recipe
    previous = base.tuning.embedder_switch.previous()
    assert previous is not None
    assert (previous.build_hash, previous.embedder) == (old, "fake")
    assert main([*verb, "--remove-old"]) == 2
    assert "The index of fake is kept until" in capsys.readouterr().err
    assert old in {build.hash for build in base.documents.builds()}
    assert main([*verb, "--remove-old", "--keep-days", "0"]) == 0
    assert {build.hash for build in base.documents.builds()} == {recipe.index.hash}
    assert main([*verb, "--remove-old", "--keep-days", "0"]) == 2


def test_a_worse_embedder_is_not_switched_to(
    target: Target, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, base, _ = target
    saved = base.recipe()
    monkeypatch.setattr(Comparison, "verdict", property(lambda _: "worse"))
    verb = ["migrate-embedder", "handbook", "wordllama", "--set", SET, "--switch"]
    assert main(verb) == 2
    assert "No switch: " in capsys.readouterr().err
    assert base.recipe() == saved
    assert main(verb[:-1]) == 0
    printed = capsys.readouterr().out
    assert "[>] Keep the saved recipe: wordllama is worse here.\n[ ] Delete the" in printed
    assert "Save the new recipe" not in printed


def test_the_price_of_a_listed_model_is_stated(target: Target) -> None:
    workspace, _, _ = target
    cost = workspace._services.models.embedding_cost("openai:text-embedding-3-small", 500_000)
    assert cost == Cost(0.01, "USD")


def test_the_present_and_unknown_embedders_are_refused(target: Target) -> None:
    _, base, _ = target
    with pytest.raises(InvalidInput, match="uses fake already"):
        base.tuning.migration.target("fake")
    with pytest.raises(InvalidRecipe, match="nonsense"):
        base.tuning.migration.target("nonsense")


def test_a_job_measures_the_move_and_keeps_its_costs(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, base, recipe = target
    told, report = list[tuple[int, int]](), Reporter.report

    def recorded(self: Reporter, done: int, total: int, *more: Any) -> None:
        told.append((done, total))
        report(self, done, total, *more)

    monkeypatch.setattr(Reporter, "report", recorded)
    migrations, saved = base.tuning.migrations, base.recipe()
    assert migrations.result() is None
    job = migrations.start(SET, recipe)
    assert migrations.start(SET, recipe) == job
    done = workspace.jobs.run(job)
    assert done.status == "done"
    assert told == sorted(told)
    assert told[0] == (0, 0)
    assert {total for _, total in told[1:]} == {10_000}
    assert 0 < told[-1][0] < 10_000
    measured = migrations.result()
    assert measured is not None
    assert (measured.plan.before, measured.plan.after) == (saved, recipe)
    assert measured.plan.cost.to_embed == measured.plan.cost.passages > 0
    assert [step.state for step in measured.plan.steps] == ["done"] * 2 + ["next"] + ["later"] * 2
    effect = migrations.effect(measured)
    assert (effect.baseline.recipe, effect.run.recipe) == (saved, recipe)
    assert done.message == effect.figures.headline
    assert migrations.is_current(measured)
    assert migrations.parity(measured) is None
    assert base.recipe() == saved
    add(workspace, base, {"new.txt": "A new page."})
    assert not migrations.is_current(measured)


def test_a_job_that_is_taken_up_keeps_the_measured_runs(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, base, recipe = target
    job, evaluate = base.tuning.migrations.start(SET, recipe), Evaluator.evaluate
    recipes = list[Recipe]()

    def killed(self: Evaluator, name: str, measured: Recipe, **options: Any) -> Evaluation:
        recipes.append(measured)
        if len(recipes) == 2:
            raise KeyboardInterrupt
        return evaluate(self, name, measured, **options)

    monkeypatch.setattr(Evaluator, "evaluate", killed)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run(job)
    with workspace._services.database.write() as connection:
        connection.execute(text("UPDATE job SET status = 'queued', lease = NULL"))
    assert workspace.jobs.run(job).status == "done"
    assert recipes == [base.recipe(), recipe, recipe]
    assert len(base.runs.list_all()) == 2


def test_a_build_that_is_taken_up_keeps_its_costs_and_its_time(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, base, recipe = target
    clock, complete = SimpleNamespace(seconds=0.0), Ingestion.complete
    monkeypatch.setattr(migration_job, "time", SimpleNamespace(monotonic=lambda: clock.seconds))
    monkeypatch.setattr(build_job, "_GROUP", 1)

    def killed(self: Ingestion, *arguments: Any) -> None:
        if clock.seconds == 10:
            clock.seconds = 1000
            raise KeyboardInterrupt
        complete(self, *arguments)
        clock.seconds += 10

    monkeypatch.setattr(Ingestion, "complete", killed)
    job = base.tuning.migrations.start(SET, recipe)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run(job)
    with workspace._services.database.write() as connection:
        connection.execute(text("UPDATE job SET status = 'queued', lease = NULL"))
    assert base.tuning.migrations.result() is None
    assert workspace.jobs.run(job).status == "done"
    measured = base.tuning.migrations.result()
    assert measured is not None
    assert measured.plan.cost.to_embed == measured.plan.cost.passages > 0
    assert measured.seconds == 10 * len(base.documents.documents(recipe.index))


def test_the_switch_is_saved_and_its_rankings_are_compared(target: Target) -> None:
    workspace, base, recipe = target
    migrations = base.tuning.migrations
    with pytest.raises(NotFound, match="No move"):
        migrations.switch()
    workspace.jobs.run(migrations.start(SET, recipe))
    job = migrations.switch()
    assert base.recipe() == recipe
    switched = migrations.result()
    assert switched is not None
    assert [step.state for step in switched.plan.steps] == ["done"] * 3 + ["next", "later"]
    assert workspace.jobs.run(job).message == "5 of 5 rankings are those measured."
    parity, compared = migrations.parity(switched), migrations.result()
    assert parity is not None
    assert compared is not None
    assert (parity.equal, parity.questions, parity.runs[1]) == (5, 5, switched.runs[1])
    assert [step.state for step in compared.plan.steps] == ["done"] * 4 + ["next"]
    with pytest.raises(InvalidInput, match="saved meanwhile"):
        migrations.switch()


def test_a_move_that_is_worse_or_of_another_recipe_is_not_switched_to(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, base, recipe = target
    migrations = base.tuning.migrations
    workspace.jobs.run(migrations.start(SET, recipe))
    with monkeypatch.context() as patched:
        patched.setattr(Comparison, "verdict", property(lambda _: "worse"))
        with pytest.raises(InvalidInput, match="No switch: "):
            migrations.switch()
    edited = base.recipe().with_fields({"search.top_k": 7})
    base.save_recipe(edited)
    with pytest.raises(InvalidInput, match="saved meanwhile"):
        migrations.switch()
    assert base.recipe() == edited


def test_what_cannot_be_measured_is_refused_before_a_job(target: Target) -> None:
    _, base, recipe = target
    migrations = base.tuning.migrations
    with pytest.raises(InvalidInput, match="at least one vector"):
        migrations.start(SET, recipe, 0)
    with pytest.raises(NotFound, match="nowhere"):
        migrations.start("nowhere", recipe)
    with pytest.raises(InvalidInput, match="uses fake already"):
        migrations.start(SET, base.recipe())
    base.save_recipe(base.recipe().with_fields({"index.chunk_size": 12}))
    with pytest.raises(InvalidInput, match="3 documents are not in the present index"):
        migrations.start(SET, recipe)
    assert migrations.latest() is None


def test_an_embedder_that_fails_is_named_and_nothing_changes(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, base, recipe = target
    saved, model = base.recipe(), workspace._services.models.embedder("wordllama")

    def down(texts: Sequence[str], input_type: InputType) -> Vectors:
        raise ProviderUnavailable("The provider does not answer.", "Try again.")

    monkeypatch.setattr(type(model), "embed", lambda _self, *given: down(*given))
    job = workspace.jobs.run(base.tuning.migrations.start(SET, recipe))
    assert job.status == "failed"
    assert "The provider does not answer." in job.message
    assert (base.recipe(), base.runs.list_all()) == (saved, [])
