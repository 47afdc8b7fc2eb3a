"""Hostile bytes through every reader: nothing but the errors that are drawn in the tree."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag import SUPPORTED, TouchstoneError
from rag.readers import read
from tests.sample_files import ALIKE, SAMPLES, assert_sound

BEGINNINGS = (
    *(b"", b"%PDF-1.7\n", b"PK\x03\x04", b"<html>", b"{", b"[", b'"', b"\xff\xfe", b"\xef\xbb\xbf"),
    *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"---\n", b"```\n", b"\x00\x00\xfe\xff"),
    *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\x00"),
)


def told(path: Path, data: bytes, name: str) -> tuple[str, str]:
    """What the user gets to see: name and text of the document, or message and hint."""
    path.write_bytes(data)
    try:
        document = read(path, name)
    except TouchstoneError as error:
        return error.message, error.hint
    assert_sound(document)
    return document.name, document.text.strip()


@pytest.mark.parametrize("extension", SUPPORTED)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(beginning=st.sampled_from(BEGINNINGS), rest=st.binary(max_size=300))
def test_arbitrary_bytes(tmp_path, extension, beginning, rest):
    assert all(told(tmp_path / "content", beginning + rest, f"x.{extension}"))


@pytest.mark.parametrize("extension", SAMPLES)
@pytest.mark.parametrize("seed", range(12))
def test_good_files_gone_bad(tmp_path, extension, seed):
    chance = random.Random(seed)
    data = bytearray(SAMPLES[ALIKE.get(extension, extension)]())
    for _ in range(chance.randrange(1, 20)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    if seed % 3 == 0:
        del data[chance.randrange(len(data)) :]
    assert all(told(tmp_path / "content", bytes(data), f"x.{extension}"))
