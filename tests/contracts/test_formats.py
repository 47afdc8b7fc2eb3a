"""The same rankings have the same metrics in every format, and those of ir_measures."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import ir_measures
import pandas
import pytest
from ir_measures import RR, P, R, nDCG
from langchain_core.tracers.base import BaseTracer
from mcp.server.mcpserver import MCPServer

from rag import HitData
from rag.__main__ import main
from rag.api.resources.compatible import RecordData, RecordsData
from tests.api import serving
from tests.ranked_texts import (
    BASE,
    FOLDER,
    QUESTIONS,
    RANKINGS,
    SET,
    is_elsewhere,
    prepare,
    qrels,
    ranking,
)
from tests.servers import Reply, scripted
from tests.workspaces import fill_home, workspace_at

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "systems.md"
MADE_BY: Mapping[str, str] = json.loads((FOLDER / "made_by.json").read_text())
"""The package, with its version, that wrote a file."""
MEASURES = {"ndcg@10": nDCG @ 10, "mrr@10": RR @ 10, "precision@5": P @ 5, "recall@10": R @ 10}


@dataclass(frozen=True)
class Product:
    """The commands of the product, on a home that has the base."""

    home: Path
    output: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> dict[str, Any]:
        assert main([*arguments, "--json"]) == 0
        printed: dict[str, Any] = json.loads(self.output.readouterr().out)
        return printed

    def evaluate(self, option: str, value: str) -> dict[str, Any]:
        return self.run("evaluate", BASE, SET, option, value)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("formats") / "home"
    home.mkdir()
    fill_home(home, prepare)
    return home


@pytest.fixture
def product(
    filled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Product:
    monkeypatch.setenv("TOUCHSTONE_HOME", str(filled))
    monkeypatch.setenv("TOUCHSTONE_ALLOW_PRIVATE_URLS", "1")
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    return Product(filled, capsys)


Import = Callable[[Product, Path], dict[str, Any]]
"""Brings the rankings in, and measures them."""


def file(name: str) -> Import:
    return lambda product, _folder: product.evaluate("--returned", str(FOLDER / name))


def retriever(name: str) -> Import:
    return lambda product, _folder: product.evaluate("--callable", f"tests.retrievers:{name}")


def endpoint(form: str, answer: Callable[[str], str]) -> Import:
    """A server that answers in this form; ``answer`` writes what it says of a question."""

    def measured(product: Product, _folder: Path) -> dict[str, Any]:
        with scripted() as server:
            server.reply_to = lambda _path: Reply(body=answer(_asked(server.requests[-1])))
            return _system(product, form, server.url)

    return measured


def _asked(request: Mapping[str, Any]) -> str:
    question = request.get("query", request.get("question"))
    assert isinstance(question, str)
    return question


def _system(product: Product, form: str, address: str) -> dict[str, Any]:
    named = ("--form", form, "--address", address, "--collection", BASE, "--most", "20")
    product.run("systems", BASE, "add", form, *named)
    return product.evaluate("--system", form)


def phoenix(kind: str) -> Import:
    """Spans in the columns of a dataframe of Phoenix."""

    def measured(product: Product, folder: Path) -> dict[str, Any]:
        frame = pandas.DataFrame(
            [
                {
                    "context.span_id": question,
                    "context.trace_id": question,
                    "name": "retrieve",
                    "span_kind": "RETRIEVER",
                    "start_time": pandas.Timestamp("2026-01-31T12:00:00Z"),
                    "attributes.input.value": QUESTIONS[question],
                    "attributes.retrieval.documents": [
                        {
                            "document.content": item.text,
                            "document.id": item.id,
                            "document.score": item.score,
                            "document.metadata": {"source": item.document},
                        }
                        for item in items
                    ],
                }
                for question, items in RANKINGS.items()
            ]
        ).set_index("context.span_id")
        path = folder / f"phoenix.{kind}"
        if kind == "parquet":
            frame.to_parquet(path)
        elif kind == "csv":
            frame.to_csv(path)
        else:
            frame.to_json(path, orient="records", lines=True, date_format="iso")
        return product.evaluate("--returned", str(path))

    return measured


def langsmith(product: Product, folder: Path) -> dict[str, Any]:
    """Runs as LangChain hands them to LangSmith."""
    from tests import retrievers

    lines = list[str]()

    class Lines(BaseTracer):
        def _persist_run(self, run: Any) -> None:
            lines.append(run.model_dump_json())

    for question in QUESTIONS.values():
        retrievers.langchain.invoke(question, config={"callbacks": [Lines()]})
    (folder / "runs.jsonl").write_text("\n".join(lines))
    return product.evaluate("--returned", str(folder / "runs.jsonl"))


def dify_external(question: str) -> str:
    records = [
        RecordData(content=item.text, score=item.score, title=item.document, metadata={})
        for item in ranking(question)
    ]
    return RecordsData(records=records).model_dump_json()


def dify_dataset(question: str) -> str:
    records = [
        {
            "segment": {
                "id": item.id,
                "content": item.text,
                "document": {"id": item.document, "name": item.document},
            },
            "score": item.score,
        }
        for item in ranking(question)
    ]
    return json.dumps({"query": {"content": question}, "records": records})


def openai(question: str) -> str:
    pages: Mapping[str, Any] = json.loads((FOLDER / "openai.json").read_text())
    return json.dumps(pages[question])


def ragflow(question: str) -> str:
    chunks = [
        {
            "id": item.id,
            "content": item.text,
            "similarity": item.score,
            "document_keyword": item.document,
        }
        for item in ranking(question)
    ]
    return json.dumps({"code": 0, "data": {"chunks": chunks, "total": len(chunks)}})


def touchstone(question: str) -> str:
    hits = [
        {
            "rank": rank,
            "chunk_id": item.id,
            "document": item.document,
            "relevance": item.score,
            "text": item.text,
        }
        for rank, item in enumerate(ranking(question), start=1)
    ]
    assert all(hit.keys() <= HitData.model_fields.keys() for hit in hits)
    return json.dumps({"hits": hits})


def mcp(product: Product, _folder: Path) -> dict[str, Any]:
    """A server of the SDK, whose search leaves texts to be fetched."""
    server: MCPServer[Any] = MCPServer("search", log_level="WARNING")
    texts = {item.id: item.text for items in RANKINGS.values() for item in items}

    @server.tool()
    def search(query: str, knowledge_base: str) -> dict[str, Any]:
        assert knowledge_base == BASE
        found = ranking(query)
        return {"results": [{"id": item.id, "title": item.document, "url": ""} for item in found]}

    @server.tool()
    def fetch(id: str) -> dict[str, Any]:
        return {"id": id, "text": texts[id]}

    with serving(server.streamable_http_app(stateless_http=True)) as url:
        return _system(product, "mcp", f"{url}/mcp")


@dataclass(frozen=True)
class Format:
    """``package`` wrote the results, which carry texts or ids, and perhaps scores."""

    bring_in: Import
    package: str
    carries: str
    command: str


FILE = "`evaluate --returned FILE`"
CALLABLE = "`evaluate --callable MODULE:NAME`"
SYSTEM = "`evaluate --system NAME`"
TEXTS, SCORES = "texts", "texts, scores"
DOCUMENTED, PYTHON = "as documented", "Python"


def installed(package: str) -> str:
    return f"{package} {version(package)}"


def made(name: str) -> Format:
    """A file that lies beside the rankings."""
    return Format(file(name), MADE_BY[name], TEXTS, FILE)


FORMATS: Mapping[str, Format] = {
    "TREC run": Format(file("ranx.trec"), MADE_BY["ranx.trec"], "ids, scores", FILE),
    "Ragas dataset, JSONL": made("ragas.jsonl"),
    "Ragas dataset, CSV": made("ragas.csv"),
    "Ragas dataset, Parquet": made("ragas.parquet"),
    "DeepEval test cases, JSON": made("deepeval.json"),
    "DeepEval dataset, JSON": made("deepeval-goldens.json"),
    "DeepEval dataset, JSONL": made("deepeval-goldens.jsonl"),
    "DeepEval dataset, CSV": made("deepeval-goldens.csv"),
    "Langfuse observations": made("langfuse.json"),
    "LangSmith runs": Format(langsmith, installed("langchain-core"), TEXTS, FILE),
    "Phoenix dataframe, Parquet": Format(phoenix("parquet"), installed("pandas"), SCORES, FILE),
    "Phoenix dataframe, JSONL": Format(phoenix("jsonl"), installed("pandas"), SCORES, FILE),
    "Phoenix dataframe, CSV": Format(phoenix("csv"), installed("pandas"), SCORES, FILE),
    "LangChain retriever": Format(
        retriever("langchain"), installed("langchain-core"), TEXTS, CALLABLE
    ),
    "LlamaIndex retriever": Format(
        retriever("llama_index"), installed("llama-index-core"), SCORES, CALLABLE
    ),
    "Haystack retriever": Format(retriever("haystack"), installed("haystack-ai"), SCORES, CALLABLE),
    "Haystack pipeline in a function": Format(
        retriever("haystack_pipeline"), installed("haystack-ai"), SCORES, CALLABLE
    ),
    "function, texts": Format(retriever("texts"), PYTHON, TEXTS, CALLABLE),
    "function, tuples": Format(retriever("scored_texts"), PYTHON, SCORES, CALLABLE),
    "`dify-external`": Format(
        endpoint("dify-external", dify_external), "Touchstone", SCORES, SYSTEM
    ),
    "`dify-dataset`": Format(endpoint("dify-dataset", dify_dataset), DOCUMENTED, SCORES, SYSTEM),
    "`openai`": Format(endpoint("openai", openai), MADE_BY["openai.json"], SCORES, SYSTEM),
    "`ragflow`": Format(endpoint("ragflow", ragflow), DOCUMENTED, SCORES, SYSTEM),
    "`touchstone`": Format(endpoint("touchstone", touchstone), "Touchstone", SCORES, SYSTEM),
    "`mcp`": Format(mcp, installed("mcp"), TEXTS, SYSTEM),
}


@pytest.fixture(scope="module")
def expected() -> Mapping[str, Mapping[str, float]]:
    """The metrics of each question by ir_measures."""
    names = {measure: name for name, measure in MEASURES.items()}
    run = {
        question: {item.id: item.score for item in items} for question, items in RANKINGS.items()
    }
    metrics: dict[str, dict[str, float]] = {}
    for metric in ir_measures.iter_calc(list(names), qrels(), run):
        metrics.setdefault(metric.query_id, {})[names[metric.measure]] = metric.value
    return metrics


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_rankings_have_the_same_metrics(name, product, tmp_path, expected):
    measured = FORMATS[name].bring_in(product, tmp_path)
    workspace = workspace_at(product.home)
    results = workspace.base(BASE).runs.results(measured["run"])
    workspace.close()
    metrics = {
        result.question_id: {metric: result.metrics[metric] for metric in MEASURES}
        for result in results
    }
    assert metrics == expected
    for metric in MEASURES:
        mean = fmean(figures[metric] for figures in expected.values())
        assert measured["metrics"][metric] == pytest.approx(mean, rel=1e-15)
    for result in results:
        items = RANKINGS[result.question_id]
        names = ["" if name.startswith("foreign:") else name for name, *_ in result.ranking]
        assert names == ["" if is_elsewhere(item) else item.id for item in items]
        scores = [item.score for item in items]
        if "scores" not in FORMATS[name].carries:
            scores = [1 / rank for rank in range(1, len(items) + 1)]
        assert [score for _, score, _ in result.ranking] == scores


def test_the_documentation_has_the_table_of_formats():
    rows = [
        f"| {name} | {item.package} | {item.carries} | {item.command} | yes |"
        for name, item in FORMATS.items()
    ]
    assert "\n".join(rows) in DOCS.read_text(), "\n" + "\n".join(rows)
