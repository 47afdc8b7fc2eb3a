"""Answers from tables: a row is whole, for itself, named by its columns, and cited as it stands."""

import pytest

from rag import AnswerRecipe, Chunk, Document, Hit, Settings, Table, answering, providers
from rag.answering import PassageReader, Support, Vocabulary, quotes, rows_within
from rag.lexical import LexicalIndex
from rag.types import Heading, Page
from tests.answers import Scripted, trace

MINILM = providers.embedder("minilm", Settings.from_env({}))
TITLE = "7 Error codes"
CAPTION = "Codes that the display shows"
ROWS = [
    "Code\tMeaning\tWhat to do",
    "CV-115\tSpeed sensors disagree\tClean the window; call the service if it comes back",
    "CV-118\tRotor not recognised\tSeat the rotor again; look for iron filings",
    "CV-121\tLid open\tClose the lid",
    "Service only",
    "CV-900\t\tCall us",
]
TABLE = "\n".join(ROWS)
PROSE = "The display shows a code when an error stops the rotor. Write down the code you see."
TEXT = f"{TITLE}\n{PROSE}\n\n{CAPTION}\n{TABLE}\n\nThe rotor is cleaned weekly."
START = TEXT.index(TABLE)
MANUAL = Document(
    id="m" * 64,
    name="corvane-c16-manual.pdf",
    source="",
    media_type="application/pdf",
    text=TEXT,
    pages=(Page(1, 0, len(TEXT), "Corvane C16 manual"),),
    headings=(Heading(0, 1, TITLE),),
    tables=(Table(START, START + len(TABLE), ("Code", "Meaning", "What to do"), CAPTION),),
)
CV118 = "Code: CV-118 · Meaning: Rotor not recognised · What to do: " + ROWS[2].split("\t")[2]


class Held:
    """The manual, as the knowledge base reads it."""

    def document(self, hit: Hit) -> Document | None:
        return MANUAL if hit.chunk.document_id == MANUAL.id else None

    outline = document


def passage(start: int = 0, end: int = len(TEXT), rank: int = 1) -> Hit:
    chunk = Chunk(rank, MANUAL.id, start, end, TEXT[start:end], rank, TITLE, 1)
    return Hit(chunk, MANUAL.name, rank, 0.6, 0.6, {})


def said(hit: Hit) -> list[str]:
    return [each.text for each in PassageReader(Held()).statements(hit)]


def test_rows_are_statements_and_headings_captions_and_labels_are_none():
    first, second = PROSE.split(". ")
    assert said(passage()) == [
        f"{first}.",
        second,
        "Code: CV-115 · Meaning: Speed sensors disagree · What to do: "
        "Clean the window; call the service if it comes back",
        CV118,
        "Code: CV-121 · Meaning: Lid open · What to do: Close the lid",
        "Code: CV-900 · What to do: Call us",
        "The rotor is cleaned weekly.",
    ]


def test_the_row_of_the_code_answers_and_is_cited_as_it_stands():
    text, (citation,) = quotes(
        "What does error CV-118 mean?", [passage()], MINILM, PassageReader(Held())
    )
    assert text.startswith(f"“{CV118}” [1]")
    assert "CV-115" not in text
    assert "CV-121" not in text
    assert (citation.quote, citation.checked) == (ROWS[2], True)


@pytest.mark.parametrize("inside", [5, 20, 40])
def test_a_row_that_its_passage_cuts_is_whole_in_the_answer(inside):
    row = TEXT.index(ROWS[2])
    for hit in (passage(0, row + inside), passage(row + inside, len(TEXT))):
        text, (citation,) = quotes(
            "What does error CV-118 mean?", [hit], MINILM, PassageReader(Held())
        )
        assert text.startswith(f"“{CV118}” [1]")
        chunk = citation.hit.chunk
        assert citation.quote == ROWS[2]
        assert ROWS[2] in chunk.text
        assert chunk.text == TEXT[chunk.start : chunk.end]
        assert chunk.key == hit.chunk.key


def test_what_the_quote_does_not_hold_is_not_checked():
    for question in ("What is the weather in Paris?", "What does error CV-777 mean?"):
        _, citations = quotes(question, [passage()], MINILM, PassageReader(Held()))
        assert not any(citation.checked for citation in citations)


def test_a_word_that_the_document_is_named_by_need_not_be_in_the_row():
    _, (citation, *_) = quotes(
        "CV-118 on the Corvane C16", [passage()], MINILM, PassageReader(Held())
    )
    assert citation.checked


def test_rare_words_are_those_of_the_index():
    texts = [(n, "the rotor turns") for n in range(200)]
    index = LexicalIndex.empty("english").added([*texts, (200, "filings of iron")])
    words = Vocabulary(index, 201)
    asked = words.terms("iron at the rotor")
    assert words.rare(asked, ()) == words.terms("iron")
    rarity = words.rarities(asked, ())
    assert rarity["iron"] > 5 * rarity["rotor"]
    assert words.rare(words.terms("rotors turn"), ()) == words.terms("rotor turn")


def test_a_code_that_is_held_stands_for_words_that_nothing_at_hand_has():
    texts = [(n, "the rotor turns") for n in range(200)]
    index = LexicalIndex.empty("english").added([*texts, (200, "an error of display"), (201, "X9")])
    words = Vocabulary(index, 202)
    wanted, row = words.terms("What does error X9 mean?"), words.terms("X9 rotor not recognised")
    other = words.terms("the warranty ends with an error")
    assert Support(wanted, words, [row]).is_checked(row, frozenset())
    assert not Support(wanted, words, [row, other]).is_checked(row, frozenset())
    assert not Support(wanted, words, [row]).is_checked(words.terms("X8 rotor"), frozenset())


def test_a_prompt_names_the_columns_of_its_rows():
    row = TEXT.index(ROWS[2])
    found = trace([passage(row, row + len(ROWS[2]))], "What does CV-118 mean?")
    chat = Scripted("The rotor was not recognised [1].")
    answer = answering.answer(
        found, AnswerRecipe(), embedder=MINILM, chat=chat, sources=Held()
    ).answer
    assert 'columns="Code · Meaning · What to do"' in chat.asked[0][1].content
    assert 'columns="Code · Meaning · What to do"' in answer.prompt
    (citation,) = answer.citations
    assert (citation.quote, citation.checked) == (ROWS[2], True)


CHINESE = "未使用的年假最多可以结转八天。结转的年假必须在六月三十日之前使用。加班费每月十五日支付。"
RUSSIAN = (
    "Неиспользованный отпуск можно перенести на следующий год, но не более восьми дней. "
    "Расходы возмещаются в течение десяти дней. Чеки хранятся семь лет."
)


@pytest.mark.parametrize(
    ("analyzer", "text", "question", "answer"),
    [
        ("multilingual", CHINESE, "年假可以结转几天？", "未使用的年假最多可以结转八天。"),
        ("multilingual", CHINESE, "加班费什么时候支付？", "加班费每月十五日支付。"),
        ("russian", RUSSIAN, "Сколько лет хранить чеки?", "Чеки хранятся семь лет."),
        (
            "russian",
            RUSSIAN,
            "Сколько дней отпуска можно переносить?",
            "Неиспользованный отпуск можно перенести на следующий год, но не более восьми дней.",
        ),
    ],
)
def test_other_languages_are_quoted_by_their_own_words(analyzer, text, question, answer):
    index = LexicalIndex.empty(analyzer).added([(1, text)])
    chunk = Chunk(1, "d", 0, len(text), text, 0)
    hit = Hit(chunk, "d.txt", 1, 0.5, 0.5, {})
    quick = providers.embedder("wordllama", Settings.from_env({}))
    said, _ = quotes(question, [hit], quick, None, Vocabulary(index, 1))
    assert said.startswith(f"“{answer}” [1]")


PRICES = "part\tprice\nKM-7120-02\t%s"


def test_rows_with_other_figures_do_not_say_the_same():
    class Lists:
        def document(self, found: Hit) -> Document | None:
            text = PRICES % found.document
            table = Table(0, len(text), ("part", "price"))
            return Document(found.document, found.document, "", "text/csv", text, tables=(table,))

        outline = document

    def listed(price: str, rank: int) -> Hit:
        text = PRICES % price
        return Hit(Chunk(rank, price, 0, len(text), text, 0), price, rank, 0.6, 0.6, {})

    found = [listed("212.00", 1), listed("221.00", 2), listed("221.00", 3)]
    text, _ = quotes("Price of KM-7120-02", found, MINILM, PassageReader(Lists()))
    assert text.split("\n\n") == [
        "“part: KM-7120-02 · price: 212.00” [1]",
        "“part: KM-7120-02 · price: 221.00” [2]",
    ]


def test_a_figure_that_is_spelt_out_names_its_row():
    rows = ["Flask\tSpeed", "500 ml\t280 rpm", "2 l\t220 rpm", "5 l\t160 rpm"]
    text = "\n".join(rows)
    flasks = Document(
        "f", "s250.pdf", "", "", text, tables=(Table(0, len(text), ("Flask", "Speed")),)
    )

    class Flasks:
        def document(self, found: Hit) -> Document | None:
            return flasks

        outline = document

    found = Hit(Chunk(1, "f", 0, len(text), text, 0), "s250.pdf", 1, 0.6, 0.6, {})
    said, _ = quotes(
        "Highest shaking speed for a two litre flask", [found], MINILM, PassageReader(Flasks())
    )
    assert said.startswith("“Flask: 2 l · Speed: 220 rpm” [1]")


def test_the_row_of_the_very_thing_comes_before_one_that_is_named_longer():
    labels = ("No.", "Title", "Fee")
    text = "\n".join(
        (
            "L-35\tPool enclosure permit - violation\t$637",
            "L-33\tTransfer of a pool enclosure permit\t$106",
            "L-32\tPool enclosure permit\t$477",
        )
    )

    class Lists:
        def document(self, found: Hit) -> Document | None:
            table = Table(0, len(text), labels)
            return Document(found.document, found.document, "", "text/csv", text, tables=(table,))

        outline = document

    fees = [Hit(Chunk(1, "fees", 0, len(text), text, 0), "fees", 1, 0.6, 0.6, {})]
    quoted, _ = quotes(
        "What does a pool enclosure permit cost?", fees, MINILM, PassageReader(Lists())
    )
    assert quoted.startswith("“No.: L-32 · Title: Pool enclosure permit · Fee: $477” [1]")


def table_document(media_type: str, *rows: str) -> Document:
    """A document that is a table without labels."""
    text = "\n".join(rows)
    return Document("t" * 64, "x", "", media_type, text, tables=(Table(0, len(text)),))


def test_rows_of_a_sheet_have_the_title_of_their_block():
    rows = (
        "Entry on Friday",
        "Adults\tLong\t8.00",
        "\tShort\t6.00",
        "Entry on Wednesday (small hall)",
        "Adults\t5.00",
        "* Booked in advance.",
        "Pupils\t4.00",
        "Skates",
        "Standard\t3.50",
        "Total\t26.50",
    )
    sheet = table_document("text/csv", *rows)
    whole = (0, len(sheet.text))
    assert [row.text for row in rows_within(sheet, whole) if len(row.cells) > 1] == [
        "Entry on Friday · Adults · Long · 8.00",
        "Entry on Friday · Short · 6.00",
        "Entry on Wednesday (small hall) · Adults · 5.00",
        "Pupils · 4.00",
        "Skates · Standard · 3.50",
        "Total · 26.50",
    ]
    last = (sheet.text.index("Standard"), len(sheet.text))
    assert next(rows_within(sheet, last)).text == "Skates · Standard · 3.50"


def test_a_line_of_one_cell_in_a_pdf_may_go_on_with_the_row_above():
    printed = table_document("application/pdf", "Letters of", "Applicants\t3 years")
    whole = (0, len(printed.text))
    assert [row.text for row in rows_within(printed, whole)][-1] == "Applicants · 3 years"


def test_marks_within_cells_and_labels_are_not_quoted():
    text = "`port`\t**80**\t\\-<br />none\n# of days\t- 5\t\\-"
    labels = ("[`a.conf` setting](./configure)", "**Default**", "Note")
    table = Table(0, len(text), labels)
    document = Document("m" * 64, "x.md", "", "text/markdown", text, tables=(table,))
    rows = list(rows_within(document, (0, len(text))))
    assert [row.text for row in rows] == [
        "a.conf setting: port · Default: 80 · Note: \\- none",
        "a.conf setting: # of days · Default: - 5 · Note: -",
    ]
    assert rows[0].name == "port"


def test_rows_of_a_group_have_its_name():
    lines = ("Room\tUnit\tClubs\tOthers", "Old hall*", "\tDay\t35\t75", "\tHour\t5\t10")
    text = "\n".join((*lines, "New hall", "\tDay\t150\t", "Garden\tDay\t20\t40", "\tHour\t3\t6"))
    table = Table(0, len(text), ("Room", "Unit", "Clubs", "Others"))
    document = Document("d", "fees.tsv", "", "text/plain", text, tables=(table,))
    assert [row.text for row in rows_within(document, (0, len(text)))] == [
        "Room: Old hall* · Unit: Day · Clubs: 35 · Others: 75",
        "Room: Old hall* · Unit: Hour · Clubs: 5 · Others: 10",
        "Room: New hall · Unit: Day · Clubs: 150",
        "Room: Garden · Unit: Day · Clubs: 20 · Others: 40",
        "Unit: Hour · Clubs: 3 · Others: 6",
    ]
    part = text.index("\tHour\t5")
    (row,) = rows_within(document, (part, part + 5))
    assert row.name == "Old hall*"
