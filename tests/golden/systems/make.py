"""Writes the same rankings as files of other tools, with these tools where they are installed.

``python tests/golden/systems/make.py`` needs ``ragas``, ``deepeval``, ``langchain-core`` and
``pyarrow``, in an environment of its own. Files of Langfuse and Phoenix have the shapes that are
documented.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RANKINGS: dict[str, list[str]] = dict(json.loads((FOLDER / "rankings.json").read_text()))


def ragas() -> None:
    from ragas import EvaluationDataset

    dataset = EvaluationDataset.from_list(
        [
            {"user_input": question, "retrieved_contexts": texts, "response": "-"}
            for question, texts in RANKINGS.items()
        ]
    )
    dataset.to_jsonl(FOLDER / "ragas.jsonl")
    dataset.to_csv(FOLDER / "ragas.csv")


def deepeval() -> None:
    from deepeval.test_case import LLMTestCase

    cases = [
        LLMTestCase(input=question, actual_output="-", retrieval_context=texts)
        for question, texts in RANKINGS.items()
    ]
    rows = [case.model_dump(mode="json", exclude_none=True) for case in cases]
    (FOLDER / "deepeval.json").write_text(json.dumps(rows, indent=1))


def langsmith() -> None:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tracers.base import BaseTracer

    class Ranked(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(page_content=text, metadata={}) for text in RANKINGS[query]]

    lines = list[str]()

    class Lines(BaseTracer):
        def _persist_run(self, run: Any) -> None:
            kept = run.model_dump(mode="json") if hasattr(run, "model_dump") else run.dict()
            names = ("id", "name", "start_time", "run_type", "inputs", "outputs", "trace_id")
            lines.append(json.dumps({name: kept.get(name) for name in names}, default=_plain))

    tracer = Lines()
    for question in RANKINGS:
        Ranked().invoke(question, config={"callbacks": [tracer]})
    (FOLDER / "langsmith.jsonl").write_text("\n".join(lines) + "\n")


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)


def langfuse() -> None:
    rows = [
        {
            "id": f"o{place}",
            "traceId": f"t{place}",
            "type": kind,
            "startTime": "2026-01-31T12:00:00.000Z",
            "input": json.dumps({"query": question}),
            "output": json.dumps([{"content": text} for text in texts]),
        }
        for place, (question, texts) in enumerate(RANKINGS.items())
        for kind in ("GENERATION", "RETRIEVER")
    ]
    (FOLDER / "langfuse.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def phoenix() -> None:
    import pyarrow
    from pyarrow import parquet

    rows = [
        {
            "name": "retrieve",
            "span_kind": "RETRIEVER",
            "context.trace_id": f"t{place}",
            "attributes.input.value": question,
            "attributes.retrieval.documents": [
                {"document.content": text, "document.score": 1 / rank}
                for rank, text in enumerate(texts, start=1)
            ],
        }
        for place, (question, texts) in enumerate(RANKINGS.items())
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), FOLDER / "phoenix.parquet")


if __name__ == "__main__":
    for write in (ragas, deepeval, langsmith, langfuse, phoenix):
        write()
