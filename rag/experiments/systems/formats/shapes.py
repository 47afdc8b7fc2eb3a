"""Rows of other tools as retrievals: a function for each shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rag.errors import InvalidFile
from rag.evaluation.formats.fields import json_value
from rag.experiments.systems.formats.tables import Returned, ReturnedText, Row
from rag.input_rules import storable
from rag.providers.http_tools import compiled, number_of

Shape = Callable[[Row], tuple[str, Returned] | None]
"""From a row to the time of a retrieval and what it returned; None for rows of another kind."""

MOST_TEXTS = 1000
"""Results of a question that are read."""
LONGEST_TEXT = 1_000_000
_LONGEST_VALUE, _MOST_VALUES = 500, 20
TEXTS = ("page_content", "content", "text", "document.content", "context", "chunk", "snippet")
LISTS = (
    *("documents", "results", "records", "data", "hits", "chunks", "nodes", "contexts"),
    *("context", "source_documents"),
)
_DEEPEVAL_SEPARATOR = "|"  # of the texts in a cell of CSV
_QUESTIONS = ("query", "question", "input", "user_input", "text", "value")
_TRACES = ("context.trace_id", "traceId", "trace_id")
_PARENTS = ("parent_id", "parentObservationId", "parent_observation_id", "parent_run_id")
_INPUTS = ("attributes.input.value", "input", "inputs")
TITLES = (
    *("title", "source", "file_name", "filename", "file_path"),
    *("document_name", "document.name", "name"),
)


@dataclass(frozen=True, slots=True)
class Paths:
    """JMESPath expressions: ``texts`` is a list of strings or of objects; ``text`` is in these."""

    question: str
    texts: str
    text: str = ""
    score: str = ""
    id: str = ""


def fits(form: str, values: Mapping[str, Any]) -> bool:
    """Whether a row is of this form."""
    return _SIGNS[form](values)


def _ragas(row: Row) -> tuple[str, Returned] | None:
    values = row.values
    question = values.get("user_input", values.get("question"))
    if isinstance(question, list):
        raise InvalidFile(
            f"{row.place} is a conversation, which has no single question.",
            "Import samples of one turn.",
        )
    texts = values.get("retrieved_contexts", values.get("contexts"))
    ids = _list(values.get("retrieved_context_ids"))
    references = tuple(_words(item) for item in _list(values.get("reference_contexts")))
    question_id = _words(values.get("id"))
    return "", retrieval(
        row, question, texts, ids=ids, references=references, question_id=question_id
    )


def _deepeval(row: Row) -> tuple[str, Returned] | None:
    values = row.values
    texts = _parsed(values.get("retrieval_context", values.get("retrievalContext")))
    if isinstance(texts, str) and texts:
        texts = texts.split(_DEEPEVAL_SEPARATOR)
    return "", retrieval(row, values.get("input"), texts)


def _langfuse(row: Row) -> tuple[str, Returned] | None:
    values = row.values
    if values.get("type") != "RETRIEVER":
        return None
    trace = values.get("traceId", values.get("trace_id"))
    started = _words(values.get("startTime", values.get("start_time")))
    return started, retrieval(row, values.get("input"), values.get("output"), trace=_words(trace))


def _langsmith(row: Row) -> tuple[str, Returned] | None:
    values = row.values
    if values.get("run_type") != "retriever":
        return None
    return _words(values.get("start_time")), retrieval(
        row, values.get("inputs"), values.get("outputs"), trace=_words(values.get("trace_id"))
    )


def _phoenix(row: Row) -> tuple[str, Returned] | None:
    values = row.values
    texts, question = (
        values.get(f"attributes.{name}") for name in ("retrieval.documents", "input.value")
    )
    if texts is None or not (texts or question_of(question)):
        return None  # without either, a step within a retrieval, as those of LlamaIndex
    trace = _words(values.get("context.trace_id"))
    return _words(values.get("start_time")), retrieval(row, question, texts, trace=trace)


def of_paths(paths: Paths) -> Shape:
    """The shape that JMESPath expressions describe. Raises InvalidInput for a bad expression."""
    compiled_paths = {name: compiled(getattr(paths, name)) for name in Paths.__slots__}

    def shape(row: Row) -> tuple[str, Returned] | None:
        values = {key: _parsed(value) for key, value in row.values.items()}
        texts = [
            {
                name: compiled_paths[name](item)
                for name in ("text", "score", "id")
                if getattr(paths, name)
            }
            if isinstance(item, dict) and paths.text
            else item
            for item in _list(compiled_paths["texts"](values))
        ]
        return "", retrieval(row, compiled_paths["question"](values), texts)

    return shape


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "ragas": _ragas,
        "deepeval": _deepeval,
        "langfuse": _langfuse,
        "langsmith": _langsmith,
        "phoenix": _phoenix,
    }
)
_SIGNS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = MappingProxyType(
    {
        "ragas": lambda values: (
            {"user_input", "retrieved_contexts"} <= values.keys()
            or {"question", "contexts"} <= values.keys()
        ),
        "deepeval": lambda values: (
            "input" in values and bool({"retrieval_context", "retrievalContext"} & values.keys())
        ),
        "langfuse": lambda values: (
            values.get("type") == "RETRIEVER" and {"input", "output"} <= values.keys()
        ),
        "langsmith": lambda values: values.get("run_type") == "retriever",
        "phoenix": lambda values: "attributes.retrieval.documents" in values,
    }
)


def retrieval(
    row: Row,
    question: Any,
    texts: Any,
    *,
    ids: list[Any] | None = None,
    references: tuple[str, ...] = (),
    trace: str = "",
    question_id: str = "",
) -> Returned:
    """Return what a row says of a retrieval. Raises InvalidFile without a question or texts."""
    words = question_of(question)
    if not words:
        raise InvalidFile(f"{row.place} has no question.", "Name the paths of a file of your own.")
    items = results_of(texts)
    if items is None:
        raise InvalidFile(
            f"{row.place} has no list of texts.", "Name the paths of a file of your own."
        )
    results = [result_of(item) for item in items[:MOST_TEXTS]]
    for place, name in enumerate((ids or [])[: len(results)]):
        item = results[place]
        results[place] = ReturnedText(
            item.text, item.score, _words(name), item.title, item.metadata
        )
    return Returned(
        words,
        tuple(results),
        question_id=question_id,
        trace=trace,
        references=tuple(filter(None, references)),
    )


def requests_of(rows: Iterable[Row]) -> dict[str, str]:
    """Return the question of the first span without a parent, by trace."""
    requests = dict[str, str]()
    for values in (row.values for row in rows):
        trace = next((words for name in _TRACES if (words := _words(values.get(name)))), "")
        if trace and not any(values.get(name) for name in _PARENTS):
            asked = next((values[name] for name in _INPUTS if values.get(name)), "")
            if question := question_of(asked):
                requests.setdefault(trace, question)
    return requests


def question_of(value: Any) -> str:
    """Return the words of a question: a string, or the string of an object that it is in; or ""."""
    value = _parsed(value)
    if isinstance(value, Mapping):
        named = [value[name] for name in _QUESTIONS if isinstance(value.get(name), str)]
        value = named[0] if named else next(iter(value.values()), "") if len(value) == 1 else ""
    return _words(value).strip() if isinstance(value, str) else ""


def results_of(value: Any) -> list[Any] | None:
    """Return the results in a value: a list, or the list of a mapping; None where it has none."""
    value = _parsed(value)
    if isinstance(value, Mapping):
        value = _list_in(value)
    if value in (None, ""):
        return []
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) else None


def _list_in(value: Mapping[str, Any]) -> Any:
    """Return the list of results in a mapping, or in a mapping within it, as pipelines return."""
    for part in (value, *(item for item in value.values() if isinstance(item, Mapping))):
        for name in LISTS:
            if isinstance(part.get(name), list):
                return part[name]
    return next((item for item in value.values() if isinstance(item, list)), None)


def result_of(item: Any) -> ReturnedText:
    """Return one result, from a string or a mapping of any of the usual shapes.

    A string that is JSON is a result in JSON if it has a text, or else itself the text.
    """
    parsed = _parsed(item)
    if not isinstance(parsed, Mapping) or (isinstance(item, str) and not _has_text(parsed)):
        return ReturnedText(_words(item))
    item = parsed
    if isinstance(item.get("document"), Mapping):
        item = {**item["document"], **item}
    elif isinstance(item.get("node"), Mapping):
        item = {**item["node"], **item}
    text = next((item[name] for name in TEXTS if item.get(name)), "")
    metadata = item.get("metadata", item.get("document.metadata"))
    metadata = _parsed(metadata)
    metadata = metadata if isinstance(metadata, Mapping) else {}
    named = [
        place[name] for place in (item, metadata) for name in TITLES if _words(place.get(name))
    ]
    name = item.get("id") or item.get("document.id") or item.get("document_id") or item.get("id_")
    return ReturnedText(
        _words(text),
        number_of(item.get("score", item.get("document.score"))),
        _words(name)[:_LONGEST_VALUE],
        _words(named[0])[:_LONGEST_VALUE] if named else "",
        {
            _words(key)[:_LONGEST_VALUE]: _words(value)[:_LONGEST_VALUE]
            for key, value in list(metadata.items())[:_MOST_VALUES]
            if _words(value)
        },
    )


def _has_text(item: Mapping[str, Any]) -> bool:
    inner = (item.get("document"), item.get("node"))
    return any(
        isinstance(part.get(name), str)
        for part in (item, *(part for part in inner if isinstance(part, Mapping)))
        for name in TEXTS
    )


def _parsed(value: Any) -> Any:
    """Return the value of a text that is a JSON list or object, else the value itself."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json_value(value)
        except ValueError:
            return value
    return value


def _list(value: Any) -> list[Any]:
    value = _parsed(value)
    return value if isinstance(value, list) else []


def _words(value: Any) -> str:
    if value is None or isinstance(value, bool | Mapping | list):
        return ""
    return storable(str(value)[:LONGEST_TEXT])
