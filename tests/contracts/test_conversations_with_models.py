"""Turns of a conversation with a real model, over both wire formats: what goes wrong loses nothing.

The model is tiny: what it says is not asserted, only what became of the turn. In front of the
servers stands one that can hold a reply back, and see who hangs up.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pages.components.chat.streaming import unhurried
from rag import HttpTool, KnowledgeBase, Settings, Turn, Workspace
from tests.contracts.conftest import needs_model, needs_proxy
from tests.front_server import Front, in_front_of
from tests.model_server import ServerProcess, ollama_compatible, serving
from tests.servers import Reply, scripted
from tests.workspaces import QUICK, add

pytestmark = pytest.mark.server

WIRES = {"compatible": "smollm2", "ollama": "llama/smollm2"}
QUESTION = "Until when may leave be carried over?"
NEXT = "How many days of leave may be carried over?"
OFF_TOPIC = "zebra xylophone quartz"
NOTHING_FOUND = {"search.threshold": 0.99, "answer.tools": ["wiki"]}
LEAVE = "Unused leave may be carried over until 30 June of the next year."
MORE = {f"more-{n}.md": f"Leave number {n} may be carried over. " * 20 for n in range(12)}
ENDED = {"complete", "refused"}  # refused: the model says that the passages do not hold it
"""What even a tiny model repeats, under rules that are as short."""


class Rerun(BaseException):
    """As Streamlit ends the run of a page: no Exception, so nothing takes it for a failure."""


@dataclass
class Chat:
    """One conversation, asked as the page of the chat asks."""

    workspace: Workspace
    base: KnowledgeBase
    provider: str
    id: int

    def ask(
        self,
        question: str,
        mode: str = "strict",
        reading: Callable[[str], None] = lambda _: None,
        goes_on: Turn | None = None,
        **fields: Any,
    ) -> Turn:
        """The turn as another process finds it. ``reading`` gets each piece, "" while none comes.

        It may raise Rerun.
        """
        base, talk = self.base, self.base.conversations
        named = {"answer.provider": self.provider, "answer.model": WIRES[self.provider]}
        plain = {"answer.mode": mode, "answer.max_tokens": 24, "search.threshold": 0.1}
        quick = {"search.top_k": 1}  # a longer prompt takes the model seconds
        recipe = QUICK.with_fields({**named, **plain, **quick, **fields})
        history = talk.history(self.id)
        turn = goes_on.id if goes_on else talk.ask(self.id, question, recipe)
        assert self.stored().id == turn
        stream = base.answer(
            base.search(question, recipe, history=history), recipe, (), history, goes_on
        )
        with suppress(Rerun):
            try:
                for piece in unhurried(stream):
                    reading(piece)
            finally:
                stream.close()
                talk.conclude(turn, stream.answer)
        stored = self.stored()
        assert (stored.id, stored.question) == (turn, question)
        return stored

    def stored(self) -> Turn:
        """The last turn."""
        with closing(Workspace(Settings.from_env({}, home=self.workspace.settings.home))) as again:
            return again.base("handbook").conversations.turns(self.id)[-1]

    def goes_on(self) -> None:
        """The next question is answered."""
        turn = self.ask(NEXT, "general")
        assert turn.status in ENDED, turn.note
        assert turn.answer


@contextmanager
def conversation(home: Path, url: str, provider: str) -> Iterator[Chat]:
    """One with a base of a few documents, and a model at ``url``."""
    variables = {
        "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": f"{url}/v1",
        "OLLAMA_HOST": url,
        "TOUCHSTONE_ALLOW_PRIVATE_URLS": "1",
    }
    with closing(Workspace(Settings.from_env(variables, home=home))) as workspace:
        base = workspace.create("handbook", QUICK)
        add(workspace, base, {"leave.md": LEAVE, **MORE})
        yield Chat(workspace, base, provider, base.conversations.open(None))


# test_turns_survive.py has the replies of three servers
@pytest.fixture(params=["compatible", pytest.param("ollama", marks=pytest.mark.thorough)])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def front(provider: str, request: pytest.FixtureRequest) -> Iterator[Front]:
    """In front of the server of the session that speaks the wire format."""
    server = {"compatible": "model_server", "ollama": "ollama_proxy"}[provider]
    with in_front_of(request.getfixturevalue(server)) as made:
        yield made


@pytest.fixture
def chat(front: Front, provider: str, tmp_path: Path) -> Iterator[Chat]:
    with conversation(tmp_path, front.url, provider) as made:
        yield made


@pytest.fixture(scope="module")
def small() -> Iterator[ServerProcess]:
    """A model server with a small window, which a test may kill."""
    needs_model()
    with serving("small") as server:
        yield server


@pytest.fixture(scope="module")
def small_proxy(small: ServerProcess) -> Iterator[str]:
    needs_proxy()
    with ollama_compatible(small.url) as url:
        yield url


@pytest.fixture
def small_chat(
    small: ServerProcess, provider: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Chat]:
    url = small.url if provider == "compatible" else request.getfixturevalue("small_proxy")
    with conversation(tmp_path, url, provider) as made:
        yield made


def test_an_answer_comes_in_pieces(chat, front):
    heard = list[str]()

    def reading(piece: str) -> None:
        if piece and not front.open.is_set():  # the rest is held back until the first word is read
            heard.append(piece)
            front.open.set()

    front.open.clear()
    turn = chat.ask(QUESTION, reading=reading)
    assert turn.status in ENDED, turn.note
    assert len(heard) == 1
    assert 0 < len(heard[0]) < len(turn.answer)
    assert turn.details.prompt_version.startswith("strict@")
    assert turn.details.budget
    chat.goes_on()


def test_a_reader_stops_it_while_words_come(chat, front):
    heard = list[str]()

    def reading(piece: str) -> None:
        heard.append(piece)
        if len(list(filter(None, heard))) == 3:
            raise Rerun

    turn = chat.ask(QUESTION, "general", reading, **{"answer.max_tokens": 300})
    assert turn.status == "interrupted"
    assert turn.answer.startswith("".join(heard).strip())
    assert "Stopped before it was complete." in turn.note
    assert front.hung_up.wait(120)
    chat.goes_on()


def test_the_page_is_drawn_again_while_the_model_is_silent(chat, front):
    heard = list[str]()

    def reading(piece: str) -> None:
        heard.append(piece)
        if any(heard) and not piece:
            raise Rerun

    front.open.clear()
    turn = chat.ask(QUESTION, "general", reading)
    assert (turn.status, turn.answer) == ("interrupted", "".join(heard))
    assert turn.answer
    front.open.set()  # whoever waited for the next piece reads no further
    chat.goes_on()


@pytest.mark.thorough  # test_turns_survive.py has the replies of three servers
def test_a_prompt_longer_than_the_window_is_shortened_once(small_chat):
    turn = small_chat.ask(QUESTION, **{"search.top_k": 100, "search.candidates": 200})
    assert turn.status in ENDED, turn.note
    assert turn.answer
    [decision] = [each for each in turn.details.decisions if each.step == "context"]
    assert decision.chosen.startswith("asked again with ")
    assert "exceeds the available context size (1024 tokens)" in decision.why
    assert "The prompt was too long for the model and was shortened." in turn.note
    small_chat.goes_on()


@pytest.mark.thorough  # test_turns_survive.py breaks off replies of both forms
def test_a_server_that_is_killed_in_mid_answer(small_chat, small):
    def reading(piece: str) -> None:
        if piece:
            small.kill()

    long = {"answer.max_tokens": 600}
    broken = small_chat.ask(QUESTION, "general", reading, **long)
    assert broken.status == "interrupted"
    assert broken.answer
    assert "broke off" in broken.note
    down = small_chat.ask(NEXT, "general")
    assert (down.status, down.answer) == ("failed", "")
    assert down.note
    small.start()
    small_chat.goes_on()


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny model that does not decide would talk to the end of what it may."""
    monkeypatch.setattr("rag.answering.asking.sourcing.MOST_TOKENS", 60)


@pytest.mark.thorough  # test_answer_modes.py has every form of a decision
@pytest.mark.usefixtures("brief")
def test_a_decision_in_the_words_of_the_model(chat, front):
    with scripted(Reply(body='[{"text": "A zebra has stripes."}]')) as service:
        chat.workspace.tools.save(HttpTool(name="wiki", url=f"{service.url}/?q={{question}}"))
        turn = chat.ask(OFF_TOPIC, "auto", **NOTHING_FOUND)
        called = bool(service.paths)
    assert turn.status in ENDED, turn.note
    assert turn.answer
    assert turn.details.prompt_version.startswith("decide@")
    told = [each for each in turn.details.decisions if each.step == "sources"][-1]
    assert turn.mode == ("tool" if called else "general")
    assert called == told.chosen.startswith("tool ")
    if told.failed:  # what this model says is no decision; asked once more it is none either
        assert "the model's decision cannot be used: " in told.why
        assert len(front.bodies) == 3
    chat.goes_on()
