"""Uploads: archives, what was not read of many files, and another encoding of one."""

import json
from collections.abc import Callable, Sequence
from io import BytesIO

from streamlit.testing.v1 import AppTest

from rag import Amount, InvalidInput, Upload
from tests.answers import asked
from tests.pages.conftest import RECIPE
from tests.sample_files import zipped

OpenPage = Callable[..., AppTest]
GERMAN = "Die Pumpe wird jeden Freitag geprüft. Der Schlüssel zum Lager liegt beim Ingenieur."


def first(app: AppTest, kind: str, words: str) -> str:
    return next(one.value for one in app.get(kind) if words in one.value)


def test_an_archive_is_previewed_as_a_list_and_added_as_its_files(filled, open_page):
    base = filled.create("packed", RECIPE)
    app = open_page("documents.py", kb="packed")
    packed = zipped(**{"rules/dogs.md": "# Dogs\n\nNo dogs.", "rules/boats.md": "No boats."})
    app.file_uploader(key="documents_files_0").upload("rules.zip", packed)
    app.run()
    assert not app.exception
    assert "dogs" in first(app, "markdown", "boats")
    app.button(key="documents_add_now").click().run()
    filled.jobs.run(filled.jobs.recent(base.id)[0].id)
    rows = base.documents.documents(base.recipe().index)
    assert [row.name for row in rows] == ["rules/boats.md", "rules/dogs.md"]


def test_the_estimate_looks_at_some_files_of_each_type_and_comes_last(
    filled, open_page, monkeypatch
):
    app, seen = open_page("documents.py", kb=filled.create("blank", RECIPE).name), []

    def fails(_: object, amounts: Sequence[Amount], __: str) -> float:
        seen.append(amounts)
        raise InvalidInput("No estimate.")

    monkeypatch.setattr(type(filled.base("blank").documents), "seconds_to_add", fails)
    for number in range(30):
        app.file_uploader(key="documents_files_0").upload(f"{number}.txt", b"10 letters")
    app.run()
    assert len(seen[0]) <= 5
    assert sum(amount.characters for amount in seen[0]) == 300
    assert app.button(key="documents_add_now").label == "Add 30 files"
    assert app.selectbox(key="documents_first_file").value == "0.txt"


def test_after_an_upload_all_files_are_looked_at(filled, open_page):
    base = filled.create("many", RECIPE.with_fields({"index.embedder": "wordllama"}))
    texts = {f"a{number:02}.txt": f"The pump {number} is checked." for number in range(20)}
    for number in range(6):
        output = {"output_type": "display_data", "data": {"image/png": "x"}}
        cell = {"cell_type": "code", "source": f"pump({number})", "outputs": [output]}
        texts[f"n{number}.ipynb"] = json.dumps({"cells": [cell]})
    texts["z.txt"] = GERMAN
    uploads = [Upload(name, BytesIO(text.encode())) for name, text in texts.items()]
    job = base.documents.add_files(uploads)
    filled.jobs.run(job)
    app = open_page("documents.py", kb="many")
    app.session_state["documents_job"] = {base.id: job}
    app.run()
    assert "6 documents were not read whole: 6 pictures" in first(app, "markdown", "not read whole")
    assert "1 document seems to be in German" in first(app, "markdown", "seems to be in")


def test_a_guessed_encoding_can_be_another(filled, open_page):
    base = filled.base("notes")
    file = BytesIO("Das Boot kostet fünf Euro.".encode("mac_roman"))
    filled.jobs.run(base.documents.add_files([Upload("boat.txt", file)]))
    info = base.documents.documents(base.recipe().index)[0]
    app = open_page("documents.py", doc=info.id[:12])
    assert info.receipt is not None
    assert info.receipt.read["encoding"] == "mac_roman"
    app.selectbox(key="documents_encoding").select("cp850").run()
    assert not app.exception
    filled.jobs.run(filled.jobs.recent(base.id)[0].id)
    assert base.documents.document(info.id).text == "Das Boot kostet fƒnf Euro."
    assert "cp850" in first(open_page("documents.py", doc=info.id[:12]), "caption", "Read: ")


def test_a_long_path_keeps_its_file_in_tables_and_on_chips(filled, open_page):
    base = filled.create("deep", RECIPE)
    folder = "docs/content/benefits-pay-perks/benefits-perks"
    texts = {f"{folder}/bikes.md": "A bike costs 7 pounds.", f"{folder}/boats.md": "Boats are red."}
    filled.jobs.run(
        base.documents.add_files([Upload(n, BytesIO(t.encode())) for n, t in texts.items()])
    )
    tables = [one.value for one in open_page("documents.py", kb="deep").dataframe]
    (names,) = [table["Name"] for table in tables if "Status" in table]
    assert sorted(names) == ["…/benefits-perks/bikes.md", "…/benefits-perks/boats.md"]
    asked(base, "What does a bike cost?")
    talk = str(base.conversations.recent()[0].id)
    chips = open_page("chat.py", kb="deep", talk=talk).get("button_group")
    assert any("/bikes\\.md" in option for chip in chips for option in chip.options)
