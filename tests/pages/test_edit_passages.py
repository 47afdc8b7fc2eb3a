"""The Documents page lays hands on passages."""


def test_text_is_left_out_and_taken_back(filled, open_page):
    base = filled.base("notes")
    info = next(
        each for each in base.documents.documents(base.recipe().index) if each.name == "pump.txt"
    )
    words = " ".join(base.documents.document(info.id).text.split()[:4])
    app = open_page("documents.py", doc=info.id[:12])
    part = info.id[:12]
    app.text_area(key=f"documents_edit_quote_{part}_0").set_value(words)
    app.button(key=_apply(app)).click().run()
    assert not app.exception
    (edit,) = base.documents.passage_edits(info.id)
    assert (edit.kind, edit.quote) == ("exclude", words)
    assert f"Left out: “{words}”" in " ".join(each.value for each in app.markdown).replace("\\", "")
    assert not any(
        words in each.text for each in base.documents.chunks(info.id, base.recipe().index)
    )
    app.button(key=f"documents_edit_{edit.id}").click().run()
    assert base.documents.passage_edits(info.id) == []


def test_a_document_that_is_left_out_is_told_from_one_without_text(filled, open_page):
    base = filled.base("notes")
    info = base.documents.documents(base.recipe().index)[0]
    base.documents.edit_passages(
        info.id, "exclude", (0, len(base.documents.document(info.id).text))
    )
    app = open_page("documents.py", doc=info.id[:12])
    assert not app.exception
    told = " ".join(caption.value for caption in app.caption)
    assert "no text" not in told
    assert not any("As indexed" in caption.value for caption in app.caption)
    assert not [
        block for block in app.get("vertical") if block.proto.height_config.pixel_height == 560
    ]


def test_words_that_are_not_there_are_refused(filled, open_page):
    base = filled.base("notes")
    info = base.documents.documents(base.recipe().index)[0]
    app = open_page("documents.py", doc=info.id[:12])
    app.text_area(key=f"documents_edit_quote_{info.id[:12]}_0").set_value("nowhere to be found")
    app.button(key=_apply(app)).click().run()
    assert len(app.error) == 1
    assert base.documents.passage_edits(info.id) == []


def _apply(app) -> str:  # type: ignore[no-untyped-def]
    return next(each.key for each in app.button if each.label == "Apply")
