"""HTTP tools against a real local server: asked rightly, guarded, and failing in words."""

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import (
    BlockedAddress,
    HttpTool,
    InvalidInput,
    ProviderError,
    ProviderUnavailable,
    ToolOutcome,
    network,
)
from rag.errors import ProviderMisbehaved, ProviderRejected
from rag.network import resolve
from rag.providers import http_tools
from rag.providers.http_tools import body_for, call, url_for
from tests.servers import Reply, Script, scripted

ANSWER = {
    "data": {
        "hits": [
            {
                "doc": {"body": "Leave lapses."},
                "name": "Leave",
                "at": "https://x.example",
                "s": 2,
            },
            {
                "doc": {"body": ["Two", "lines"]},
                "name": None,
                "at": "javascript:alert(1)",
                "s": "no",
            },
        ]
    }
}
PATHS = {"results": "data.hits", "text": "doc.body", "title": "name", "link": "at", "score": "s"}
OWN = {"TOUCHSTONE_TOOL_KEY": "s3cret"}


def tool(url: str, **fields: Any) -> HttpTool:
    return HttpTool.parse({"name": "docs", "url": url, **PATHS, **fields})


def ask(wanted: HttpTool, question: str = "How long?", **variables: str) -> ToolOutcome:
    return call(wanted, question, variables, allow_private=True)


@pytest.fixture
def server() -> Iterator[Script]:
    with scripted(Reply(body=json.dumps(ANSWER))) as script:
        yield script


def test_results_are_read_at_their_paths(server):
    outcome = ask(tool(f"{server.url}/find?q={{question}}"))
    assert [(each.text, each.title, each.url, each.score) for each in outcome.results] == [
        ("Leave lapses.", "Leave", "https://x.example", 2.0),
        ("Two\nlines", "", "", None),
    ]
    assert server.paths == ["/find?q=How%20long%3F"]
    assert server.headers[0]["accept"] == "application/json"


HOSTILE = 'a&b=c#d/../e?"}, {"x": "\n%00 {question} ü 😀'


def test_the_question_is_one_piece_of_the_address(server):
    ask(tool(f"{server.url}/find/{{question}}/now?k=1"), HOSTILE)
    path = server.paths[0]
    assert path.startswith("/find/")
    assert path.endswith("/now?k=1")
    assert path.count("/") == 3
    assert unquote(path.split("/")[2]) == HOSTILE


def test_the_question_is_a_string_of_the_body(server):
    body = '{"query": {"text": "about: {question}"}, "n": 3, "also": ["{question}", null]}'
    ask(tool(server.url, method="POST", body=body), HOSTILE)
    assert server.requests == [
        {"query": {"text": f"about: {HOSTILE}"}, "n": 3, "also": [HOSTILE, None]}
    ]
    assert server.headers[0]["content-type"] == "application/json"


@given(st.text())
def test_no_question_breaks_out(question):
    wanted = tool("https://x.example/a?q={question}", method="POST", body='{"q": "{question}"}')
    body = body_for(wanted, question)
    assert body is not None
    assert json.loads(body) == {"q": question}
    piece = url_for(wanted, question).removeprefix("https://x.example/a?q=")
    assert not set(piece) & set("&#?/=+ ")
    assert unquote(piece) == question.encode("utf-8", "replace").decode()


def test_headers_have_the_values_of_their_variables(server):
    headers = {"X-Api-Key": "TOUCHSTONE_TOOL_KEY", "Authorization": "Bearer TOUCHSTONE_TOOL_KEY"}
    ask(tool(f"{server.url}?q={{question}}", headers=headers), **OWN)
    assert server.headers[0]["x-api-key"] == "s3cret"
    assert server.headers[0]["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("value", ["", "two\nlines", "naïve"])
def test_a_header_without_a_usable_value_is_not_sent(server, value):
    wanted = tool(f"{server.url}?q={{question}}", headers={"X-Key": "TOUCHSTONE_TOOL_KEY"})
    with pytest.raises(ProviderRejected, match="TOUCHSTONE_TOOL_KEY") as caught:
        ask(wanted, TOUCHSTONE_TOOL_KEY=value)
    assert value.strip() == "" or value not in caught.value.message
    assert server.paths == []


@pytest.mark.parametrize(
    ("path", "question"),
    [("find/{question}/now", ".."), ("find/{question}/now", "."), (".{question}", ".")],
)
def test_a_question_of_dots_does_not_walk_up_the_address(server, path, question):
    with pytest.raises(ProviderRejected, match="question with words"):
        ask(tool(f"{server.url}/{path}"), question)
    assert server.paths == []
    ask(tool(f"{server.url}/find?q={{question}}"), question)
    ask(tool(f"{server.url}/a/../{path}"), "...")
    assert server.paths == [f"/find?q={question}", "/" + path.replace("{question}", "...")]


def test_a_result_that_comes_twice_counts_once():
    hit = {"doc": {"body": "One"}, "name": "A"}
    other = {"doc": {"body": "Two"}}
    hits = [{**hit, "s": 5}, other, {**hit, "s": 3}, {}]
    with scripted(Reply(body=json.dumps({"data": {"hits": hits}}))) as server:
        outcome = ask(tool(f"{server.url}?q={{question}}"))
    assert [(each.text, each.score) for each in outcome.results] == [("One", 5.0), ("Two", None)]
    assert outcome.empty == 1


def refused(reply: Reply, **fields: Any) -> ProviderError:
    with scripted(reply) as server, pytest.raises(ProviderError) as caught:
        ask(tool(f"{server.url}?q={{question}}", **fields))
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (Reply(500), ProviderUnavailable, "500"),
        (Reply(429), ProviderUnavailable, "429"),
        (Reply(401), ProviderRejected, "401"),
        (Reply(body="<html>", content_type="text/html"), ProviderMisbehaved, "instead of JSON"),
        (Reply(body="{oops"), ProviderMisbehaved, "did not answer with JSON"),
        (Reply(body="[" * 100_000), ProviderMisbehaved, "did not answer with JSON"),
        (Reply(body='{"items": []}'), ProviderMisbehaved, "list of results at “data.hits”"),
        (Reply(body='{"data": {"hits": "none"}}'), ProviderMisbehaved, "without a list"),
        (Reply(body='{"data": {"hits": [{}]}}'), ProviderMisbehaved, "no text at “doc.body”"),
        (Reply(headers={"Content-Encoding": "gzip, gzip"}), ProviderMisbehaved, "gzip, gzip"),
        (Reply(cut=True), ProviderUnavailable, "cannot be reached"),
        (Reply(body="[]", delay=1.0), ProviderUnavailable, "did not answer within 0.3 s"),
        (Reply(302, headers={"Location": "http://[broken"}), ProviderUnavailable, "reached"),
        (Reply(302, headers={"Location": "/again"}), ProviderMisbehaved, "more than 3 times"),
    ],
)
def test_what_goes_wrong_is_said(reply, kind, said):
    error = refused(reply, seconds=0.3 if reply.delay else 10)
    assert isinstance(error, kind)
    assert said in error.message


def test_the_fields_that_came_are_named_where_the_path_finds_nothing():
    assert "It has: items, took." in refused(Reply(body='{"items": [], "took": 3}')).hint


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "5"}])
def test_size_is_bounded_whatever_the_header_says(headers, monkeypatch):
    monkeypatch.setattr(http_tools, "MOST_BYTES", 1_000)
    error = refused(Reply(body=json.dumps({"data": "x" * 5_000}), headers=headers))
    assert isinstance(error, ProviderMisbehaved | ProviderUnavailable)


def test_a_closed_port_is_said():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ProviderUnavailable, match="cannot be reached"):
        ask(tool(f"http://127.0.0.1:{port}/?q={{question}}"))


def test_no_result_is_no_failure():
    with scripted(Reply(body='{"data": {"hits": []}}')) as server:
        assert ask(tool(f"{server.url}?q={{question}}")).results == ()


def test_the_answer_itself_may_be_the_list():
    with scripted(Reply(body='[{"doc": {"body": "One"}}, {"doc": {}}, 7]')) as server:
        outcome = ask(tool(f"{server.url}?q={{question}}", results=""))
    assert ([each.text for each in outcome.results], outcome.empty) == (["One"], 2)


def test_only_so_many_results_are_taken_and_only_so_much_text():
    hits = [{"doc": {"body": f"{number}" + "x" * 9_000}} for number in range(9)]
    with scripted(Reply(body=json.dumps({"data": {"hits": hits}}))) as server:
        outcome = ask(tool(f"{server.url}?q={{question}}", most=3))
    assert [each.text[0] for each in outcome.results] == ["0", "1", "2"]
    assert {len(each.text) for each in outcome.results} == {8_000}


def test_this_computer_is_refused_unless_allowed(server):
    with pytest.raises(BlockedAddress, match="inside this computer"):
        call(tool(f"{server.url}?q={{question}}"), "q", {}, allow_private=False)
    assert server.paths == []


def test_a_redirect_into_this_computer_is_refused(server, monkeypatch):
    port = int(server.url.rpartition(":")[2])

    def pretend(host: str, port_asked: int, *, allow_private: bool) -> list[str]:
        # The outer server stands for a public one; what it redirects to is resolved for real.
        if host == "public.example":
            return ["127.0.0.1"]
        return resolve(host, port_asked, allow_private=allow_private)

    monkeypatch.setattr(network, "resolve", pretend)
    inward = tool(f"http://public.example:{port}/?q={{question}}")
    assert call(inward, "q", {}, allow_private=False).results[0].title == "Leave"
    server.replies[:] = [Reply(302, headers={"Location": f"{server.url}/secret"})]
    with pytest.raises(BlockedAddress, match=r"127\.0\.0\.1"):
        call(inward, "q", {}, allow_private=False)
    assert "/secret" not in server.paths


def test_secrets_stay_with_the_first_server(server):
    with scripted(Reply(307, headers={"Location": f"{server.url}/moved"})) as first:
        wanted = tool(
            first.url,
            method="POST",
            body='{"q": "{question}"}',
            headers={"X-Key": "TOUCHSTONE_TOOL_KEY"},
        )
        assert ask(wanted, "why", **OWN).results[0].title == "Leave"
        assert first.headers[0]["x-key"] == "s3cret"
    assert (server.requests, server.paths) == ([{"q": "why"}], ["/moved"])
    assert "x-key" not in server.headers[0]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"url": "https://x.example/?q=fixed"}, "would not be sent"),
        ({"url": "https://{question}.example/"}, "may not name the server"),
        ({"url": "https://user:pw@x.example/{question}"}, "user name or password"),
        ({"url": "file:///etc/{question}"}, "Only http and https"),
        ({"url": "words {question}"}, "not a full web address. Give the full address"),
        ({"name": "two words"}, "name"),
        ({"method": "POST", "body": "{question}"}, "body is not JSON"),
        ({"body": '"{question}"'}, "GET request has no body"),
        ({"results": "data..hits"}, "JMESPath"),
        ({"text": ""}, "text"),
        ({"most": 0}, "most"),
        ({"headers": {"Host": "TOUCHSTONE_TOOL_X"}}, "not a header that can be set"),
        ({"headers": {"X-Key": "OPENAI_API_KEY"}}, "begins with TOUCHSTONE_TOOL_"),
        ({"headers": {"X-Key": "Bearer s3cret"}}, "begins with TOUCHSTONE_TOOL_"),
        ({"headers": {"X-Key": "TOUCHSTONE_TOOL_X\n"}}, "begins with TOUCHSTONE_TOOL_"),
        ({"headers": {"X-Key\n": "TOUCHSTONE_TOOL_X"}}, "not a header that can be set"),
    ],
)
def test_a_tool_that_makes_no_sense_is_refused(fields, said):
    with pytest.raises(InvalidInput, match=said) as caught:
        tool(**({"url": "https://x.example/?q={question}"} | fields))
    assert "s3cret" not in caught.value.message + caught.value.hint
    assert "pw@" not in caught.value.message
