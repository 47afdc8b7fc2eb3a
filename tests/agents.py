"""A scripted agent that tunes retrieval by the tools of MCP, as a model would be told to."""

from collections.abc import Mapping, Sequence
from typing import Any

WHY = "People say that recall is poor on tables."


async def call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed; return its structured result."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    value: dict[str, Any] = result.structured_content
    return value


async def tune(client: Any, ideas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Diagnose, try ideas and proposed fixes on the tuning questions, decide on the others, save.

    Returns what the agent reports: the verdict, the changes, and the hash that it saved, if any.
    """
    (base,) = (await call(client, "list_knowledge_bases"))["knowledge_bases"]
    (brief,) = base["question_sets"]
    questions = await call(client, "list_questions", limit=200)
    assert questions["total"] == len(questions["questions"]) == brief["tuning"]
    before = await call(client, "evaluate", reason=WHY, metric="recall@5")
    causes = await call(client, "diagnose", reason=WHY)
    known = {question["id"] for question in questions["questions"]}
    assert {question["id"] for question in causes["questions"]} <= known
    best, gain = None, 0.0
    for fields in (*ideas, *(fix["changes"] for fix in causes["fixes"])):
        tried = await call(client, "try_recipe", fields=fields, reason=WHY, metric="recall@5")
        if tried["differences"]["recall@5"] > gain:
            best, gain = fields, tried["differences"]["recall@5"]
    if best is None:
        return {"verdict": "no change is justified", "fields": None, "saved": None}
    after = await call(client, "evaluate", fields=best, reason=WHY, metric="recall@5")
    verdict = await call(
        client,
        "compare_runs",
        run=after["run"],
        baseline=before["run"],
        metric="recall@5",
        held_out=True,
        reason="The best of what I tried on the tuning questions.",
    )
    saved = None
    if verdict["verdict"] == "better":
        reason = f"Better on the held-out questions: {verdict['difference']:+.3f} recall@5."
        saved = (await call(client, "save_recipe", fields=best, reason=reason))["id"]
    return {"verdict": verdict["sentence"], "fields": best, "saved": saved, "decided": verdict}
