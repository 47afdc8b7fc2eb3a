"""The Documents page checks the documents against each other, and settles findings."""

import io
import json
from dataclasses import replace

from streamlit.testing.v1 import AppTest

from pages.components.shell.text import plain
from rag import Answer, Assessment, KnowledgeBase, Trace, Upload
from tests.answers import asked
from tests.sample_files import workbook
from tests.unit.test_readers_receipts import deck
from tests.workspaces import QUICK, add


def _examined(open_page, base: KnowledgeBase) -> AppTest:
    """The page, with what the documents are checked for."""
    app = open_page("documents.py")
    app.session_state[f"documents_examination_{base.id}"] = True
    return app.run()


def _doubted(base: KnowledgeBase, question: str) -> Answer:
    """An answer that a conversation has as a doubtful one."""
    answer = base.ask(question, base.recipe()).answer
    doubtful = Assessment("doubtful", "No passage has it.")
    asked(base, question, answer=replace(answer, assessment=doubtful))
    return answer


def test_copies_are_shown_and_settled(filled, open_page):
    base = filled.base("notes")
    meat = "Each grey cat gets fresh meat in the morning, weighed and cut. Then it sleeps. {}"
    add(filled, base, {"one.txt": meat.format("Or not."), "two.txt": meat.format("Or it does.")})
    trace = Trace("Do cats swim?", QUICK.hash, 3, None, (), (), 0.5)
    asked(base, "Do cats swim?", QUICK, answer=Answer("", (), trace, "quotes", "refused"))
    app = _examined(open_page, base)
    assert any(plain("one.txt and two.txt") in each.value for each in app.markdown)
    assert not any("Do cats swim" in each.value for each in app.markdown)
    kind = f"examination_kind_{base.id}"
    app.button_group(key=kind).set_value("unanswered").run()
    assert any("Do cats swim" in each.value for each in app.markdown)
    app.button_group(key=kind).set_value("copies").run()
    finding = base.documents.examinations.examine().open[0]
    app.button(f"examination_ignore_{finding.id}").click().run()
    assert not app.exception
    assert [row.decision for _, row in base.documents.examinations.examine().settled] == ["ignore"]
    assert any("ignored" in each.value for each in app.caption)


def test_a_row_of_a_table_is_shown_with_the_names_of_its_columns(filled, open_page):
    base = filled.base("notes")
    add(filled, base, {"rents.csv": "dwelling,rent\nB-12,630\nB-13,700\n"})
    _doubted(base, "What is the rent of the dwelling B-12?")
    app = _examined(open_page, base)
    (shown,) = [one.value for one in app.markdown if one.value.startswith("> ")]
    assert shown.replace("\\", "") == "> dwelling: B-12 · rent: 630"


def test_a_place_in_a_sheet_has_the_name_of_the_sheet(filled, open_page):
    base = filled.base("notes")
    rows = [["Tool", "Charge"], ["Lathe", "4 euros"], ["Saw", "2 euros"]]
    sheets = workbook(Rooms=[["Room", "Floor"], ["Hall", "1"]], Charges=rows)
    add(filled, base, {"tools.xlsx": sheets})
    answer = _doubted(base, "What does the lathe cost?")
    assert answer.citations[0].hit.document == "tools.xlsx"
    said = [one.value.replace("\\", "") for one in _examined(open_page, base).caption]
    assert "Nearest passage: tools.xlsx, sheet Charges" in said


def test_parts_that_were_not_read_are_shown_at_their_place(filled, open_page):
    base, buffer = filled.base("notes"), io.BytesIO()
    deck().save(buffer)
    upload = Upload("deck.pptx", io.BytesIO(buffer.getvalue()))
    filled.jobs.run(base.documents.add_files([upload]))
    (finding,) = base.documents.examinations.examine().open
    assert (finding.kind, finding.places[0].document) == ("unread", "deck.pptx")
    assert "1 hidden slide (slide 2)" in finding.summary
    app = _examined(open_page, base)
    app.button(f"examination_show_{finding.id}").click().run()
    assert not app.exception
    assert any("deck" in one.value for one in app.markdown if "pptx" in one.value)


def test_a_doubtful_answer_shows_its_nearest_passage_and_opens_in_the_inspector(filled, open_page):
    base, question = filled.base("notes"), "Why does the pump make a noise?"
    answer = _doubted(base, question)
    (finding,) = base.documents.examinations.examine().open
    assert finding.nearest.document == answer.citations[0].hit.document
    assert finding.id == replace(finding, nearest=None).id
    app = _examined(open_page, base)
    said = [one.value for one in (*app.markdown, *app.caption)]
    assert f"Nearest passage: {plain(finding.nearest.document)}" in said
    assert f"> {plain(answer.citations[0].quote)}" in said
    app.button(f"examination_inspect_{finding.id}").click().run()
    assert not app.exception
    assert app.title[0].value == "Inspector"
    assert app.query_params["q"] == question


def test_a_decision_for_an_edition_says_what_happens_next(filled, open_page):
    base = filled.base("notes")
    leave = "Unused leave goes into the next year where the head of the {} agrees in writing."
    texts = {"leave-2024.txt": leave.format("unit"), "leave-2025.txt": leave.format("team")}
    add(filled, base, texts)
    app = open_page("documents.py")
    assert app.header[0].value.startswith("5 documents")
    app.session_state[f"documents_examination_{base.id}"] = True
    app.run()
    app.button_group(key=f"examination_kind_{base.id}").set_value("editions").run()
    assert any("are editions of one document" in one.value for one in app.markdown)
    assert not any("difference" in expander.label for expander in app.expander)  # none is shown
    (finding,) = [
        one for one in base.documents.examinations.examine().open if one.kind == "editions"
    ]
    new, old = finding.places
    app.button(f"examination_keep_{finding.id}_{new.document_id[:8]}").click().run()
    assert not app.exception
    assert [one.value for one in app.success] == [
        plain(
            f"{old.document} is now left out of search. You don't need to build an index. To see "
            "the effect on the metrics, evaluate again on the Metrics page. To undo the decision, "
            "click Reopen in the list of settled findings below."
        )
    ]
    assert "1 of them is left out of search." in [one.value for one in app.caption]
    drawn = next(one for one in app.dataframe if "Status" in one.value)
    table = drawn.value
    assert json.loads(drawn.proto.columns)["Status"]["width"] == 140  # the status is not cut
    status = dict(zip(table["Name"], table["Status"], strict=True))
    assert (status[old.document], status[new.document]) == ("left out of search", "ready")
    app.run()
    assert not app.success
    base.documents.examinations.reopen(finding.id)
    app.run()
    assert not any("of them is left out" in one.value for one in app.caption)
