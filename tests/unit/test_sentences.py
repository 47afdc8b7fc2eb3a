"""A model words the selected quotes in one sentence, which they have to bear out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import Answer, KnowledgeBase, Recipe, Settings, Workspace
from tests.answer_runs import with_chat
from tests.api import client
from tests.golden.answer_sets import SetQuestion, has_value
from tests.scripted_chat import ScriptedChat
from tests.servers import Reply, ollama_stream, openai_stream, scripted
from tests.workspaces import add, stocked

DOCUMENTS = {
    "fares.md": "# Fares\n\n| Vehicle | Tjelde - Vestvik | Tjelde - Orrin |\n|---|---|---|\n"
    "| Camper 6-8 m | 945 | 1,352 |\n| Motorcycle | 210 | 300 |\n",
    "office.md": "# Office\n\nThe office in Tjelde is open from 8:00 to 15:30. "
    "Tickets are refunded within 14 days. The harbour master is Runa Aasen.\n",
    "events.csv": "event,date,place\nSummer party,2025-07-04,Quay 3\nRegatta,2025-08-16,Pier 1\n",
    "machines.csv": "machine,power kW,interval months,next service\nBolt loader,55,12,2025-09-02\n"
    "Edger,15,3,2025-03-03\n",
    "buero.md": "# Büro\n\nFundsachen werden im Büro vier Wochen lang aufbewahrt. "
    "Der Schlüssel für die Schranke kostet 20 Euro Kaution.\n",
    "guichet.md": "# Guichet\n\nLes chiens voyagent gratuitement sur le pont ouvert. "
    "La consigne pour une clé coûte 20 euros par semaine.\n",
}
REFUNDS = "Within how many days are tickets refunded?"
ON = {"answer.provider": "compatible", "answer.evidence": "quotes", "search.threshold": None}


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    workspace, _ = stocked(home, DOCUMENTS, Recipe(), "ferry")
    yield workspace
    workspace.close()


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    return workspace.base("ferry")


def asked(
    monkeypatch: pytest.MonkeyPatch, base: KnowledgeBase, question: str, reply: str
) -> tuple[ScriptedChat, Answer]:
    chat = ScriptedChat(reply)
    with_chat(monkeypatch, chat)
    return chat, base.ask(question, base.recipe().with_fields(ON)).answer


@pytest.mark.parametrize(
    ("question", "reply", "text"),
    [
        (
            REFUNDS,
            "Tickets are refunded within 14 days.",
            "Tickets are refunded within 14 days [1].",
        ),
        (
            "Within how many days can I get tickets refunded?",
            "Tickets that I return are refunded within 14 days.",
            "Tickets that I return are refunded within 14 days [1].",
        ),
        (REFUNDS, "Within 14 days [1].", "Within 14 days [1]."),
        (REFUNDS, "Within 14 days [7].", "Within 14 days [1]."),
        (
            "When is the summer party?",
            "The summer party is on July 4, 2025.",
            "The summer party is on July 4, 2025 [1].",
        ),
        (
            "Wie lange werden Fundsachen aufbewahrt?",
            "Fundsachen werden vier Wochen aufbewahrt.",
            "Fundsachen werden vier Wochen aufbewahrt [1].",
        ),
        (
            "Combien coûte la consigne pour une clé ?",
            "La consigne pour une clé coûte 20 euros.",
            "La consigne pour une clé coûte 20 euros [1].",
        ),
    ],
)
def test_a_sentence_that_the_quotes_bear_out_is_the_answer_and_cites_them(
    monkeypatch: pytest.MonkeyPatch, base: KnowledgeBase, question: str, reply: str, text: str
) -> None:
    _, answer = asked(monkeypatch, base, question, reply)
    assert (answer.text, answer.mode, answer.status) == (text, "sentence", "complete")
    assert (answer.state, answer.written) == ("answered", "")
    [citation] = answer.citations
    assert citation.quote in citation.hit.chunk.text
    assert [check.borne_out for check in answer.sentences] == [True]
    assert citation.quote in [quote.quote for quote in answer.quotes]


@pytest.mark.parametrize(
    "reply",
    [
        "Tickets are refunded within 15 days.",
        "Tickets are refunded within 14 weeks.",
        "Tickets are refunded within 14 days by Tove Lind.",
        "Tickets are refunded within 14 days, as rule RF-14 says.",
        "[1]",
        " ",
        "Tickets are refunded.",
        "The passages do not answer this question.",
    ],
)
def test_what_the_quotes_do_not_bear_out_gives_way_to_them(
    monkeypatch: pytest.MonkeyPatch, base: KnowledgeBase, reply: str
) -> None:
    _, answer = asked(monkeypatch, base, REFUNDS, reply)
    assert (answer.mode, answer.status, answer.state) == ("quotes", "complete", "answered")
    assert "refunded within 14 days.” [1]" in answer.text
    assert answer.written == reply.strip() or reply == " "


def test_of_a_row_the_model_sees_the_cell_that_the_question_names(
    monkeypatch: pytest.MonkeyPatch, base: KnowledgeBase
) -> None:
    question = "What does a camper of 6-8 m cost from Tjelde to Vestvik?"
    chat, answer = asked(monkeypatch, base, question, "It costs 945.")
    [[_, user]] = chat.asked
    assert "945" in user.content
    assert "1,352" not in user.content
    assert answer.text == "It costs 945 [1]."
    for reply in ("It costs 1,352.", "It costs $945."):
        _, other = asked(monkeypatch, base, question, reply)
        assert (other.mode, other.written) == ("quotes", reply)


@pytest.mark.parametrize(
    "question", ["Who won the world cup in 1954?", "What is the phone number?"]
)
def test_what_is_refused_or_doubtful_asks_no_model(
    monkeypatch: pytest.MonkeyPatch, base: KnowledgeBase, question: str
) -> None:
    chat, answer = asked(monkeypatch, base, question, "Germany won in 1954.")
    assert chat.asked == []
    assert answer.state in ("refused", "doubtful")


def test_the_prompt_is_in_the_language_of_the_question_and_can_be_edited(
    monkeypatch: pytest.MonkeyPatch, base: KnowledgeBase
) -> None:
    german = "Wie lange werden Fundsachen aufbewahrt?"
    chat, _ = asked(monkeypatch, base, german, "Vier Wochen.")
    assert chat.asked[0][0].content.startswith("Beantworte die Frage")
    base.conversations.prompts.save("quotes", "Say it like a captain.")
    chat, answer = asked(monkeypatch, base, german, "Vier Wochen.")
    assert chat.asked[0][0].content == "Say it like a captain."
    assert answer.prompt_version == base.conversations.prompts.wording().version("quotes")


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ("Within 14 days.", ["passages", "text", "text", "answer"]),
        ("Within 15 days.", ["passages", "text", "text", "replaced", "answer"]),
    ],
)
def test_a_stream_says_when_its_pieces_do_not_stand(
    monkeypatch: pytest.MonkeyPatch,
    workspace: Workspace,
    base: KnowledgeBase,
    reply: str,
    names: list[str],
) -> None:
    with_chat(monkeypatch, ScriptedChat(reply))
    fields = {"provider": "compatible", "evidence": "quotes"}
    body = {"question": REFUNDS, "stream": True, "recipe": {"answer": fields}}
    text = client(workspace).post(f"/api/v1/knowledge-bases/{base.id}/ask", json=body).text
    events = [
        dict(line.split(": ", 1) for line in block.splitlines())
        for block in text.split("\n\n")[:-1]
    ]
    assert [event["event"] for event in events] == names
    data = [json.loads(event["data"]) for event in events]
    assert "".join(data[1:3]) == reply
    if "replaced" in names:
        assert data[-2] == data[-1]["answer"]
        assert data[-1]["written"] == reply


def _listed(parameters: float | None) -> Reply:
    meta = {} if parameters is None else {"meta": {"n_params": parameters}}
    return Reply(body=json.dumps({"object": "list", "data": [{"id": "m.gguf", **meta}]}))


def _shown(parameters: float) -> Reply:
    return Reply(body=json.dumps({"model_info": {"general.parameter_count": parameters}}))


@pytest.mark.parametrize(
    ("provider", "size", "said", "evidence"),
    [
        ("llamacpp", _listed(0.6e9), openai_stream("Within 14 days."), "quotes"),
        ("llamacpp", _listed(8e9), openai_stream("Within 14 days [1]."), "passages"),
        ("llamacpp", _listed(None), openai_stream("Within 14 days [1]."), "quotes"),
        ("llamacpp", Reply(500), openai_stream("Within 14 days [1]."), "quotes"),
        ("ollama", _shown(1.7e9), ollama_stream("Within 14 days."), "quotes"),
        ("ollama", _shown(0.1e9), ollama_stream("It is a joke."), "quotes alone"),
    ],
)
def test_auto_takes_quotes_for_a_model_whose_server_says_that_it_is_small(
    home: Path,
    provider: str,
    size: Reply,
    said: Reply,
    evidence: str,
) -> None:
    with scripted(size, said) as server:
        addresses = {"TOUCHSTONE_LLAMA_CPP_URL": f"{server.url}/v1", "OLLAMA_HOST": server.url}
        workspace = Workspace(Settings.from_env(addresses, home=home))
        base = workspace.create("ferry", Recipe())
        add(workspace, base, {"office.md": DOCUMENTS["office.md"].encode()})
        auto = {**ON, "answer.evidence": "auto", "answer.model": "m.gguf"}
        recipe = base.recipe().with_fields({**auto, "answer.provider": provider})
        answer = base.ask(REFUNDS, recipe).answer
        workspace.close()
    modes = {"quotes": "sentence", "passages": "strict", "quotes alone": "quotes"}
    assert (answer.mode, answer.state) == (modes[evidence], "answered")
    assert evidence == "quotes alone" or answer.text == "Within 14 days [1]."
    assert [(one.step, one.chosen) for one in answer.decisions] == [("evidence", evidence)]


@pytest.mark.parametrize(
    ("question", "parameters", "reply", "state", "asked_twice"),
    [
        (REFUNDS, 1.5e9, "No.", "doubtful", True),
        (REFUNDS, 1.5e9, "Yes", "answered", True),
        (REFUNDS, 1.5e9, "November it says", "answered", True),
        (REFUNDS, 0.5e9, "No.", "answered", False),
        ("Are tickets refunded?", 1.5e9, "No.", "answered", False),
    ],
    ids=["no", "yes", "neither", "too small to tell", "no kind of value"],
)
def test_a_model_of_a_billion_parameters_is_asked_whether_the_quote_answers(
    home: Path, question: str, parameters: float, reply: str, state: str, asked_twice: bool
) -> None:
    with scripted() as server:

        def replies(path: str) -> Reply:
            if not path.endswith("/chat/completions"):
                return _listed(parameters)
            content = server.requests[-1]["messages"][-1]["content"]
            checks = "yes or no" in content
            assert not checks or "refunded within 14 days" in content
            return openai_stream(reply if checks else "Tickets are refunded within 14 days.")

        server.reply_to = replies
        addresses = {"TOUCHSTONE_LLAMA_CPP_URL": f"{server.url}/v1", "TOUCHSTONE_FIND_MODELS": "0"}
        workspace = Workspace(Settings.from_env(addresses, home=home))
        base = workspace.create("ferry", Recipe())
        add(workspace, base, {"office.md": DOCUMENTS["office.md"].encode()})
        fields = {**ON, "answer.provider": "llamacpp", "answer.model": "m.gguf"}
        answer = base.ask(question, base.recipe().with_fields(fields)).answer
        workspace.close()
    calls = [path for path in server.paths if path.endswith("/chat/completions")]
    assert (answer.state, answer.status) == (state, "complete")
    assert answer.mode == ("quotes" if state == "doubtful" else "sentence")
    assert len(calls) == (2 if asked_twice and state == "answered" else 1)
    assert [one.answers for one in answer.citations] == [False]
    assert "14 days" in answer.text


@pytest.mark.parametrize(
    ("text", "value", "has"),
    [
        ("It costs 240.00 EUR.", "240", True),
        ("It costs 1,240 EUR.", "240", False),
        ("Open from 9:30.", "9:00 / 9", False),
        ("On the 27th.", "27", True),
        ("体检前8小时不要吃东西。", "8小时", True),
        ("The Borrower pays.", "lender / borrower", True),
    ],
)
def test_a_text_has_the_value_of_an_answer_set_and_no_other_number(
    text: str, value: str, has: bool
) -> None:
    assert has_value(text, SetQuestion("?", "words", value)) is has
