"""Text that is none and numbers beyond all sense, in every field of the API and of tools of MCP."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag import LONGEST_QUESTION, Settings, Workspace
from tests.api import client, spoken
from tests.contracts.test_api_access import BASES
from tests.workspaces import QUICK, add, stored_bytes

HALF, NUL, HUGE, ENDLESS = "x\ud800", "x\0y", "<huge>", "<endless>"
_NUMBERS = {f'"{HUGE}"': "9" * 4000, f'"{ENDLESS}"': "1e999"}  # which json.dumps cannot write
_FREE: dict[str, Any] = {
    "recipe": {"search": {"heading": "x", "top_k": 1}, "answer": {"model": "x"}},
    "fields": {"search.heading": "x", "search.top_k": 1, "answer.model": "x"},
    "against": {"search.heading": "x"},
    "filters": {"type": "eq", "key": "x", "value": "x"},
    "metadata_condition": {"conditions": [{"name": ["x"], "comparison_operator": "is"}]},
    "grid": {"search.heading": ["x"], "search.top_k": [1]},
}
REAL = {"kb": "manuals", "questions": "policies", "label": "1", "job": "1"}


@dataclass(frozen=True)
class Address:
    """An address with a request that makes sense: ``body`` is None where it takes none."""

    method: str
    path: str
    parameters: tuple[tuple[str, str], ...]
    body: Any
    form: bool


def addresses(document: dict[str, Any]) -> Iterator[Address]:
    """Every address of an OpenAPI document."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {})
            form = "multipart/form-data" in content
            schema = next((each["schema"] for each in content.values()), None)
            body = None if schema is None else sample(schema, document)
            named = ((each["name"], each["in"]) for each in operation.get("parameters", ()))
            yield Address(method, f"/api{path}", tuple(named), body, form)


def sample(schema: dict[str, Any], document: dict[str, Any], name: str = "") -> Any:
    """A value that a schema allows, with something in every field and list."""
    if "$ref" in schema:
        return sample(document["components"]["schemas"][schema["$ref"].split("/")[-1]], document)
    if name in _FREE:
        return _FREE[name]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], document, name)
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {"x": schema.get("additionalProperties")})
            fields = {key: one if isinstance(one, dict) else {} for key, one in fields.items()}
            return {key: sample(one, document, key) for key, one in fields.items()}
        case "array":
            return [sample(schema["items"], document)]
        case "integer" | "number":
            return 1
        case "boolean":
            return False
    return "x"


def spoilt(value: Any) -> Iterator[Any]:
    """A body with one of its strings or numbers made hostile, in every way at every place."""
    match value:
        case dict():
            for key, each in value.items():
                yield from ({**value, key: other} for other in spoilt(each))
        case list():
            for place, each in enumerate(value):
                yield from ([*value[:place], o, *value[place + 1 :]] for o in spoilt(each))
        case str():
            yield from (HALF, NUL)
        case int() if not isinstance(value, bool):
            yield from (HUGE, ENDLESS, 2**62)


def written(body: Any) -> bytes:
    """A body as JSON, numbers that Python does not write included."""
    text = json.dumps(body)
    for mark, number in _NUMBERS.items():
        text = text.replace(mark, number)
    return text.encode()


def requests(address: Address) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every hostile request to an address: its path, and the options of a client."""
    path = address.path
    sound = path.format(**{name: REAL.get(name, "x") for name, _ in address.parameters})
    options: dict[str, Any] = {}
    if address.body is not None and not address.form:
        options = {
            "content": written(address.body),
            "headers": {"Content-Type": "application/json"},
        }
        for body in spoilt(address.body):
            yield sound, options | {"content": written(body)}
    if address.form:
        options = {"files": {"files": ("x.md", b"x"), "file": ("x.jsonl", b"x")}}
        for bad in ("x%00", "x%ED%A0%80"):
            parts = _form(bad, "x.md"), _form("x", bad)
            yield from ((sound, {"content": part[0], "headers": part[1]}) for part in parts)
    for name, where in address.parameters:
        for bad in ("%00", "%ED%A0%80", "9" * 4000, "%F0%9F", "1e999"):
            if where == "path":
                real = {key: REAL.get(key, "x") for key, _ in address.parameters}
                yield path.format(**real | {name: bad}), options
            elif where == "query":
                yield f"{sound}?{name}={bad}", options


def _form(name: str, file: str) -> tuple[bytes, dict[str, str]]:
    """A form as it is sent, with bytes in it that a careful client would never write."""
    from urllib.parse import unquote_to_bytes

    lines = [b"--b", b'Content-Disposition: form-data; name="name"', b"", unquote_to_bytes(name)]
    for part in (b"file", b"files"):
        head = b'Content-Disposition: form-data; name="%s"; filename="' % part
        lines += [b"--b", head + unquote_to_bytes(file) + b'"', b"", b"x"]
    body = b"\r\n".join([*lines, b"--b--", b""])
    return body, {"Content-Type": "multipart/form-data; boundary=b"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = Workspace(Settings.from_env({"TOUCHSTONE_API_RATE": "1000000"}, home=tmp_path))
    base = found.create("manuals", QUICK)
    add(found, base, {"leave.md": "# Leave\n\nLeave is thirty days."})
    base.questions.create_set("policies")
    base.questions.add_question("policies", "How long?")
    return found


@pytest.mark.slow
def test_no_field_takes_text_that_is_none_or_a_number_beyond_all_sense(api):
    document = api.get("/api/v1/openapi.json").json()
    tried, broken = 0, []
    for address in addresses(document):
        for path, options in requests(address):
            status = api.request(address.method, path, **options).status_code
            tried += 1
            as_json = "application/json" in options.get("headers", {}).values()
            hostile = as_json and options["content"] != written(address.body)
            if not (400 if hostile else 200) <= status < 500:
                broken.append((status, address.method, path[:80], str(options)[-120:]))
    assert broken == []
    assert tried > 400
    for path in ("", "/recipe", "/recipes", "/documents", "/question-sets", "/jobs"):
        assert api.get(f"{BASES}/manuals{path}").status_code == 200, path
    assert api.post(f"{BASES}/manuals/search", json={"question": "leave"}).status_code == 200


LONG = "x" * (LONGEST_QUESTION + 1)
ANY_KIND = (HALF, NUL, LONG, HUGE, ENDLESS, 2**62, -1, 1.5, True, None, ["x"], {"x": 1})
"""What is sent in place of every argument, whatever its kind."""


TOOLS = {
    *("search", "fetch", "ask", "explain", "list_knowledge_bases", "get_recipe", "list_questions"),
    *("evaluate", "try_recipe", "diagnose", "sweep", "compare_runs", "gate", "audit_system"),
    *("propose_questions", "add_question", "label", "save_recipe"),
}


def calls(tool: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Hostile arguments of a tool of MCP, each with the argument that is."""
    schema = tool["inputSchema"]
    sound = sample({"type": "object", **schema}, {})
    for name, kind in schema["properties"].items():
        yield from (({**sound, name: bad}, name) for bad in spoilt(sound[name]))
        yield from (({**sound, name: bad}, name) for bad in ANY_KIND if _misfits(bad, kind))
    for bad in (HALF, NUL):
        yield {**sound, bad: "x"}, ""
    for name in schema.get("required", ()):
        yield {key: value for key, value in sound.items() if key != name}, name


def _misfits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is not of an argument's kind, or more than it may hold."""
    kinds = {"string": str, "array": list, "object": dict, "boolean": bool, "null": type(None)}
    numbers = {"integer": int, "number": int | float}
    allowed = {each.get("type") for each in schema.get("anyOf", [schema])}
    fits = any(
        isinstance(value, (kinds | numbers)[kind])
        and isinstance(value, bool) == (kind == "boolean")
        for kind in allowed
    )
    return not fits or value == LONG


def test_no_tool_takes_text_that_is_none_or_a_value_of_another_kind(workspace):
    tried, broken = 0, []
    with client(workspace) as api:
        tools = spoken(api, "tools/list")[1]["result"]["tools"]
        before = stored_bytes(workspace)
        for tool in tools:
            for arguments, name in calls(tool):
                status, told = spoken(
                    api, "tools/call", {"name": tool["name"], "arguments": arguments}, written
                )
                tried += 1
                if why := _badly_refused(status, told, name):
                    broken.append((tool["name"], str(arguments)[:80], why[:200]))
        assert broken == []
        assert {each["name"] for each in tools} == TOOLS
        assert tried > 80
        found = spoken(api, "tools/call", {"name": "search", "arguments": {"query": "leave"}})[1]
        assert "thirty days" in found["result"]["content"][0]["text"]
    after = stored_bytes(workspace)
    for rubbish in (b"x\\x00y", b"ud800", LONG.encode(), b"9" * 100):
        assert after.count(rubbish) == before.count(rubbish)


def _badly_refused(status: int, told: dict[str, Any], name: str) -> str:
    """What is wrong with how a call was refused; "" where nothing is.

    Half a character is no JSON in the eyes of the protocol, so the request is refused as a whole.
    """
    if "error" in told:
        sound = status == 400 and told["error"]["code"] == -32700
        return "" if sound and "hex escape" in told["error"]["message"] else str(told)
    said = told["result"]["content"][0]["text"]
    about = ("character", f": {name}: ", "number beyond all bounds")
    if status != 200 or not told["result"]["isError"] or not any(each in said for each in about):
        return str(told)
    return said if any(word in said for word in ("pydantic", "Traceback", "Error:")) else ""


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (
            '{"question": "x", "top_k": ' + "9" * 5_000 + "}",
            "It has a number of thousands of digits, and the largest is 9,007,199,254,740,992.",
        ),
        ("[" * 100_000, "It is nested too deep."),
    ],
)
def test_a_body_that_is_not_read_says_why(api, body, hint):
    path = "/api/v1/knowledge-bases/manuals/search"
    response = api.post(path, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert (response.json()["detail"], response.json()["hint"]) == ("The body is not JSON.", hint)
