"""Writes the rankings of ``rankings.json`` as files of other tools, with these tools.

``python tests/golden/systems/make.py NAME ...`` in an environment that has them. The names, and
what to install for them:

- ``ragas``: ``ragas==0.4.3 langchain-community==0.3.31 pyarrow``
- ``deepeval``: ``deepeval==4.3.1``
- ``langfuse``: ``langfuse==5.0.4``
- ``openai``: ``openai==3.51.0``
- ``ranx``: ``ranx==0.3.21``

``made_by.json`` names what wrote each file.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent
DATA = json.loads((FOLDER / "rankings.json").read_text())
QUESTIONS = {item["id"]: item["text"] for item in DATA["questions"]}
RANKINGS = {QUESTIONS[name]: items for name, items in DATA["rankings"].items()}
NO_ANSWER = "-"


def ragas() -> list[str]:
    from ragas import EvaluationDataset

    dataset = EvaluationDataset.from_list(
        [
            {
                "user_input": question,
                "retrieved_contexts": [item["text"] for item in items],
                "retrieved_context_ids": [item["id"] for item in items],
                "response": NO_ANSWER,
            }
            for question, items in RANKINGS.items()
        ]
    )
    dataset.to_jsonl(FOLDER / "ragas.jsonl")
    dataset.to_csv(FOLDER / "ragas.csv")
    dataset.to_pandas().to_parquet(FOLDER / "ragas.parquet")
    return ["ragas.jsonl", "ragas.csv", "ragas.parquet"]


def deepeval() -> list[str]:
    from deepeval.dataset import EvaluationDataset, Golden
    from deepeval.test_case import LLMTestCase

    contexts = {question: [item["text"] for item in items] for question, items in RANKINGS.items()}
    cases = [
        LLMTestCase(input=question, actual_output=NO_ANSWER, retrieval_context=texts)
        for question, texts in contexts.items()
    ]
    rows = [case.model_dump(mode="json", exclude_none=True) for case in cases]
    (FOLDER / "deepeval.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    goldens = [
        Golden(input=question, retrieval_context=texts) for question, texts in contexts.items()
    ]
    dataset = EvaluationDataset(goldens=goldens)
    for kind in ("json", "csv", "jsonl"):
        dataset.save_as(kind, str(FOLDER), file_name="deepeval-goldens")
    return ["deepeval.json", *(f"deepeval-goldens.{kind}" for kind in ("json", "csv", "jsonl"))]


def langfuse() -> list[str]:
    """A page of observations as the API returns them."""
    from langfuse.api import ObservationsV2Response
    from langfuse.api.core.pydantic_utilities import parse_obj_as

    rows = [
        {
            "id": f"{kind.lower()}-{number}",
            "traceId": f"trace-{number}",
            "type": kind,
            "name": "search",
            "startTime": "2026-01-31T12:00:00.000Z",
            "endTime": "2026-01-31T12:00:01.000Z",
            "input": question,
            "output": [
                {"page_content": item["text"], "metadata": {"source": item["document"]}}
                for item in items
            ],
            "projectId": "project",
            "level": "DEFAULT",
            "environment": "production",
        }
        for number, (question, items) in enumerate(RANKINGS.items())
        for kind in ("CHAIN", "RETRIEVER")
    ]
    page = parse_obj_as(ObservationsV2Response, {"data": rows, "meta": {}})
    (FOLDER / "langfuse.json").write_text(f"{page.json()}\n")
    return ["langfuse.json"]


def openai() -> list[str]:
    """Pages of a search in a vector store, by question."""
    from openai.types import VectorStoreSearchResponse

    pages = {
        question: {
            "object": "vector_store.search_results.page",
            "search_query": [question],
            "data": [
                VectorStoreSearchResponse.model_validate(
                    {
                        "file_id": f"file-{item['id']}",
                        "filename": item["document"],
                        "score": item["score"],
                        "attributes": {},
                        "content": [{"type": "text", "text": item["text"]}],
                    }
                ).model_dump(mode="json")
                for item in items
            ],
            "has_more": False,
            "next_page": None,
        }
        for question, items in RANKINGS.items()
    }
    (FOLDER / "openai.json").write_text(json.dumps(pages, ensure_ascii=False, indent=1) + "\n")
    return ["openai.json"]


def ranx() -> list[str]:
    """The passages by their ids, as a run of TREC."""
    from ranx import Run

    run = {
        name: {item["id"]: item["score"] for item in items}
        for name, items in DATA["rankings"].items()
    }
    Run(run, name="other").save(str(FOLDER / "ranx.trec"), kind="trec")
    return ["ranx.trec"]


WRITERS = (ragas, deepeval, langfuse, openai, ranx)


if __name__ == "__main__":
    made_by: dict[str, str] = json.loads((FOLDER / "made_by.json").read_text())
    for write in WRITERS:
        if write.__name__ in sys.argv[1:]:
            named = f"{write.__name__} {version(write.__name__)}"
            made_by |= dict.fromkeys(write(), named)
    text = json.dumps(made_by, indent=1, sort_keys=True)
    (FOLDER / "made_by.json").write_text(text + "\n")
