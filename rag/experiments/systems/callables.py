"""Retrievers in Python: functions, and the objects of LangChain, LlamaIndex and Haystack.

Retrievers are recognised by their methods and results. None of these packages is imported.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rag.errors import InvalidInput, TouchstoneError
from rag.experiments.systems.formats.shapes import result_of, results_of
from rag.experiments.systems.formats.tables import Returned
from rag.input_rules import storable
from rag.types import ProgressCallback, Question
from rag.types.results import SystemSource

_METHODS = ("invoke", "retrieve", "run", "get_relevant_documents")
_PAIR, _TRIPLE = 2, 3


class FailedRetrieval(TouchstoneError):
    """A retriever raised an error, or returned no list of results."""


def retriever(name: str) -> Callable[[str], Any]:
    """Return the function that ``package.module:name`` names, or the method of that object.

    Importing the module runs its code. Raises InvalidInput.
    """
    module, _, attribute = name.partition(":")
    hint = "Name it as package.module:name. The current folder is searched too."
    if not module or not attribute:
        raise InvalidInput(f"{name!r} names no function.", hint)
    try:
        target: Any = importlib.import_module(module)
        for part in attribute.split("."):
            target = getattr(target, part)
    except Exception as error:
        raise InvalidInput(f"{name!r} cannot be imported: {error!r}.", hint) from error
    for method in _METHODS:
        if callable(getattr(target, method, None)):
            return _of_method(getattr(target, method), method)
    if not callable(target):
        raise InvalidInput(f"{name!r} is neither a function nor a retriever.", hint)
    call: Callable[[str], Any] = target
    return call


def callable_source(name: str) -> SystemSource:
    """The source of a run that ``name`` was measured in: the hash is of it and of its module."""
    module = sys.modules.get(name.partition(":")[0])
    file = getattr(module, "__file__", None)
    code = Path(file).read_bytes() if file and Path(file).is_file() else b""
    return SystemSource("callable", name, hashlib.sha256(name.encode() + code).hexdigest())


def _of_method(call: Callable[..., Any], method: str) -> Callable[[str], Any]:
    return (lambda question: call(query=question)) if method == "run" else call


def ask_callable(
    call: Callable[[str], Any],
    questions: list[Question],
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> tuple[tuple[Returned, ...], dict[str, str]]:
    """Ask a retriever every question; return what it returned, and the errors by question id.

    A question that fails does not end the others.
    Raises FailedRetrieval if all fail.
    """
    retrievals, errors = list[Returned](), dict[str, str]()
    for place, question in enumerate(questions):
        on_progress(place, len(questions))
        try:
            retrievals.append(_retrieval(call(question.text), question))
        except Exception as error:
            errors[question.id] = storable(f"{type(error).__name__}: {error}")[:500]
    if questions and not retrievals:
        raise FailedRetrieval(
            f"The retriever failed for all {len(questions):,} questions. "
            f"First: {next(iter(errors.values()))}.",
            "Call it with one question in Python first.",
        )
    return tuple(retrievals), errors


def _retrieval(value: Any, question: Question) -> Returned:
    items = results_of(value)
    if items is None:
        raise TypeError(f"{type(value).__name__} is not a list of results")
    texts = tuple(result_of(_plain(item)) for item in items)
    return Returned(question.text, texts, question_id=question.id)


def _plain(item: Any) -> Any:
    """Return a result as a text or a mapping."""
    if isinstance(item, str | Mapping):
        return item
    if isinstance(item, tuple | list) and len(item) in (_PAIR, _TRIPLE):
        inner = _plain(item[0])
        inner = {"text": inner} if isinstance(inner, str) else dict(inner)
        return inner | {"score": item[1]} | ({"metadata": item[2]} if item[2:] else {})
    node = getattr(item, "node", None)
    if node is not None:
        return _plain(node) | {"score": getattr(item, "score", None)}
    content = getattr(item, "get_content", None)
    text = content() if callable(content) else None
    fields = {
        "text": text or getattr(item, "page_content", None) or getattr(item, "content", None),
        "metadata": getattr(item, "metadata", None) or getattr(item, "meta", None),
        "score": getattr(item, "score", None),
        "id": getattr(item, "id", None) or getattr(item, "node_id", None),
    }
    if fields["text"] is None:
        raise TypeError(f"{type(item).__name__} has no text")
    return fields
