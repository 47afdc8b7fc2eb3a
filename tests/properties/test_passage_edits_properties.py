"""What people decided about passages holds in every cut."""

import itertools
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rag import Document
from rag.chunking.spans import stretches
from rag.types import PassageEdit
from tests.properties.test_chunking_properties import TOKENIZERS, _cut, documents, recipes


@st.composite
def edited(draw: st.DrawFn) -> Document:
    document = draw(documents())
    length = len(document.text)
    kinds = st.sampled_from(["exclude", "split", "join", "words"])
    found = []
    for kind in draw(st.lists(kinds, max_size=5)):
        start = draw(st.integers(0, length))
        end = draw(st.integers(start, length))
        found.append(PassageEdit(kind, start, end, "PN-7" if kind == "words" else ""))
    return replace(document, edits=tuple(sorted(found, key=lambda each: each.start)))


@given(edited(), recipes(), TOKENIZERS)
@settings(max_examples=150, deadline=None)
def test_edits_hold_in_every_cut(document, recipe, tokenizer):
    cut = _cut(document, recipe, tokenizer)
    for before, after in itertools.pairwise(cut):
        assert before.start < after.start
        assert before.end < after.end
    for chunk in cut:
        assert chunk.text == document.text[chunk.start : chunk.end] == chunk.text.strip() != ""
    kept = list(stretches(document))
    for edit in document.edits:
        if edit.kind == "exclude":
            assert not any(c.start < edit.end and edit.start < c.end for c in cut)
        elif edit.kind == "split":
            assert not any(c.start < edit.start < c.end for c in cut)
        elif edit.kind == "join":
            for low, high in kept:
                words = document.text[max(low, edit.start) : min(high, edit.end)]
                start = max(low, edit.start) + len(words) - len(words.lstrip())
                end = max(low, edit.start) + len(words.rstrip())
                if start < end:
                    assert any(c.start <= start and end <= c.end for c in cut)
        else:
            held = [c for c in cut if c.start < edit.end and edit.start < c.end]
            assert all("PN-7" in c.indexed_text for c in held)
            assert all("PN-7" not in c.text or "PN-7" in document.text for c in held)


@given(edited(), recipes(), TOKENIZERS)
@settings(max_examples=100, deadline=None)
def test_every_character_that_is_not_excluded_is_in_a_passage(document, recipe, tokenizer):
    held = [(chunk.start, chunk.end) for chunk in _cut(document, recipe, tokenizer)]
    out = [(e.start, e.end) for e in document.edits if e.kind == "exclude"]
    for at, sign in enumerate(document.text):
        if not sign.isspace() and not any(start <= at < end for start, end in out):
            assert any(start <= at < end for start, end in held)
