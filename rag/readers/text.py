"""Plain text and Markdown."""

from __future__ import annotations

from pathlib import Path

from rag.readers.characters import (
    SAMPLE,
    decode,
    decoded_pieces,
    evident_encoding,
    is_binary,
    normalise,
    normalised_parts,
)
from rag.readers.content import Content, Source
from rag.readers.markdown import front_matter_title, looks_like_markdown
from rag.readers.markdown_html import with_pipe_tables
from rag.readers.markdown_tables import markdown_content


def read_plain(source: Source) -> Content:
    """The text as it is. Peak memory is about twice the decoded text."""
    text, encoding = load(source)
    return Content(text, metadata={"encoding": encoding})


def read_markdown(source: Source) -> Content:
    """The Markdown source, with the places of its headings; tables are rows of cells."""
    text, encoding = load(source)
    title = front_matter_title(text)
    return markdown_content(with_pipe_tables(text), title=title, encoding=encoding)


def read_pasted(source: Source) -> Content:
    """Text that came without a file, and as ``media_type`` in the metadata what it looks like."""
    text = normalise(str(source.about["text"]))
    if looks_like_markdown(text):
        return markdown_content(with_pipe_tables(text), media_type="text/markdown")
    return Content(text, metadata={"media_type": "text/plain"})


def load(source: Source) -> tuple[str, str]:
    """Normalised text of a file and its encoding."""
    source.tick(0, 1)
    text, encoding = _load(source.path)
    source.tick(1, 1)
    return text, encoding


def _load(path: Path) -> tuple[str, str]:
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    if evident_encoding(sample) is None and not is_binary(sample):
        try:  # nearly every file; neither its bytes nor its text are held twice
            return "".join(normalised_parts(decoded_pieces(path, "utf-8"))), "utf-8"
        except UnicodeDecodeError:
            pass
    text, encoding = decode(path.read_bytes())
    return normalise(text), encoding
