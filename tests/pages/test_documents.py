"""The Documents page: what is in, adding, cutting, building, deleting."""

from collections.abc import Callable
from io import BytesIO

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Expander

from pages.components.documents.first_upload import segments, windows
from rag import Chunk, Recipe, Upload, readers
from rag.library.documents.ingestion import Ingestion
from tests.pages.conftest import DOCUMENTS, RECIPE, fill
from tests.unit.test_readers_receipts import deck

OpenPage = Callable[..., AppTest]


def _first(app: AppTest, kind: str, words: str) -> str:
    return next(one.value for one in app.get(kind) if words in one.value)


def _bases_list(app: AppTest) -> Expander:
    (found,) = [each for each in app.expander if "knowledge base" in each.label]
    return found


def test_the_table_lists_the_documents(filled, open_page):
    app = open_page("documents.py")
    table = app.dataframe[0].value
    base = filled.base("notes")
    infos = base.documents.documents(base.recipe().index)
    assert list(table["Name"]) == ["leave.md", "pump.txt", "travel.txt"]
    assert list(table["Type"]) == ["Markdown", "Text", "Text"]
    assert list(table["Passages"]) == [info.passages for info in infos]
    assert list(table)[:2] == ["Name", "Status"]  # a phone shows no more
    assert set(table["Status"]) == {"ready"}
    assert "3 documents :green-badge[All ready]" in [header.value for header in app.header]


def test_a_document_whose_vectors_are_not_in_answers_by_words(filled, open_page):
    base = filled.base("notes")
    ingestion = Ingestion(base._database, base.id, base._services.models.embedder)
    new = readers.read_text("A zebra crossing leads to the canteen.", "zebra.txt")
    ingestion.take(new, lambda *_: None, lambda *_: None)
    app = open_page("documents.py")
    assert "4 documents :orange-badge[1 not ready]" in [header.value for header in app.header]
    table = app.dataframe[0].value
    assert dict(zip(table["Name"], table["Status"], strict=True)) == {
        "leave.md": "ready",
        "pump.txt": "ready",
        "travel.txt": "ready",
        "zebra.txt": "lexical only",
    }


def test_a_document_names_the_parts_that_were_not_read(filled, open_page):
    buffer = BytesIO()
    deck().save(buffer)
    base = filled.base("notes")
    filled.jobs.run(base.documents.add_files([Upload("deck.pptx", BytesIO(buffer.getvalue()))]))
    info = next(info for info in base.documents.documents(base.recipe().index) if info.pages)
    app = open_page("documents.py", doc=info.id[:12])
    table = app.dataframe[0].value
    assert dict(zip(table["Name"], table["Not read"].fillna(0), strict=True)) == {
        "deck.pptx": 3,
        "leave.md": 0,
        "pump.txt": 0,
        "travel.txt": 0,
    }
    assert "1 hidden slide (slide 2)" in app.button(key="documents_omission_hidden_slide").label
    before = [one.value for one in app.markdown]
    app.button(key="documents_omission_picture").click().run()
    assert not app.exception
    new = [one.value for one in app.markdown if one.value not in before]
    assert new == [r"**deck\.pptx** · page 3"]  # the picture's place, in the viewer


def test_an_address_opens_a_document(filled, open_page):
    base = filled.base("notes")
    info = base.documents.documents(base.recipe().index)[0]
    app = open_page("documents.py", doc=info.id[:12])
    assert "leave\\.md" in [header.value for header in app.header]
    assert next(one for one in app.header if one.value == "leave\\.md").proto.anchor == "document"
    drawn = _first(app, "markdown", "Unused leave")
    assert drawn.startswith(":gray-badge[1] ")
    assert ":blue-background[" in drawn
    assert ":gray-background[" in drawn
    passages = len(base.documents.chunks(info.id, base.recipe().index))
    assert f"**{passages} passages**" in _first(app, "markdown", "mean")


def test_a_document_that_states_a_date_shows_it(filled, open_page):
    base = filled.base("notes")
    page = '<html><head><meta name="date" content="2024-01-31"></head><body>Lunch</body></html>'
    filled.jobs.run(fill(base, {"canteen.html": page}))
    dates = {info.name: (info.id, info.date) for info in base.documents.documents(RECIPE.index)}
    (dated, date), (other, none) = dates["canteen.html"], dates["leave.md"]
    assert (date, none) == ("2024-01-31", "")
    shown = _first(open_page("documents.py", doc=dated[:12]), "caption", " characters")
    assert shown == r"Web page · 5 characters · dated 2024\-01\-31"
    assert "dated" not in _first(
        open_page("documents.py", doc=other[:12]), "caption", " characters"
    )


def test_another_size_redraws_the_preview_and_stores_nothing(filled, open_page):
    base = filled.base("notes")
    info = base.documents.documents(base.recipe().index)[0]
    stored = len(base.documents.chunks(info.id, base.recipe().index))
    app = open_page("documents.py", doc=info.id[:12])
    app.slider(key="documents_size").set_value(100).run()
    wanted = base.recipe().index.model_copy(update={"chunk_size": 100})
    cut = len(list(base.documents.preview(base.documents.document(info.id), wanted)))
    takeaway = _first(app, "markdown", "mean")
    assert cut < stored
    assert takeaway.startswith(f"**{cut} passage")
    assert f"stored: {stored} passages" in takeaway
    assert [build.recipe for build in base.documents.builds()] == [base.recipe().index]


def test_a_document_is_tagged_and_found_by_its_tag(filled, open_page):
    base = filled.base("notes")
    info = base.documents.documents(base.recipe().index)[0]
    app = open_page("documents.py", doc=info.id[:12])
    app.multiselect(key=f"documents_tags_{info.id}_").set_value(["policy"]).run()
    assert not app.exception
    assert base.documents.documents(base.recipe().index)[0].tags == ("policy",)
    tags = app.multiselect(key=f"documents_tags_{info.id}_policy")
    assert (tags.value, tags.options) == (["policy"], ["policy"])
    only = base.recipe().with_fields({"search.tags": ["policy"], "search.threshold": None})
    found = base.search("grease the pump", only).hits
    assert {hit.chunk.document_id for hit in found} == {info.id}


def test_the_index_of_another_model_is_saved_with_its_dense_weight(filled, open_page):
    base = filled.base("notes")
    other = base.recipe().with_fields({"index.embedder": "wordllama", "search.dense_weight": 0.35})
    assert filled.jobs.run(base.documents.build(other.index)).status == "done"
    app = open_page("documents.py")
    next(each for each in app.button if each.label == "Save for answers").click().run()
    assert base.recipe() == app.session_state["recipe_working"][base.id].working == other


def test_a_cut_is_built_and_then_answers(filled, open_page):
    base = filled.base("notes")
    info = base.documents.documents(base.recipe().index)[0]
    app = open_page("documents.py", doc=info.id[:12])
    app.slider(key="documents_size").set_value(100).run()
    app.button(key="documents_build_cut").click().run()
    (job,) = [job for job in filled.jobs.recent(base.id) if job.kind == "build"]
    assert filled.jobs.run(job.id).status == "done"
    table = open_page("documents.py").dataframe[1].value
    assert list(table["State"]) == ["answers now", "ready"]
    assert list(table["Chunking"]) == ["sections, 24 tokens", "sections, 100 tokens"]
    assert list(table["Context"]) == ["document, headings, table"] * 2
    assert list(table["Documents"]) == [3, 3]
    app = open_page("documents.py")
    saved = base.recipe()
    (attempt,) = [each for each in app.button if each.label == "Try this index"]
    attempt.click().run()
    assert base.recipe() == saved
    assert app.session_state["recipe_working"][base.id].working.index.chunk_size == 100
    (use,) = [each for each in app.button if each.label == "Save for answers"]
    use.click().run()
    assert base.recipe().index.chunk_size == 100
    assert list(app.dataframe[1].value["State"]) == ["ready", "answers now"]
    cell = {"rows": [], "columns": [], "cells": [(0, "Chunking")]}
    app.session_state[f"documents_builds_{base.id}"] = {"selection": cell}
    app.run()
    assert app.button(key="documents_build_drop").label == "Delete"


def test_an_index_has_one_form_wherever_it_is_described(labelled, open_page):
    info = labelled.base("notes").documents.documents(RECIPE.index)[0]
    app = open_page("documents.py", doc=info.id[:12])
    app.session_state["documents_build_more"] = True
    app.run()
    fields = [
        "Chunker",
        "Passage size (tokens)",
        "Overlap (tokens)",
        "Context",
        "Embedding model",
        "Vector index",
    ]

    def labels(app: AppTest, form: str) -> set[str]:
        widgets = [*app.selectbox, *app.slider]
        return {each.label for each in widgets if str(each.key).startswith(f"{form}_")}

    assert labels(app, "documents_another") == set(fields)
    assert set(fields) <= labels(app, "documents")
    app = open_page("tuning.py")
    app.session_state["recipe_advanced"] = app.session_state["recipe_new_index"] = True
    app.run()
    assert labels(app, "recipe_index_new") == set(fields)
    app.toggle(key="cuts").set_value(True).run()
    assert {each.label for each in app.multiselect} >= set(fields[:-1])


def test_passages_that_are_longer_than_the_model_reads_are_counted(filled, open_page):
    base = filled.base("notes")
    text = "\n\n".join(["The pump hums at night. " * 100, "It is green.", "Leave is short."])
    filled.jobs.run(base.documents.add_files([Upload("long.txt", BytesIO(text.encode()))]))
    whole = base.recipe().index.model_copy(update={"chunker": "whole", "embedder": "minilm"})
    short = "minilm reads 254 tokens of a passage and its context: only lexical"
    longer = "Longer than the model reads: 1 of 4 passages of minilm, whole document"
    app = open_page("documents.py")
    app.session_state["documents_build_more"] = True
    app.run()
    said = [each.value.replace("\\", "") for each in app.caption]
    app.selectbox(key="documents_another_embedder").set_value("minilm").run()
    said = [each.value.replace("\\", "") for each in app.caption]
    app.selectbox(key="documents_another_chunker").set_value("whole").run()
    said = [each.value.replace("\\", "") for each in app.caption]
    assert [each for each in said if short in each]
    assert [each for each in said if longer in each]
    filled.jobs.run(base.documents.build(whole))
    said = [each.value.replace("\\", "") for each in open_page("documents.py").caption]
    assert [each for each in said if longer in each]


def test_a_file_is_read_and_handed_over_once(filled, open_page):
    app = open_page("documents.py")
    app.file_uploader(key="documents_files_0").upload("boiler.txt", b"The boiler hums at night.")
    app.run()
    assert not [job for job in filled.jobs.recent() if job.title == "Reading boiler.txt"]
    assert any(each.value.endswith(": 1 passage.") for each in app.caption)
    app.button(key="documents_add_now").click().run()
    jobs = [job for job in filled.jobs.recent() if job.title == "Reading boiler.txt"]
    assert len(jobs) == 1
    assert filled.jobs.run(jobs[0].id).status == "done"
    app.run()
    assert "**1 file\\: 1 added \\(1 passage\\)\\.**" in _first(app, "markdown", "1 added")
    assert "boiler.txt" in list(app.dataframe[0].value["Name"])
    assert len([job for job in filled.jobs.recent() if job.title == "Reading boiler.txt"]) == 1


def test_a_file_with_the_name_of_a_document_says_before_that_it_replaces_it(filled, open_page):
    app = open_page("documents.py")
    app.file_uploader(key="documents_files_0").upload("pump.txt", b"The pump is new.")
    app.file_uploader(key="documents_files_0").upload("boiler.txt", b"The boiler hums.")
    app.run()
    said = [each.value.replace("\\", "") for each in app.info]
    assert "1 file has the name of a document, and replaces it: pump.txt." in said


def test_a_file_that_fails_says_why_and_what_to_do(filled, open_page):
    app = open_page("documents.py")
    app.file_uploader(key="documents_files_0").upload("empty.txt", b"   ")
    app.run()
    app.button(key="documents_add_now").click().run()
    job = filled.jobs.recent(limit=1)[0]
    filled.jobs.run(job.id)
    app.run()
    (item,) = filled.jobs.items(job.id)
    assert (item.status, bool(item.hint)) == ("failed", True)
    assert "1 failed" in _first(app, "markdown", "1 file")
    assert _first(app, "markdown", "empty\\.txt").startswith("- empty\\.txt: ")


def test_empty_files_are_named_before_anything_is_read(filled, open_page):
    app = open_page("documents.py")
    app.file_uploader(key="documents_files_0").upload("blank.md", b"")
    app.file_uploader(key="documents_files_0").upload("boiler.txt", b"The boiler hums at night.")
    app.run()
    assert [warning.value for warning in app.warning] == [r"1 file is empty: blank\.md."]
    assert not app.error
    assert any(caption.value.endswith(": 1 passage.") for caption in app.caption)


def test_a_file_that_nobody_reads_is_refused_by_name_and_the_others_go_on(filled, open_page):
    app = open_page("documents.py")
    app.file_uploader(key="documents_files_0").upload("letter.doc", b"old")
    app.file_uploader(key="documents_files_0").upload("boiler.txt", b"The boiler hums.")
    app.run()
    (warning,) = app.warning
    assert warning.value == r"1 file has a type that is not supported: letter\.doc."
    assert app.selectbox(key="documents_first_file").options == ["boiler.txt"]
    app.button(key="documents_add_now").click().run()
    job = filled.jobs.recent(limit=1)[0]
    filled.jobs.run(job.id)
    assert {item.name: item.status for item in filled.jobs.items(job.id)} == {
        "letter.doc": "failed",
        "boiler.txt": "added",
    }
    app.run()
    assert "Save it as \\.docx" in _first(app, "markdown", "letter\\.doc")
    later = open_page("documents.py")  # by somebody who was not there when it ended
    assert "Save it as \\.docx" in _first(later, "markdown", "letter\\.doc")
    later.button(key="documents_dismiss").click().run()
    assert not [text for text in later.markdown if "docx" in text.value]


def test_what_was_handed_over_is_gone_from_the_fields(filled, open_page):
    app = open_page("documents.py")
    app.text_input(key="documents_title_0").set_value("Boiler")
    app.text_area(key="documents_pasted_0").set_value("It hums.")
    next(b for b in app.button if b.label == "Add text").click()
    app.run()
    assert app.text_area(key="documents_pasted_1").value == ""
    assert [job.title for job in filled.jobs.recent(limit=1)] == ["Reading Boiler"]


def test_addresses_that_are_refused_stay_in_the_field(filled, open_page):
    app = open_page("documents.py")
    app.text_area(key="documents_urls_0").set_value("https://me:secret@example.org/a")
    next(b for b in app.button if b.label == "Fetch").click()
    app.run()
    assert len(app.error) == 1
    assert app.text_area(key="documents_urls_0").value == "https://me:secret@example.org/a"


def test_a_link_to_a_document_that_is_gone_says_so(filled, open_page):
    app = open_page("documents.py", doc="0123456789ab")
    assert app.warning[0].value.startswith("The document of this link is not here any more")


def test_deleting_asks_and_counts_the_labels(labelled, open_page):
    base = labelled.base("notes")
    info = base.documents.documents(base.recipe().index)[0]
    app = open_page("documents.py", doc=info.id[:12])
    app.button(key="documents_delete").click().run()
    assert len(base.documents.documents(base.recipe().index)) == 3
    app.button(key="documents_delete_really").click().run()
    names = [left.name for left in base.documents.documents(base.recipe().index)]
    assert names == ["pump.txt", "travel.txt"]


def test_an_empty_base_teaches(filled, open_page):
    filled.create("blank")
    app = open_page("documents.py", kb="blank")
    sample = app.button(key="documents_sample")
    assert sample.proto.type == "secondary"
    order = [each.key for each in (*app.main.get("file_uploader"), *app.main.button)]
    assert order.index("documents_files_0") < order.index("documents_sample")


def test_a_sample_that_is_there_is_opened_and_not_loaded_again(filled, open_page):
    filled.rename("notes", "sample")
    filled.create("blank")
    app = open_page("documents.py", kb="blank")
    app.button(key="documents_sample").click().run()
    assert app.selectbox(key="kb").value == "sample"
    assert not filled.jobs.active(filled.base("sample").id)


GERMAN = (
    "Die Pumpe wird jeden Freitag geprüft. Der Schlüssel zum Lager liegt beim diensthabenden "
    "Ingenieur. Das Öl wird bis zur oberen Marke eingefüllt, bevor das Labor schließt."
)


def test_files_in_another_language_come_with_an_embedder_that_supports_it(filled, open_page):
    base = filled.create("leer", Recipe())
    app = open_page("documents.py", kb="leer")
    for name, content in (
        ("pump.txt", b"The pump is checked on Fridays."),
        ("pumpe.txt", GERMAN.encode()),
        ("broken.pdf", b"%PDF"),
        *((f"note{number}.txt", b"The pump works.") for number in range(7)),  # all smaller
    ):
        app.file_uploader(key="documents_files_0").upload(name, content)
    app.run()
    offer = _first(app, "markdown", "seems")
    assert " pumpe\\.txt seems to be in German, which minilm doesn't support." in offer
    assert "in other words" in offer  # what it gains
    assert "refuses fewer questions" in offer  # what it costs
    assert "*Compare indexes*" in offer
    app.button(key="documents_use_multilingual").click().run()
    assert app.selectbox(key="documents_embedder").value == "multilingual-e5"
    assert not [one for one in app.markdown if "seems to be" in one.value]
    app.button(key="documents_add_now").click().run()
    assert base.recipe().index.embedder == "multilingual-e5"


def test_the_first_files_are_previewed_with_cost_cut_and_embedder(filled, open_page):
    base = filled.create("blank", RECIPE)
    app = open_page("documents.py", kb="blank")
    assert not _bases_list(app).proto.expanded  # the way to the files is short
    app.file_uploader(key="documents_files_0").upload("pump.txt", DOCUMENTS["pump.txt"].encode())
    app.run()
    assert not filled.jobs.recent(base.id)  # nothing is added yet
    # The button stands above the preview.
    order = [(each.type, each.key) for each in app.main]
    assert order.index(("button", "documents_add_now")) < order.index(
        ("selectbox", "documents_first_file")
    )
    told = _first(app, "markdown", "1 file to add")
    assert "1 s with minilm" in told
    assert "1 s with wordllama" in told
    app.selectbox(key="documents_embedder").set_value("wordllama")
    app.slider(key="documents_size").set_value(100).run()
    cut = "sections, 100 tokens, with document, headings, table: 1 passage."
    assert cut in [each.value for each in app.caption]
    app.button(key="documents_add_now").click().run()
    index = base.recipe().index
    assert (index.embedder, index.chunk_size) == ("wordllama", 100)
    (job,) = filled.jobs.recent(base.id)
    assert filled.jobs.run(job.id).status == "done"
    assert [info.passages for info in base.documents.documents(index)] == [1]
    assert not app.file_uploader(key="documents_files_1").value


def _chunk(order: int, start: int, end: int) -> Chunk:
    return Chunk(order, "d", start, end, "x" * (end - start), order)


def test_shared_text_is_a_segment_of_its_own():
    assert segments([_chunk(0, 0, 10), _chunk(1, 8, 20)]) == [
        (0, 8, [0]),
        (8, 10, [0, 1]),
        (10, 20, [1]),
    ]


def test_a_long_document_is_drawn_in_windows():
    chunks = [_chunk(order, order * 10, order * 10 + 10) for order in range(30)]
    assert [[c.order for c in window] for window in windows(chunks)] == [
        list(range(12)),
        list(range(12, 24)),
        list(range(24, 30)),
    ]
    huge = [_chunk(0, 0, 11_000), _chunk(1, 11_000, 22_000)]
    assert [len(window) for window in windows(huge)] == [1, 1]


def test_a_line_is_one_address(filled, open_page):
    app = open_page("documents.py")
    app.text_area(key="documents_urls_0").set_value("not a url\n\n ftp://example.org/a b \n")
    app.button(key="FormSubmitter:documents_addresses-Fetch").click().run()
    assert not app.exception
    job = filled.jobs.recent(limit=1)[0]  # the worker of the page may be at it
    assert [item.name for item in filled.jobs.items(job.id)] == [
        "not a url",
        "ftp://example.org/a b",
    ]
    filled.jobs.run(job.id)
    first, second = filled.jobs.items(job.id)
    assert first.reason == "“not a url” is not a full web address."
    assert second.reason.startswith("Only http and https addresses are fetched")
