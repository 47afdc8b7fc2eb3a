"""The search of the sample, asked through REST, its compatible forms and MCP: parity of rankings.

``python -m rag bench --only own_parity`` builds the sample and serves it. The questions are those
of the sample.
"""

import tempfile
from collections.abc import Collection
from pathlib import Path

from rag import SAMPLE, SCOPES, Settings, Workspace, system_of
from rag.systems.evaluate_job import ask_all
from rag.systems.registry import ask_once
from tests.api import served

FORMS = {"touchstone": "", "dify-external": "/api/v1", "openai": "/api/v1", "mcp": "/mcp"}
_DEPTH = 10


def measure(
    _folder: Path, *, forms: Collection[str] = tuple(FORMS), most: int | None = None
) -> dict[str, float]:
    """By form: the questions, the share with the same first ten passages, and the mean overlap."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        variables = {"TOUCHSTONE_ALLOW_PRIVATE_URLS": "1", "TOUCHSTONE_API_RATE": "1000000"}
        first = Workspace(Settings.from_env(variables, home=Path(folder) / "home"))
        _, job = first.start_demo()
        first.jobs.run(job)
        secret, _ = first.access.tokens.create("bench", SCOPES)
        first.close()
        variables["TOUCHSTONE_TOOL_OWN"] = secret
        workspace = Workspace(Settings.from_env(variables, home=Path(folder) / "home"))
        base = workspace.base(SAMPLE)
        base.save_recipe(base.recipe().with_fields({"search.top_k": _DEPTH}))
        own = base.evaluator.evaluate(SAMPLE, base.recipe()).run
        questions = base.systems.questions(SAMPLE)[:most]
        with served(workspace) as url:
            for form in forms:
                place = f"{url}{FORMS[form]}", SAMPLE, _DEPTH, "TOUCHSTONE_TOOL_OWN"
                system = system_of(form, form, *place).model_copy(update={"seconds": 60.0})
                asked = ask_all(
                    lambda question, system=system: ask_once(base._services, system, question),
                    questions,
                    lambda _done, _total: None,
                )
                assert not asked.errors, asked.errors
                stored = base.systems.add(system)
                run = base.systems.evaluate(SAMPLE, asked.retrievals, stored.source)
                parity = base.runs.parity(run.evaluation.run.id, own.id, _DEPTH)
                figures[f"{form} | questions"] = float(len(parity.questions))
                figures[f"{form} | same"] = parity.equal / len(parity.questions)
                figures[f"{form} | overlap"] = parity.overlap
        workspace.close()
    return figures
