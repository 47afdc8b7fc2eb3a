"""The Documents page checks the documents against each other, and settles findings."""

import io
import json
from dataclasses import replace

from pages.components.shell.text import plain
from rag import Answer, Assessment, Trace, Upload
from tests.sample_files import workbook
from tests.unit.test_readers_receipts import deck
from tests.workspaces import QUICK, add


def test_copies_are_shown_and_settled(filled, open_page):
    base = filled.base("notes")
    meat = "Each grey cat gets fresh meat in the morning, weighed and cut. Then it sleeps. {}"
    add(filled, base, {"one.txt": meat.format("Or not."), "two.txt": meat.format("Or it does.")})
    turn = base.conversations.ask(base.conversations.open(None), "Do cats swim?", QUICK)
    trace = Trace("Do cats swim?", QUICK.hash, 3, None, (), (), 0.5)
    base.conversations.conclude(turn, Answer("", (), trace, "quotes", "refused"))
    app = open_page("documents.py")
    app.session_state[f"documents_examination_{base.id}"] = True
    app.run()
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
    base, question = filled.base("notes"), "What is the rent of the dwelling B-12?"
    add(filled, base, {"rents.csv": "dwelling,rent\nB-12,630\nB-13,700\n"})
    recipe = base.recipe()
    answer = base.answer(base.search(question, recipe), recipe).answer
    doubtful = replace(answer, assessment=Assessment("doubtful", "No passage has it."))
    turn = base.conversations.ask(base.conversations.open(None), question, recipe)
    base.conversations.conclude(turn, doubtful)
    app = open_page("documents.py")
    app.session_state[f"documents_examination_{base.id}"] = True
    app.run()
    (shown,) = [one.value for one in app.markdown if one.value.startswith("> ")]
    assert shown.replace("\\", "") == "> dwelling: B-12 · rent: 630"


def test_parts_that_were_not_read_are_shown_at_their_place(filled, open_page):
    base, buffer = filled.base("notes"), io.BytesIO()
    deck().save(buffer)
    upload = Upload("deck.pptx", io.BytesIO(buffer.getvalue()))
    filled.jobs.run(base.documents.add_files([upload]))
    (finding,) = base.documents.examinations.examine().open
    assert (finding.kind, finding.places[0].document) == ("unread", "deck.pptx")
    assert "1 hidden slide (slide 2)" in finding.summary
    app = open_page("documents.py")
    app.session_state[f"documents_examination_{base.id}"] = True
    app.run()
    app.button(f"examination_show_{finding.id}").click().run()
    assert not app.exception
    assert any("deck" in one.value for one in app.markdown if "pptx" in one.value)


def test_a_doubtful_answer_shows_its_nearest_passage_and_opens_in_the_inspector(filled, open_page):
    base, question = filled.base("notes"), "Why does the pump make a noise?"
    recipe = base.recipe()
    answer = base.answer(base.search(question, recipe), recipe).answer
    doubtful = replace(answer, assessment=Assessment("doubtful", "No passage has it."))
    turn = base.conversations.ask(base.conversations.open(None), question, recipe)
    base.conversations.conclude(turn, doubtful)
    (finding,) = base.documents.examinations.examine().open
    assert finding.nearest.document == answer.citations[0].hit.document
    assert finding.id == replace(finding, nearest=None).id
    app = open_page("documents.py")
    app.session_state[f"documents_examination_{base.id}"] = True
    app.run()
    said = [one.value for one in (*app.markdown, *app.caption)]
    assert f"Nearest passage: {plain(finding.nearest.document)}" in said
    assert f"> {plain(answer.citations[0].quote)}" in said
    app.button(f"examination_inspect_{finding.id}").click().run()
    assert not app.exception
    assert app.title[0].value == "Inspector"
    assert app.query_params["q"] == question


def test_editions_without_a_difference_show_no_table(filled, open_page):
    base = filled.base("notes")
    leave = "Unused leave goes into the next year where the head of the {} agrees in writing."
    add(
        filled,
        base,
        {"leave-2024.txt": leave.format("unit"), "leave-2025.txt": leave.format("team")},
    )
    app = open_page("documents.py")
    app.session_state[f"documents_examination_{base.id}"] = True
    app.run()
    app.button_group(key=f"examination_kind_{base.id}").set_value("editions").run()
    assert any("are editions of one document" in one.value for one in app.markdown)
    assert not any("difference" in expander.label for expander in app.expander)


def test_a_decision_for_an_edition_says_what_happens_next(filled, open_page):
    base = filled.base("notes")
    leave = "Unused leave goes into the next year where the head of the {} agrees in writing."
    add(
        filled,
        base,
        {"leave-2024.txt": leave.format("unit"), "leave-2025.txt": leave.format("team")},
    )
    app = open_page("documents.py")
    assert app.header[0].value == "5 documents"
    app.session_state[f"documents_examination_{base.id}"] = True
    app.run()
    app.button_group(key=f"examination_kind_{base.id}").set_value("editions").run()
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


def test_a_place_in_a_sheet_has_the_name_of_the_sheet(filled, open_page):
    base, question = filled.base("notes"), "What does the lathe cost?"
    rows = [["Tool", "Charge"], ["Lathe", "4 euros"], ["Saw", "2 euros"]]
    sheet = io.BytesIO(workbook(Rooms=[["Room", "Floor"], ["Hall", "1"]], Charges=rows))
    filled.jobs.run(base.documents.add_files([Upload("tools.xlsx", sheet)]))
    recipe = base.recipe()
    answer = base.answer(base.search(question, recipe), recipe).answer
    assert answer.citations[0].hit.document == "tools.xlsx"
    doubtful = replace(answer, assessment=Assessment("doubtful", "No passage has it."))
    turn = base.conversations.ask(base.conversations.open(None), question, recipe)
    base.conversations.conclude(turn, doubtful)
    app = open_page("documents.py")
    app.session_state[f"documents_examination_{base.id}"] = True
    app.run()
    said = [one.value.replace("\\", "") for one in app.caption]
    assert "Nearest passage: tools.xlsx, sheet Charges" in said
