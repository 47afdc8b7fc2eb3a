"""The reference of the REST API: its OpenAPI document, and a page that shows it without a network.

Neither needs a token, because they contain nothing of the data. Examples of requests and answers
are made from their schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

PUBLIC = ("/v1/openapi.json", "/v1/docs")
"""The addresses, below that of the API, that need no token."""

# A file and not a script of the page: the Content Security Policy allows no inline scripts.
_START = """
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
});
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Touchstone API</title>
  <link rel="stylesheet" href="docs/assets/swagger-ui.css">
  <link rel="icon" href="data:,">
</head>
<body>
  <main id="reference"></main>
  <script src="docs/assets/swagger-ui-bundle.js"></script>
  <script src="docs/start.js"></script>
</body>
</html>
"""


def reference(describe: Callable[[], dict[str, Any]]) -> list[Mount | Route]:
    """Return the routes of an OpenAPI document and of the page that shows it.

    ``describe`` makes the document. It takes as long as hundreds of requests, so it runs once, in
    a thread, when the document is first asked for.
    """
    described = cache(describe)

    def openapi(_: Request) -> Response:
        return JSONResponse(described())

    async def page(_: Request) -> Response:
        return HTMLResponse(_PAGE)

    async def start(_: Request) -> Response:
        return Response(_START, media_type="text/javascript")

    return [
        Route("/v1/openapi.json", openapi),
        Route("/v1/docs", page),
        Route("/v1/docs/start.js", start),
        Mount("/v1/docs/assets", StaticFiles(directory=_assets())),
    ]


def is_public(path: str) -> bool:
    """Whether an address below that of the API needs no token."""
    return path in PUBLIC or path.startswith("/v1/docs/")


def _assets() -> Path:
    """The folder of the scripts and styles of Swagger UI, which a package brings along."""
    package = find_spec("fastapi_offline")
    if package is None or package.origin is None:
        raise RuntimeError("fastapi_offline is not installed: pip install -r requirements.txt")
    return Path(package.origin).parent / "static"


_LEAVE = "Unused leave may be carried over until 31 March."
_VALUES: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "address": ("https://search.example/api/v1",),
        "against": ("81b7cc02ae55", {"search.top_k": 8}),
        "chunk_id": ("5d3f0c1b9a7e4d21",),
        "content": (_LEAVE,),
        "date": ("2026-01-02",),
        "document": ("leave.md",),
        "document_id": ("9f2c1d0e",),
        "email": ("ann@example.org",),
        "embedder": ("minilm",),
        "encoding": ("cp1252",),
        "fields": ({"search.top_k": 8},),
        "grid": ({"search.top_k": [3, 5, 10]},),
        "hash": ("0123456789ab",),
        "id": ("9f2c1d0e", 17),
        "job": (17,),
        "knowledge_base": ("sample",),
        "knowledge_id": ("sample",),
        "metric": ("precision@10",),
        "name": ("policies",),
        "next": ("/api/v1/knowledge-bases?offset=50",),
        "other": ("81b7cc02ae55",),
        "passage": ("5d3f0c1b9a7e4d21",),
        "query": ("How long may unused leave be carried over?",),
        "question": ("How long may unused leave be carried over?",),
        "question_id": ("q1",),
        "quote": (_LEAVE,),
        "recipe": ("0123456789ab", {"search": {"top_k": 8}}),
        "role": ("editor",),
        "run": ("3f9a1c2b7d10",),
        "set": ("policies",),
        "state": ("answered",),
        "text": (_LEAVE,),
        "tags": (["policy"],),
        "title": ("Leave",),
        "url": ("https://example.org/",),
        "urls": (["https://example.org/"],),
    }
)
"""Values by the name of a field; each serves the schemas that it fits."""
_TYPES = {"string": str, "object": dict, "array": list, "integer": int}
_NEUTRAL: Mapping[str, Any] = MappingProxyType(
    {"integer": 1, "number": 0.5, "boolean": True, "string": "text", "null": None}
)


def add_examples(document: dict[str, Any]) -> None:
    """Give every JSON body in an OpenAPI document an example.

    One of a request has the fields that are required, or the first one if none is, unless its
    model has an example of its own.
    """
    schemas = document["components"]["schemas"]
    for operation in chain.from_iterable(path.values() for path in document["paths"].values()):
        bodies = [(operation.get("requestBody", {}), True)]
        bodies += [(answer, False) for answer in operation["responses"].values()]
        for body, is_request in bodies:
            if content := body.get("content", {}).get("application/json"):
                content["example"] = _example("", content["schema"], schemas, is_request)


def _example(name: str, schema: dict[str, Any], schemas: dict[str, Any], is_request: bool) -> Any:
    if "$ref" in schema:
        return _example(name, schemas[schema["$ref"].rpartition("/")[2]], schemas, is_request)
    for variants in (schema.get("anyOf"), schema.get("oneOf"), schema.get("allOf")):
        if variants:
            simple = next((one for one in variants if "pattern" not in one), variants[0])
            return _example(name, simple, schemas, is_request)
    if "examples" in schema:
        return schema["examples"][0]
    kind = schema.get("type", "string")
    for value in _VALUES.get(name, ()):
        if not schema.keys() & {"enum", "properties"} and isinstance(value, _TYPES.get(kind, ())):
            return value
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "array":
        if "prefixItems" in schema:
            return [_example("", item, schemas, is_request) for item in schema["prefixItems"]]
        return [_example("", schema.get("items", {}), schemas, is_request)]
    if kind == "object":
        fields = schema.get("properties", {})
        if is_request:
            fields = {key: fields[key] for key in schema.get("required", list(fields)[:1])}
        return {key: _example(key, of, schemas, is_request) for key, of in fields.items()}
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05+00:00"
    return max(_NEUTRAL[kind], schema["minimum"]) if "minimum" in schema else _NEUTRAL[kind]
