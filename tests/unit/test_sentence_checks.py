"""Sentences of answers against what they cite: figures, names, words, and marks of citations."""

from unittest.mock import Mock

import pytest

from rag import Citation, SentenceCheck, Settings, providers
from rag.answering.checking import SentenceChecker
from rag.answering.checking.check import claims
from rag.answering.checking.figures import KnownFigures, figures
from tests.answers import hits

FAKE = providers.embedder("fake", Settings.from_env({}))

LEAVE = (
    "Up to eight days of unused leave may be carried over into the following year. They have to "
    "be taken by 30 June 2026. Up to 1,500 EUR are paid by the head of the department."
)
SPEED = "The Corvane C16R turns at 15 000 rpm. The Isotide T30 weighs 42.5 kg."


def checked(text: str, *passages: str, question: str = "Why?") -> list[SentenceCheck]:
    cited = [Citation(n, hit) for n, hit in enumerate(hits(*(passages or (LEAVE, SPEED))), 1)]
    return list(SentenceChecker(question, cited).check(text))


def verdicts(text: str, *passages: str) -> list[str]:
    return [each.verdict for each in checked(text, *passages)]


@pytest.mark.parametrize(
    ("said", "passage"),
    [
        ("1000", "1,000"),
        ("1,000", "1000"),
        ("1 000", "1.000"),
        ("15,000 rpm", "15 000 rpm"),
        ("1.500,50", "1,500.50"),
        ("8.9", "8,9 kWh"),
        ("8", "eight days"),
        ("4", "from the fourth day"),
        ("25", "twenty-five"),
        ("2 million", "2,000,000"),
        ("0.5", "half of it"),
        ("2026-06-30", "30 June 2026"),
        ("30.6.2026", "on 2026-06-30"),
        ("30 June 2026", "30/06/2026"),
        ("15%", "15 percent"),
        ("CV-118", "error cv 118"),
        ("U700", "the Boreal U 700"),
        ("V8X", "Hollin V8X"),
        ("年假為15天", "員工每年有15天年假"),
        ("休暇は20日です", "年次有給休暇は２０日"),
        ("총15일입니다", "연차 15일"),
        ("型號CV118需要40巴", "CV-118 40 bar"),
        ("CV118", "型號CV118需要"),
        ("EUR1,500", "EUR 1,500"),
        ("1,00,000", "100000 rupees"),
        ("10,5 Mio.", "10.5 million"),
        ("2 Milliarden", "2,000,000,000"),
        ("-5 °C", "It is −5 °C."),
        ("−5 °C", "at 5 °C below zero"),
        ("-5", "at –5 °C"),
        ("5 °C", "at −5 °C"),
        ("3-5 days", "3 to 5 days"),
        ("3/4 of it", "three quarters of it"),
        ("3/4", "¾ of the staff"),
        ("¾", "0.75 of it"),
        ("½ hour", "half an hour"),
        ("½", "1/2"),
        ("1 1/2 hours", "1.5 h"),
        ("1½ hours", "one and a half hours"),
        ("2⅓", "2 1/3"),
        ("2/3", "zwei Drittel"),
        ("3/4", "3 of 4 answered"),
        ("sizes 4/6", "sizes 4 and 6"),
        ("220 V", "110/220 V"),
        ("24/7", "24 hours on 7 days"),
        ("15 %", "15 percent"),
        ("15 %", "Share (%): 15"),
        ("15 days", "15-day notice"),
        ("15 days", "15 working days"),
        ("15 min", "15 Minuten"),
        ("15 EUR", "€15"),
        ("EUR 1,500", "1500 euros"),
        ("2 million EUR", "EUR 2,000,000"),
        ("15 days", "15 % on 15 days"),
    ],
)
def test_a_figure_is_there_however_it_is_written(said, passage):
    known = KnownFigures(passage)
    assert [each.text for each in figures(said) if not known.holds(each)] == []
    assert list(figures(said))


@pytest.mark.parametrize(
    ("said", "passage"),
    [
        ("1,000", "1,001"),
        ("15 000", "15 and 0"),
        ("2026-06-30", "30 July 2026"),
        ("CV-118", "CV-1180 and XCV-118"),
        ("U700", "700 kg"),
        ("9", "eight days"),
        ("0.5", "5"),
        ("118", "CV-118"),
        ("共15天", "共有14天"),
        ("型號CV118", "型號CV119"),
        ("EUR1,500", "EUR 500"),
        ("-5 °C", "at 5 °C"),
        ("(−5)", "5"),
        ("10,5 Mio.", "10.5"),
        ("3/4", "1/4 of it"),
        ("½", "¼"),
        ("½", "1½ hours"),
        ("3/4", "3 days; then 4"),
        ("1 1/2", "1 hour, 2 days"),
        ("15 %", "15 days"),
        ("15 days", "15 %"),
        ("15 days", "15 minutes"),
        ("15-day", "15 h"),
        ("15 EUR", "15 kg"),
        ("$15", "EUR 15"),
        ("8 %", "eight days"),
        ("2 million EUR", "2 million USD"),
    ],
)
def test_another_figure_is_not(said, passage):
    known = KnownFigures(passage)
    assert [each.text for each in figures(said) if known.holds(each)] == []


def test_list_numbers_marks_of_citations_and_number_words_are_no_figures():
    text = "1. Take two of them [1].\n2. Wait [2]."
    assert [list(figures(claim.text)) for claim in claims(text)] == [[], []]


@pytest.mark.parametrize("marks", ["“{}”", "„{}“", "«{}»"])
def test_list_numbers_of_quotes_are_no_figures(marks):
    assert list(figures(marks.format("3. Pay the fee"))) == []
    assert [figure.text for figure in figures(marks.format("3 days"))] == ["3"]


def test_marks_belong_to_the_sentence_before_them_or_else_behind():
    text = "[2] says one. Another is so. [1] A third [1, 2]. A fourth.[3]\n- item [2]\n\nLast."
    assert [(claim.text, claim.cited) for claim in claims(text)] == [
        ("says one.", (2,)),
        ("Another is so.", (1,)),
        ("A third .", (1, 2)),
        ("A fourth.", (3,)),
        ("item", (2,)),
        ("Last.", ()),
    ]
    whole = [text[claim.start : claim.end] for claim in claims(text)]
    assert whole[1:4] == ["Another is so. [1]", "A third [1, 2].", "A fourth.[3]"]


def test_headings_and_what_leads_in_claim_nothing():
    text = (
        "# Leave\n\nThese hold:\n\n| Kind | Days |\n|---|---|\n| carried over | 8 [1] |\n\nClear?"
    )
    assert [(claim.text, claim.cited) for claim in claims(text)] == [("carried over | 8", (1,))]


def test_a_quotation_is_one_claim():
    text = "It says “Wait. Then go.” [1] Nothing “ends here. But goes on."
    assert next(claim.text for claim in claims(text)) == "It says “Wait. Then go.”"
    quoted = "“See [3]. Then go.” [1]\n\n“Other.” [2]"
    assert [(claim.text, claim.cited) for claim in claims(quoted, quoted=True)] == [
        ("“See [3]. Then go.”", (1,)),
        ("“Other.”", (2,)),
    ]


def test_every_quote_in_a_table_of_two_things_is_one_claim():
    table = "| | A1 | B2 |\n|---|---|---|\n| Speed | “1.4 m³/h” [1] | “2.3 m³/h” [2] |\n"
    quoted = table + "| Ultimate vacuum | — | “2 mbar” [2] |"
    assert [(claim.text, claim.cited) for claim in claims(quoted, quoted=True)] == [
        ("“1.4 m³/h”", (1,)),
        ("“2.3 m³/h”", (2,)),
        ("“2 mbar”", (2,)),
    ]
    last = claims(quoted, quoted=True)[-1]
    assert quoted[last.start : last.end] == "“2 mbar” [2]"


def test_verdicts():
    text = (
        "You may carry over eight days of unused leave [1]. The C16R turns at 15,000 rpm [2]. "
        "The department head pays up to 1500 EUR. Bananas grow in warm countries [2]."
    )
    assert verdicts(text) == ["supported", "supported", "uncited", "unsupported"]


def test_a_number_that_no_cited_passage_has_is_always_marked():
    (cited,) = checked("Unused leave of 13 days may be carried over into the following year [1].")
    assert (cited.verdict, cited.figures) == ("unsupported", ("13",))
    assert cited.reasons == ("no cited passage has 13",)
    (bare,) = checked("Up to 13 days may be carried over.")
    assert (bare.verdict, bare.figures) == ("uncited", ("13",))
    (code,) = checked("The Corvane C17R turns at 15 000 rpm [2].")
    assert code.figures == ("C17R",)


def test_a_number_of_another_unit_is_no_support():
    (found,) = checked("Up to 8 % of unused leave may be carried over into the next year [1].")
    assert found.verdict == "unsupported"
    assert found.reasons[0] == "the passage has 8 in another unit"
    assert found.figures == ("8",)
    fraction = "Three quarters of unused leave may be carried over."
    (wrong,) = checked("1/4 of unused leave may be carried over [1].", fraction)
    assert (wrong.verdict, wrong.figures) == ("unsupported", ("1/4",))
    assert verdicts("¾ of unused leave may be carried over [1].", fraction) == ["supported"]


def test_a_figure_of_another_passage_than_the_cited_one():
    (found,) = checked("Up to eight days are carried over, 42.5 kg [1]. [3] was not asked.")[:1]
    assert found.figures == ()
    assert "a passage that is not cited has 42.5" in found.reasons


def test_a_figure_from_elsewhere_in_its_passage():
    passage = "Wash the condenser filter every 2 months. Check the door seal every 6 months."
    (found,) = checked("The condenser filter is washed every 6 months [1].", passage)
    assert found.reasons == ("where the passage says this, it has another number than 6",)
    assert verdicts("The condenser filter is washed every 2 months [1].", passage) == ["supported"]


def test_amounts_in_words_are_held_against_those_of_the_passage():
    (found,) = checked("Up to nine days of unused leave may be carried over [1].")
    assert found.reasons == ("the passage has another number than “nine days”",)


def test_names_that_the_passage_lacks():
    (found,) = checked("The weight of the Isotide from Hollin is 42.5 kg [2].")
    assert found.reasons == ("the passage does not name Hollin",)


def test_a_citation_that_was_not_given():
    (found,) = checked("Up to eight days of unused leave may be carried over [7].")
    assert found.reasons[0] == "[7] is not one of the passages"
    assert found.verdict == "unsupported"


@pytest.mark.parametrize("said", ["5 000 rpm. [1]", "2.5 kg. [1]", "It weighs 2.5 kg. [1]"])
def test_a_figure_that_is_only_the_end_of_another_is_marked(said):
    (found,) = checked(said, SPEED)
    assert (found.verdict, bool(found.figures)) == ("unsupported", True)


def test_a_sentence_in_other_words_is_held_against_the_statements_nearest_to_it():
    embedder = Mock(wraps=FAKE)
    passage = (
        "Lunch is at noon. Old machines and cables are sold to museums abroad before winter, in "
        "wooden crates, by lorry and ship. Old machines rattle. The office opens at eight. "
        "Machines are oiled."
    )
    cited = [Citation(n, hit) for n, hit in enumerate(hits(passage), 1)]
    checker = SentenceChecker("Why?", cited, embedder=embedder)
    (found,) = checker.check("Old machines rattle loudly every evening [1].")
    assert found.cosine is not None
    assert embedder.embed.call_args.args[0] == [
        "Old machines rattle loudly every evening .",
        "Old machines rattle.",
        "Machines are oiled.",
        "Old machines and cables are sold to museums abroad before winter, in wooden crates, by "
        "lorry and ship.",
    ]
