"""What a model may draw on: passages alone, general knowledge, tools; each decision is told."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rag import (
    Answer,
    AnswerRecipe,
    Hit,
    Message,
    ProviderUnavailable,
    Settings,
    Trace,
    answering,
    providers,
)
from rag.answering.asking.model_answer import all_general, marked_general
from rag.answering.asking.prompt import GENERAL
from rag.answering.asking.sourcing import AnswerTool
from rag.errors import ContextOverflow
from rag.protocols import ChatModel
from rag.types import Usage
from tests.answers import Turns, hit, hits, trace

FAKE = providers.embedder("fake", Settings.from_env({}))
LEAVE = "Up to eight days of unused leave may be carried over. They lapse after 30 June."
FREEZER = "The freezer needs 150 mm of room behind it."
MISSES = (hit("near", 1, 0.2, document="near.md"),)
TALK = (Message("user", "Who works here?"), Message("assistant", "Forty people [1]."))


def ask(
    found: Trace, chat: ChatModel | None, mode: str, tools: Sequence[AnswerTool] = (), **more: Any
) -> Answer:
    recipe = AnswerRecipe.model_validate({"mode": mode, **more.pop("recipe", {})})
    beside = answering.Beside(more.pop("history", ()))
    return answering.answer(
        found, recipe, embedder=FAKE, chat=chat, beside=beside, tools=tools
    ).answer


def told(answer: Answer) -> list[tuple[str, str, bool]]:
    return [(each.step, each.chosen, each.failed) for each in answer.decisions]


def tool(name: str, reply: Callable[[str], Sequence[Hit]]) -> AnswerTool:
    return AnswerTool(name, "the state of the pumps", reply)


class TestStrict:
    def test_answers_from_the_passages(self):
        chat = Turns("Eight days [1].")
        answer = ask(trace(hits(LEAVE)), chat, "strict")
        assert (answer.text, answer.mode, answer.status) == (
            "Eight days [1].",
            "strict",
            "complete",
        )
        assert (told(answer), answer.note, answer.uncited) == ([], "", False)
        assert answer.prompt_version.startswith("strict@")

    def test_says_that_the_passages_do_not_hold_it(self):
        answer = ask(trace(hits(FREEZER)), Turns(answering.NO_ANSWER), "strict")
        assert answer.status == "refused"

    def test_without_passages_no_model_is_asked(self):
        chat = Turns("never")
        answer = ask(trace((), misses=MISSES), chat, "strict")
        assert (answer.status, answer.mode, chat.asked) == ("refused", "strict", [])

    def test_the_conversation_is_shown_as_material(self):
        chat = Turns("Eight days [1].")
        ask(trace(hits(LEAVE)), chat, "strict", history=TALK)
        system, user = chat.asked[0]
        assert 'by="user">\nWho works here?\n</turn-' in user.content
        assert "Earlier turns" in system.content


class TestCitations:
    def test_an_answer_without_any_is_asked_for_once_more(self):
        chat = Turns("Eight days.", "Eight days [1].", usage=Usage(10, 2))
        answer = ask(trace(hits(LEAVE)), chat, "strict")
        assert (answer.text, answer.uncited) == ("Eight days [1].", False)
        assert told(answer) == [("citations", "asked once more", False)]
        assert [message.role for message in chat.asked[1]] == [
            "system",
            "user",
            "assistant",
            "user",
        ]
        assert answer.usage == Usage(20, 4)

    def test_one_that_still_has_none_is_marked_and_the_quotes_stand_beside(self):
        answer = ask(
            trace(hits(LEAVE), "How many days of unused leave may be carried over?"),
            Turns("Eight days.", "Really eight."),
            "strict",
        )
        assert (answer.text, answer.status, answer.uncited) == ("Eight days.", "complete", True)
        assert told(answer) == [("citations", "asked once more", True)]
        assert answer.quotes[0].quote == "Up to eight days of unused leave may be carried over."

    def test_a_number_that_no_passage_has_is_no_citation(self):
        answer = ask(trace(hits(LEAVE)), Turns("Eight days [7].", "Eight [8]."), "strict")
        assert answer.uncited
        assert "[7]" in answer.note

    def test_a_second_request_that_fails_loses_nothing(self):
        chat = Turns("Eight days.", ProviderUnavailable("Gone."))
        answer = ask(trace(hits(LEAVE)), chat, "strict")
        assert (answer.text, answer.status, answer.uncited) == ("Eight days.", "complete", True)
        assert answer.decisions[0].why == "Gone."

    def test_grounded_asks_once_and_is_marked_all_the_same(self):
        chat = Turns("Eight days.")
        answer = ask(trace(hits(LEAVE)), chat, "grounded")
        assert (len(chat.asked), answer.uncited, told(answer)) == (1, True, [])
        assert answer.quotes


class TestBalanced:
    def test_paragraphs_that_cite_nothing_are_marked(self):
        answer = ask(
            trace(hits(LEAVE)), Turns("Eight days [1].\n\nIn Norway it is 25 days."), "balanced"
        )
        assert answer.text == ("Eight days [1].\n\nGeneral knowledge: In Norway it is 25 days.")
        assert told(answer) == [("general", "1 paragraph marked", False)]
        assert [answer.text[each.start : each.end] for each in answer.sentences] == [
            "Eight days [1]."
        ]

    def test_without_passages_it_is_general_knowledge(self):
        answer = ask(trace((), misses=MISSES), Turns("Paris."), "balanced")
        assert (answer.mode, answer.text, answer.uncited) == ("general", "Paris.", False)
        assert told(answer) == [("sources", "general knowledge", False)]

    @pytest.mark.parametrize(
        ("said", "marked", "added"),
        [
            ("One [1].", "One [1].", 0),
            ("**General knowledge:** x", "**General knowledge:** x", 0),
            ("# Title\n\nThese are:\n\n- a [1]\n\nb", None, 1),
            ("```\na\n\nb\n```\n\nc [1]", "```\na\n\nb\n```\n\nc [1]", 0),
        ],
    )
    def test_what_is_marked(self, said, marked, added):
        expected = marked or said.replace("\n\nb", "\n\nGeneral knowledge: b")
        assert marked_general(said) == (expected, added)


class TestGeneral:
    def test_shows_no_passages_and_needs_no_citation(self):
        chat = Turns("Paris.")
        answer = ask(trace(hits(LEAVE), "Capital of France?"), chat, "general")
        assert (answer.mode, answer.status, answer.uncited) == ("general", "complete", False)
        assert len(chat.asked) == 1
        assert LEAVE not in answer.prompt

    def test_a_citation_is_caught(self):
        answer = ask(trace(()), Turns("Paris [1]."), "general")
        assert answer.unsupported == (1,)
        assert "[1]" in answer.note


class TestWithoutAModel:
    def test_strict_quotes_as_before(self):
        answer = ask(trace(hits(LEAVE)), None, "strict")
        assert (answer.mode, answer.status, answer.note, told(answer)) == (
            "quotes",
            "complete",
            "",
            [],
        )

    @pytest.mark.parametrize("mode", ["balanced", "auto"])
    def test_other_modes_quote_and_say_that_they_need_one(self, mode):
        answer = ask(trace(hits(LEAVE)), None, mode)
        assert (answer.mode, answer.status) == ("quotes", "complete")
        assert mode in answer.note

    def test_general_has_nothing_to_say_without_one(self):
        answer = ask(trace(hits(LEAVE)), None, "general")
        assert (answer.status, answer.citations) == ("refused", ())
        assert "language model" in answer.text


class TestAuto:
    KNOWS = '{"use": "knowledge", "why": "everybody knows"}'
    CALL = (
        '{"use": "tool", "tool": "pumps", "arguments": {"question": "state of P-7"}, "why": "live"}'
    )

    def test_is_strict_where_a_passage_reaches_the_threshold(self):
        answer = ask(trace(hits(LEAVE)), Turns("Eight [1]."), "auto")
        assert (answer.mode, told(answer)) == ("strict", [("sources", "passages", False)])

    def test_without_tools_it_is_general_knowledge(self):
        answer = ask(trace((), misses=MISSES), Turns("Paris."), "auto")
        assert answer.mode == "general"
        assert "no tool" in answer.decisions[0].why

    def test_the_model_chooses_knowledge(self):
        chat = Turns(self.KNOWS, "Paris.")
        answer = ask(trace((), misses=MISSES), chat, "auto", [tool("pumps", lambda _: [])])
        assert (answer.mode, answer.text) == ("general", "Paris.")
        assert answer.decisions[0].why.endswith("; everybody knows")
        assert "- pumps: the state of the pumps" in chat.asked[0][0].content

    def test_a_failing_tool_is_said_and_not_called_more_often_than_allowed(self):
        calls = list[str]()

        def fail(question: str) -> Sequence[Hit]:
            calls.append(question)
            raise ProviderUnavailable("The tool pumps did not answer within 1 s.")

        again = self.CALL.replace("P-7", "P-8")
        chat = Turns(self.CALL, again, "Unknown.")
        answer = ask(trace((), misses=MISSES), chat, "auto", [tool("pumps", fail)])
        assert (calls, answer.mode) == (["state of P-7", "state of P-8"], "general")
        assert [each[1:] for each in told(answer)] == [
            ("tool pumps", False),
            ("pumps", True),
            ("tool pumps", False),
            ("pumps", True),
            ("general knowledge", False),
        ]
        assert len(answer.trace.failures) == 2

    @pytest.mark.parametrize(
        ("reply", "problem"),
        [
            ("I would ask pumps.", "there is no JSON object"),
            ('{"use": "tool", "tool": "pump', "there is no JSON object"),
            ('{"use": "magic"}', "Input tag 'magic'"),
            (CALL.replace("pumps", "bombs"), "there is no tool 'bombs', only pumps"),
            (CALL.replace("state of P-7", " "), "at least 1 character"),
            (CALL.replace('"state of P-7"', '["x"]'), "valid string"),
            (CALL.replace('"question"', '"url"'), "arguments.question"),
        ],
    )
    def test_a_decision_that_cannot_be_used_is_repaired_once(self, reply, problem):
        found = [tool("pumps", lambda _: hits("Runs."))]
        chat = Turns(reply, self.CALL, "Runs [1].")
        answer = ask(trace((), misses=MISSES), chat, "auto", found)
        assert answer.mode == "tool"
        assert problem in chat.asked[1][-1].content
        chat = Turns(reply, reply, "Paris.")
        answer = ask(trace((), misses=MISSES), chat, "auto", found)
        assert (answer.mode, told(answer)) == ("general", [("sources", "general knowledge", True)])
        assert problem in answer.decisions[0].why

    def test_no_call_is_allowed(self):
        chat = Turns("Paris.")
        answer = ask(
            trace((), misses=MISSES),
            chat,
            "auto",
            [tool("pumps", lambda _: hits("Runs."))],
            recipe={"tool_calls": 0},
        )
        assert answer.decisions[0].why.endswith("; no call of a tool is allowed")


class TestBudget:
    def test_every_token_is_accounted_for(self):
        answer = ask(
            trace(hits(LEAVE, FREEZER)),
            Turns("Eight [1]."),
            "strict",
            history=TALK,
            recipe={"context_tokens": 1000, "max_tokens": 200},
        )
        spent = {part.name: part for part in answer.budget}
        assert list(spent) == [
            "rules and question",
            "conversation",
            "examples",
            "passages",
            "answer",
        ]
        assert (spent["conversation"].most, spent["examples"].most) == (150, 125)
        assert (spent["answer"].used, spent["examples"].used) == (200, 0)
        assert sum(part.used for part in answer.budget) <= 1000
        taken = sum(spent[name].used for name in ("rules and question", "conversation"))
        assert spent["passages"].most == 1000 - 200 - taken

    def test_what_has_no_room_is_named(self):
        long = " ".join(["word"] * 300)
        talk = (Message("user", f"First {long}"), *TALK)
        answer = ask(
            trace(hits(LEAVE, long)),
            Turns("Eight [1]."),
            "strict",
            history=talk,
            recipe={"context_tokens": 600, "max_tokens": 100},
        )
        spent = {part.name: part for part in answer.budget}
        assert spent["passages"].left_out == ("2. doc-2.md",)
        assert len(spent["conversation"].left_out) == 1
        assert spent["conversation"].left_out[0].startswith("First word")
        assert "Who works here?" in answer.prompt

    def test_one_that_is_still_too_long_fails_with_what_the_provider_said(self):
        chat = Turns(ContextOverflow("Too long.", "Less."), ContextOverflow("Too long.", "Less."))
        answer = ask(trace(hits(LEAVE, " ".join(["word"] * 900))), chat, "strict")
        assert (answer.status, len(chat.asked)) == ("failed", 2)
        assert "Too long. Less." in answer.note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{GENERAL} Freezers are cold.", True),
        (f"{GENERAL} Freezers are cold.\n\n{GENERAL} Ovens are hot.\n", True),
        (f"{GENERAL} Freezers are cold.\n\nThey need 150 mm of room [1].", False),
        ("They need 150 mm of room [1].", False),
        ("", False),
        (" \n\n ", False),
    ],
)
def test_an_answer_is_general_where_all_its_paragraphs_are(text, expected):
    assert all_general(text) is expected


def test_a_reason_with_half_a_character_is_no_decision():
    chosen = '{"use": "knowledge", "why": "\\ud83d"}'
    answer = ask(
        trace(()),
        Turns(chosen, chosen, "Six."),
        "auto",
        [AnswerTool("t", "", lambda _question: ())],
    )
    assert [(each.chosen, each.failed) for each in answer.decisions] == [
        ("general knowledge", True)
    ]
    assert "unable to parse" in answer.decisions[0].why
