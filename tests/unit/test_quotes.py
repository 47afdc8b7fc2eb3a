"""Answers without a language model: statements of passages, and which of them are quoted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import (
    Answer,
    AnswerRecipe,
    Chunk,
    Document,
    Hit,
    Settings,
    answering,
    flowing,
    providers,
    unmarked,
    without_markup,
)
from rag.answering import PassageReader, quotes
from rag.answering.citations import in_quotation_marks, words_of_quotation
from rag.answering.extractive import OUTDATED
from rag.answering.markup import unmarked_cell
from rag.answering.reading import blank_running_heads, running_lines
from rag.answering.statements.sentences import sentence_spans, statements
from rag.types import Page
from tests.answers import hit, hits, trace

MINILM = providers.embedder("minilm", Settings.from_env({}))
QUESTION = "How long may unused leave be carried over?"
POLICY = """# 2.5 Carrying over

Leave should be taken in the year in which it is earned. Up to eight days of unused leave may be
carried over into the following year. Days that were carried over have to be taken by 30 June.
"""
OTHER = "Expenses are reimbursed within ten days. Receipts are kept for seven years."


def test_the_sentence_that_answers_comes_first():
    text, citations = quotes(QUESTION, hits(OTHER, POLICY), MINILM)
    first = "Up to eight days of unused leave may be carried over into the following year."
    assert text.startswith(f"“{first}” [1]")
    assert "Expenses" not in text
    assert (citations[0].n, citations[0].hit.rank) == (1, 2)
    assert " ".join(citations[0].quote.split()) == first
    assert citations[0].quote in POLICY


def test_the_same_every_time():
    found = hits(OTHER, POLICY, POLICY.upper())
    assert quotes(QUESTION, found, MINILM) == quotes(QUESTION, found, MINILM)


def test_what_was_said_is_not_said_again():
    text, _ = quotes(QUESTION, hits(POLICY, POLICY), MINILM)
    assert text.count("Up to eight days") == 1


def test_a_sentence_that_two_quotes_need_is_quoted_once():
    shared = "But employees receive 10% of the value of the company if it is sold."
    passage = (
        f"There are no plans to sell the company or to list its shares. {shared} That 10% would be "
        "divided into shares of the company, by the years of each of the employees."
    )
    text, _ = quotes("What do employees receive if the company is sold?", hits(passage), MINILM)
    assert text.count(shared) == 1


def test_headings_alone_are_quoted_only_when_there_is_nothing_else():
    text, citations = quotes("Carrying over?", hits("## Carrying over", OTHER), MINILM)
    assert "Carrying over" not in text
    assert (citations[0].n, citations[0].hit.rank) == (1, 2)
    alone, _ = quotes("Carrying over?", hits("## Carrying over"), MINILM)
    assert alone == "“Carrying over” [1]"


def test_a_table_row_is_quoted_with_its_columns():
    table = "| Model | Price |\n|---|---|\n| T12 | 640 EUR |\n| T30 | 910 EUR |"
    text, citations = quotes("What is the price of the T30?", hits(table), MINILM)
    assert text.startswith("“Model: T30 · Price: 910 EUR” [1]")
    assert citations[0].quote == "| T30 | 910 EUR |"


RULES = """# Laboratory

The laboratory may be entered by:

- trained staff
- visitors with a guide:
  - press
  - school classes

## Parking

Cars must have a sticker on the window. You get one:

1. at the gate.
2. from the caretaker.

Bicycles are welcome.
"""


@pytest.mark.parametrize(
    ("question", "quote", "of_document"),
    [
        (
            "Who may enter the laboratory?",
            "The laboratory may be entered by: trained staff; visitors with a guide: press; "
            "school classes",
            "trained staff\n- visitors with a guide:\n  - press\n  - school classes",
        ),
        (
            "Where do cars get a sticker for the window?",
            "Cars must have a sticker on the window. You get one: at the gate; from the caretaker",
            "Cars must have a sticker on the window. You get one:\n\n1. at the gate.\n"
            "2. from the caretaker.",
        ),
    ],
)
def test_a_list_is_quoted_whole_where_its_items_have_no_word_of_the_question(
    question, quote, of_document
):
    text, citations = quotes(question, [hit(RULES)], MINILM)
    assert text == f"“{quote}” [1]"
    assert citations[0].quote == of_document


STEPS = """# Servers

## Restart a server

Sometimes you need to restart a server, which takes a minute.

To restart:

```shell
# as root
serverctl restart
```

## Delete old logs

- [Delete old logs](#delete-old-logs)

Old logs are kept for a year. Ask the archive first.

1. Stop the server.
2. Run the command:
   ```shell
   rm -r logs
   ```

[archive]: https://archive.example/logs
"""


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        (
            "How do I restart the server?",
            "To restart: as root serverctl restart",
        ),
        (
            "How can I delete old logs?",
            "Old logs are kept for a year. Ask the archive first. 1. Stop the server. "
            "2. Run the command: rm -r logs",
        ),
        ("How long are old logs kept?", "Old logs are kept for a year."),
    ],
)
def test_a_question_for_a_procedure_is_answered_by_its_steps(question, quote):
    text, citations = quotes(question, [hit(STEPS)], MINILM)
    assert text.split("\n")[0] == f"“{quote}” [1]"
    assert citations[0].quote in STEPS


def test_a_link_within_the_document_and_the_target_of_one_are_no_statements():
    said = [one.text for one in statements(STEPS)]
    assert "Ask the archive first." in said
    assert not [text for text in said if text.startswith("[") or text == "Delete old logs"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("See Fig. 3 for e.g. this. Next.", ["See Fig. 3 for e.g. this.", "Next."]),
        ("As SP 800-131A Rev. 2 says. Next.", ["As SP 800-131A Rev. 2 says.", "Next."]),
        ("It takes a rev. The next is due.", ["It takes a rev.", "The next is due."]),
        ("In una lingua (es. C o Basic) va. Poi.", ["In una lingua (es. C o Basic) va.", "Poi."]),
        ("In 2023. Then more.", ["In 2023.", "Then more."]),
        ("Am 3. Mai. Ende.", ["Am 3. Mai.", "Ende."]),
        ("It costs 3.50 EUR. Cheap.", ["It costs 3.50 EUR.", "Cheap."]),
        ("He said “no.” She left.", ["He said “no.”", "She left."]),
        ("It is 9 euros.¹ A tour is 3.[^b] Ask.", ["It is 9 euros.¹", "A tour is 3.[^b]", "Ask."]),
        ("一。二。", ["一。", "二。"]),
        ("Es kostet 3 Mio. Euro. Gut.", ["Es kostet 3 Mio. Euro.", "Gut."]),
        ("Es sind 3 Mio. Das ist viel.", ["Es sind 3 Mio.", "Das ist viel."]),
        ("Call ext. 17. Now Tel. 412 is free. So.", ["Call ext. 17. Now Tel. 412 is free.", "So."]),
        ("It ran 5 min. Ann won 3 in min. 7.", ["It ran 5 min.", "Ann won 3 in min. 7."]),
        ("  no stop ", ["no stop"]),
        ("", []),
    ],
)
def test_sentences(text, sentences):
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@pytest.mark.parametrize(
    ("passage", "said"),
    [
        ("# Title\n\nA first fact.", ["A first fact."]),
        ("Short title\n\nA first fact.", ["A first fact."]),
        ("2.5 Carrying over\nA first fact.", ["A first fact."]),
        ("Leave lapses. It cannot be paid.", ["Leave lapses.", "Leave lapses. It cannot be paid."]),
        ("Allowed are:\n1. one\n2. two\n   more", ["Allowed are: one", "Allowed are: two more"]),
        ("It keeps:\n- names\n\n4. Late collection", ["It keeps: names", "Late collection"]),
        ("1. Bring:\na) a rope\nb) a lamp\n2. Go", ["1. Bring: a rope", "1. Bring: a lamp", "Go"]),
        (
            "We lend:\n- tools\n  * saws\n- bikes",
            [f"We lend: {w}" for w in ("tools", "saws", "bikes")],
        ),
        ("| only | header |\n|---|---|", []),
        ("| T12 | 640 EUR |\n| T30 | 910 EUR |", ["T12 · 640 EUR", "T30 · 910 EUR"]),
        ("**May I fly?** Only *abroad*, see `fly.md`.", ["May I fly? Only abroad, see fly.md."]),
        ("> Quoted by [us](https://a.example/b).", ["Quoted by us."]),
        ('One<br/>line, <a id="x"></a>two<br>.', ["One line, two ."]),
        (
            '<Tabs groupId="a">\n<TabItem value="b" label="in bash" default>\n```bash\nset max 10\n'
            "```\n</TabItem>\n</Tabs>",
            ["in bash set max 10"],
        ),
        (
            '<button target="https://a.example/b?c=d">\n  Apply for the grant\n</button>\n\n'
            "<Tabs>\n\n{{% /column %}}\n\n```ini\nport = 8\n\nhost = <name>.org",
            ["Apply for the grant", "port = 8", "host = <name>.org"],
        ),
        (
            'Press <button> for List<String> and Map<Tab, Note>, or set `<Tab id="x">`.',
            ['Press <button> for List<String> and Map<Tab, Note>, or set <Tab id="x">.'],
        ),
        (
            ":::note\n\nOne is held.\n\n:::\n\n::: tip\nTwo are.\n:::\n\n:::note[Do: this]\n\n"
            "Three are.\n\n:::\n\n:::{warning} See: that\n:::\n\n<ConfigTabs>\n\n</ConfigTabs>",
            ["One is held.", "Two are.", "Do: this", "Three are.", "See: that"],
        ),
        ("```md\n:::note\nSay this.\n```", [":::note Say this."]),
        (
            "> [!NOTE]\n> One is held.\n\n> \\[!TIP] Two\n> are.\n\n>[!warning]- Mind: this.",
            ["One is held.", "Two are.", "Mind: this."],
        ),
        ("See > [!NOTE] in the guide.", ["See > [!NOTE] in the guide."]),
        ('```xml\n<Note to="Ann">Call.</Note>\n```', ['<Note to="Ann">Call.</Note>']),
        (
            'Go to <NavPath path="Settings > Camera" />, not to `<NavPath path="Help" />`.',
            ['Go to Settings > Camera , not to <NavPath path="Help" />.'],
        ),
        ("Wear goggles <b>always</b>.", ["Wear goggles <b>always</b>."]),
        ("See <https://a.example/b> or `<br/>`.", ["See https://a.example/b or <br/>."]),
        (
            f"{'Then choose your name ' * 3}\nand click Log in\nYour name is at the top.",
            [f"{'Then choose your name ' * 3}and click Log in", "Your name is at the top."],
        ),
        ("It needs x**2 + y**2 steps.", ["It needs x**2 + y**2 steps."]),
        ("● one thing\n○ another", ["one thing", "another"]),
        (
            "As shown by Smith et al. (2020), it works.",
            ["As shown by Smith et al. (2020), it works."],
        ),
        (
            "CV-1\nLid open\nClose the lid of it; clean the\nlatch\nCV-2\nToo hot\nWait",
            ["CV-1 · Lid open · Close the lid of it; clean the latch", "CV-2 · Too hot · Wait"],
        ),
        (
            "- The lid is open. Penalty: 2 seconds. It is closed by the judge, who waits for it.",
            [
                "The lid is open. Penalty: 2 seconds.",
                "The lid is open. Penalty: 2 seconds. It is closed by the judge, who waits for it.",
            ],
        ),
        (
            "- Stop it. Open it. Clean it. Close it.",
            ["Stop it. Open it.", "Clean it. Close it."],
        ),
        (
            "Data is kept. (Since 3.3: 14 days.) Next.",
            ["Data is kept. (Since 3.3: 14 days.)", "Next."],
        ),
        (
            "Tell the safety officer about any danger. In particular, report fire doors that do "
            "not close. Instead of a form, a call will do. In addition to that, write it down.",
            [
                "Tell the safety officer about any danger.",
                "Tell the safety officer about any danger. In particular, report fire doors that "
                "do not close.",
                "Instead of a form, a call will do.",
                "In addition to that, write it down.",
            ],
        ),
        (
            "The following payments are due :-\n\nHalf of the rent is due at once.",
            ["Half of the rent is due at once."],
        ),
        ("1. Press one of:\n2. Wait a minute.\n", ["Wait a minute."]),
        ("- Name:\n- Phone:\n- Return it by Friday.\n", ["Return it by Friday."]),
        (
            f"[here](https://example.com/{'a' * 300}) We meet on Monday.",
            ["here We meet on Monday."],
        ),
        ("£7\n\nAdults\n\n£5\n\nChildren", ["£7", "£5"]),
        ("Prices\n\n£7\n\nAdults\n\n£5\n\nChildren", ["£7", "£5"]),
        (
            "Contact: Ann Forth, office 12 at the north entrance\nPhone: 0123 456789\n",
            ["Contact: Ann Forth, office 12 at the north entrance Phone: 0123 456789"],
        ),
        ("We sell tickets.\n\n£7", ["We sell tickets.", "£7"]),
        (
            "Flash point : 40 °C Method: closed cup\nBoiling point : 87.8 °C\nSolubility : good",
            [
                "Flash point : 40 °C Method: closed cup",
                "Boiling point : 87.8 °C",
                "Solubility : good",
            ],
        ),
        (
            "---\n\nEmployees get 25 days of leave.\n\n---\n\nThe office opens at nine.",
            ["Employees get 25 days of leave.", "The office opens at nine."],
        ),
        (
            "- If it rains: the pool closes early. Visitors get all of their fee back at the desk.",
            [
                "If it rains: the pool closes early.",
                "Visitors get all of their fee back at the desk.",
            ],
        ),
        ("---\n===", []),
        ("", []),
    ],
)
def test_statements(passage, said):
    assert [statement.text for statement in statements(passage)] == said


def test_an_endless_sentence_is_cut_between_words():
    found = statements("word " * 300)
    assert all(len(statement.quote) <= 400 for statement in found)
    assert " ".join(statement.text for statement in found) == ("word " * 300).strip()


@given(st.text(alphabet="aB1.:;|#-\n !?", max_size=120))
def test_statements_quote_the_passage_where_they_say(passage):
    for statement in statements(passage):
        end = statement.start + len(statement.quote)
        assert passage[statement.start : end] == statement.quote
        assert statement.quote.strip()


@given(st.text(alphabet="aB1.*`_[](|)#->\n ", max_size=120))
def test_words_are_found_where_they_were_when_marks_are_gone(text):
    spans = [(at, at + 1) for at, sign in enumerate(text) if sign in "aB"]
    said, moved = without_markup(text, spans)
    for (start, end), (low, high) in zip(spans, moved, strict=True):
        if high > low:  # else it was part of a link's address
            assert said[low:high] == text[start:end]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**B.&#xA0;**[Course](https://a.org?x=1&amp;y=2)&nbsp;fee", "B. Course fee"),
        ("Smith &amp; Sons: &lt;name&gt;, &#8364;5", "Smith & Sons: <name>, €5"),
        ("Write `&amp;` or **`&lt;`** for it", "Write &amp; or &lt; for it"),
        ("```xml\na &amp; b\n```\nC &amp; D", "\na &amp; b\n\nC & D"),
        ("<item>a &amp; b</item>", "<item>a &amp; b</item>"),
        ("?a=1&copy=2, AT&T; &unheard; \\&amp;", "?a=1&copy=2, AT&T; &unheard; \\&amp;"),
        ("&amp;lt;", "&lt;"),
        ("set max\\_run\\_time, or `a\\_b`", "set max_run_time, or a\\_b"),
        (
            "Form\\(s\\) \\(new\\), \\[name\\]; C:\\(x86) `\\(a\\)`",
            "Form(s) (new), [name]; C:\\(x86) \\(a\\)",
        ),
    ],
)
def test_entities_and_escapes_are_shown_as_their_characters(text, shown):
    assert unmarked(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See [the\nrules](https://a.org).", "See the\nrules."),
        ("See [locks](https://a.org/Lock_(water)) (here).", "See locks (here)."),
        ("array[i](foo)", "arrayi"),
        ("array[i\n+1](foo)", "array[i\n+1](foo)"),
        ("Item [see\n- other](z)", "Item [see\nother](z)"),
        ("Item [see\n2. other](z)", "Item [see\n2. other](z)"),
        ("Item [see\n# other](z)", "Item [see\nother](z)"),
        ("Item [see\n| a | other](z) |", "Item [see\na | other](z)"),
        ("[Caddy](https://a.org/C_(server)) or [b](<c (d).md> 'B')", "Caddy or b"),
        ('![](a.png)Go ![A map](b_(1).png "B")', "Go A map"),
        ("f[]() and [x]()", "f[]() and [x]()"),
        ("Press <kbd>Ctrl</kbd>, <strong>not</strong> <em>Alt</em>", "Press Ctrl, not Alt"),
        ("Write <em> before, or `<kbd>`", "Write <em> before, or <kbd>"),
    ],
)
def test_words_of_a_link_end_with_their_block(text, shown):
    assert unmarked(text) == shown


@pytest.mark.parametrize(
    "text", ["like so: q\\[abc\\]x", "see a\\[b\\] or not", "Backslash (\\) escapes", ".\\(x\\)"]
)
def test_backslashes_of_patterns_stand_in_quotes(text):
    assert unmarked(text) == text


def test_escaped_brackets_behind_marks_are_shown_without_backslashes():
    assert (
        unmarked("_\\[It's you\\] who\n\n[\\[PATCH\\] x](a)") == "_[It's you] who\n\n[[PATCH] x](a)"
    )


def test_tags_of_layout_are_not_quoted():
    text = '<aside class="a_b"><input id="x"> <label for="x">Ask her</label>, as </aside>'
    link = f'<a href="https://a.org/#{"x" * 400}">she says</a>'
    assert " ".join(unmarked(text + link).split()) == "Ask her , as she says"
    row = "</td>\n </tr>\n <tr>\n  <td>7\n  </td><td>A guest may\n  </td>\n  <td>pull"
    assert " ".join(unmarked(row).split()) == "7 A guest may pull"
    assert unmarked("The <td> tag, or `<td>`") == "The <td> tag, or <td>"


def test_entities_in_cells_are_shown_as_their_characters():
    assert unmarked_cell("*R&amp;D*&nbsp;1") == "R&D 1"


@given(
    st.lists(st.sampled_from(["a", "B", "&lt;", "&#xA0;", "**", "`", " ", "\n", "."]), max_size=40)
)
def test_words_are_found_where_they_were_when_entities_are_characters(parts):
    text = "".join(parts)
    spans = [(at, at + 1) for at, sign in enumerate(text) if sign in "aB"]
    said, moved = without_markup(text, spans)
    assert [said[low:high] for low, high in moved] == [text[start:end] for start, end in spans]


def test_a_quote_has_no_entities():
    text, (citation, *_) = quotes(
        "What does the course fee reduction allow?",
        hits("**B.&#xA0;**The course fee reduction allows courses for Smith &amp; Sons."),
        MINILM,
    )
    assert "The course fee reduction allows courses for Smith & Sons.” [1]" in text
    assert citation.quote.endswith("courses for Smith &amp; Sons.")


def _pages(*texts: str) -> Document:
    """A PDF of some pages with a running head."""
    text, pages = "", list[Page]()
    for number, words in enumerate(texts, start=1):
        start = len(text)
        text += f"Acme  |  Manual of the T30\nPage {number}\n{words}\n"
        pages.append(Page(number, start, len(text)))
    return Document("doc", "manual.pdf", "", "application/pdf", text, tuple(pages))


class _Held:
    """The sources of an answer: one document, or none any more."""

    def __init__(self, document: Document | None) -> None:
        self._document = document

    def document(self, hit: Hit) -> Document | None:
        return self._document


MANUAL = _pages("The pump is cleaned monthly.", "Open the lid of the pump.", "Close it.")


def _of_manual(start: int, end: int) -> Hit:
    chunk = Chunk(1, "doc", start, end, MANUAL.text[start:end], 0, page=MANUAL.page_at(start))
    return Hit(chunk, "manual.pdf", 1, 0.5, 0.5, {})


def test_running_heads_are_not_quoted_and_what_is_quoted_stands_where_it_says():
    found = _of_manual(0, len(MANUAL.text))
    question = "What does the manual of the T30 by Acme say about the pump on page 2?"
    text, citations = quotes(question, [found], MINILM, PassageReader(_Held(MANUAL)))
    assert "Acme" not in text
    assert "Page" not in text
    assert {line.split("”")[0] for line in text.split("\n\n")} <= {
        "“The pump is cleaned monthly.",
        "“Open the lid of the pump.",
        "“Open the lid of the pump. Close it.",
        "“Close it.",
    }
    assert citations[0].quote in MANUAL.text


def test_a_line_runs_on_two_pages_at_least_and_on_two_fifths_of_them():
    def lines(document: Document) -> list[str]:
        return [document.text[start:end] for start, end in running_lines(document)]

    head = "Acme  |  Manual of the T30"
    words = [f"Step {letter} is done." for letter in "abcdef"]
    once = _pages(*words[:2])
    assert [line for line in lines(once) if not line.startswith("Page")] == [head, head]
    twice = _pages("Handle with care.", *words[:3], "Handle with care.")
    assert lines(twice).count("Handle with care.") == 2
    of_six = _pages("Handle with care.", *words[:4], "Handle with care.")
    assert lines(of_six).count("Handle with care.") == 0
    assert lines(of_six).count(head) == 6


def test_a_citation_has_the_page_of_its_words_and_one_that_is_gone_says_so():
    at = MANUAL.text.index("cleaned")  # the passage begins in the last line of a page
    found = _of_manual(at, len(MANUAL.text))
    question = "How is the lid of the pump opened?"

    def answered(document: Document | None) -> Answer:
        return answering.answer(
            trace([found], question),
            AnswerRecipe(),
            embedder=MINILM,
            chat=None,
            sources=_Held(document),
        ).answer

    assert found.chunk.page == 1
    assert [(one.quote, one.page) for one in answered(MANUAL).citations][:1] == [
        ("Open the lid of the pump.", 2)
    ]
    assert answered(MANUAL).note == ""
    assert answered(None).note == "Deleted or replaced while this was answered: manual.pdf."


def test_what_only_repeats_the_question_is_not_quoted():
    table = "CV-1\nLid open\nClose it\nCV-2\nToo hot\nWait an hour"
    text, _ = quotes("What is CV-2?", hits("CV-2", table), MINILM)
    assert text == "“CV-2 · Too hot · Wait an hour” [1]"


def test_what_a_passage_cuts_off_is_not_quoted():
    whole = "The pump is oiled every week by the night shift."
    cut = "and oiled with the pump running. The pump is oiled by the day shift only when it"
    found = Hit(Chunk(9, "d", 40, 40 + len(cut), cut, 1), "d.md", 1, 0.9, 0.9, {})
    text, _ = quotes("When is the pump oiled?", [found, *hits(whole)], MINILM)
    assert text == f"“{whole}” [1]"
    alone, _ = quotes("When is the pump oiled?", [found], MINILM)
    assert "oiled" in alone


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What does “idle” mean?", "‘Idle’ means"),
    ],
)
def test_definitions_answer_only_questions_for_them(question, first):
    text, _ = quotes(
        question,
        hits(
            "2. ‘Idle’ means the stopping of a vehicle while the engine is running, and ‘idling’ "
            "has a corresponding meaning;",
            "4.1. No person shall cause or permit the idling of an unoccupied vehicle for more "
            "than five minutes in any period of sixty minutes.",
        ),
        MINILM,
    )
    assert first in text.partition("” [1]")[0]


def test_an_overlong_sentence_is_cut_behind_a_clause():
    clause = "the manager of the branch may approve a payment that exceeds the limit of the account"
    text = "; ".join([clause] * 8) + "."
    pieces = [statement.text for statement in statements(text)]
    assert len(pieces) == 2
    assert all(piece.endswith(("account;", "account.")) for piece in pieces)
    assert " ".join(pieces) == text


def test_under_an_answer_without_doubt_only_names_and_restrictions_are_missing():
    question = "How long may an employee carry unused leave over to the following year?"
    stream = answering.answer(
        trace(hits(POLICY), question), AnswerRecipe(), embedder=MINILM, chat=None
    )
    assert "".join(stream)
    assessment = stream.answer.assessment
    assert (assessment.state, assessment.missing) == ("answered", ())


def test_a_doubt_names_no_degree_as_missing():
    question = "What is the latest dress code for yoga employees?"
    stream = answering.answer(
        trace(hits(POLICY), question), AnswerRecipe(), embedder=MINILM, chat=None
    )
    assert "".join(stream)
    missing = stream.answer.assessment.missing
    assert "yoga" in missing
    assert "latest" not in missing


def test_lines_of_a_printed_page_flow_but_those_of_code_do_not():
    text = "It may, if\nit rains,\nbe late.\nNext\n\nsent\n```\ncd a\ngit pull\n```"
    assert flowing(text) == (
        "It may, if it rains, be late.\nNext\n\nsent\n```\ncd a\ngit pull\n```"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('You say "Stop! Up in four" and wait. Then go.', 2),
        ("Er ruft “Halt! Hier” und wartet. Dann geht er.", 2),
        ('He said "Stop!" Ada went home.', 2),
        ('A 5" tube is here. Another 6" tube is there.', 2),
        ('It is "open. Nobody closed the quotation here. Go on.', 3),
    ],
)
def test_no_sentence_ends_within_a_quotation(text, expected):
    texts = [statement.text for statement in statements(text)]
    assert len(texts) == expected
    assert " ".join(texts).startswith(text[:20])


@pytest.mark.parametrize(
    ("statement", "quotation"),
    [
        ("The report is generated.", "“The report is generated.”"),
        ('The report is generated."', "“The report is generated.”"),
        ("The report is generated.”", "“The report is generated.”"),
        ("“The report is generated.", "“The report is generated.”"),
        ('"The report is generated."', "“The report is generated.”"),
        ("“The report is generated.”", "“The report is generated.”"),
        ('He said "it is generated."', "“He said ‘it is generated.’”"),
        ("“Yes” and “no” differ.", "“‘Yes’ and ‘no’ differ.”"),
        ('The "report" is generated.', '“The "report" is generated.”'),
        ("", "“”"),
        ('"', "“”"),
    ],
)
def test_no_mark_stands_twice_at_the_end_of_a_quotation(statement, quotation):
    assert in_quotation_marks(statement) == quotation
    assert words_of_quotation(quotation) == words_of_quotation(statement)


def test_the_end_of_a_sentence_is_no_running_line():
    end = "left and draw cards until the row is full."
    pages = [f"Rules of the game {n}\n{end}\n" for n in (1, 2)]
    text = "".join(pages)
    cut = len(pages[0])
    document = Document(
        "d",
        "rules.pdf",
        "rules.pdf",
        "application/pdf",
        text,
        pages=(Page(1, 0, cut), Page(2, cut, len(text))),
    )
    chunk = Chunk(1, "d", 0, len(text), text, 0)
    shown = blank_running_heads(chunk, running_lines(document)).split("\n")
    assert [line.strip() for line in shown] == ["", end, "", end, ""]


@pytest.mark.parametrize(
    ("outdated", "first"), [(0.0, "leave-2023.md"), (OUTDATED, "leave-2025.md")]
)
def test_like_sentences_are_quoted_from_the_edition_in_force(monkeypatch, outdated, first):
    monkeypatch.setattr("rag.answering.extractive.OUTDATED", outdated)
    editions = [
        hit("Unused annual leave lapses at the end of the year.", 1, document="leave-2023.md"),
        hit("At the end of the year, unused annual leave lapses.", 2, document="leave-2025.md"),
    ]
    _, citations = quotes(
        "When does unused annual leave lapse?",
        editions,
        providers.embedder("fake", Settings.from_env({})),
    )
    assert citations[0].hit.document == first
