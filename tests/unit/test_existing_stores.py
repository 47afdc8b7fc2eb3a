"""Existing stores: what is sent to them, what they may cost, and what becomes of their values."""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import time
from decimal import Decimal
from threading import Thread

import pytest

from rag import ExistingStore, InvalidInput, ProviderUnavailable
from rag.errors import ProviderRejected
from rag.stores.existing import RawRow, document_row, open_store
from rag.stores.existing import postgresql as connections

_SSL_REQUEST = 80877103
_SECRET = "of-this-server"
STORE = ExistingStore(
    kind="qdrant", address="http://db", name="notes", text="text", vector="v", id="metadata.key"
)


def _message(peer: socket.socket, kind: bytes, content: bytes) -> None:
    peer.sendall(kind + struct.pack("!I", len(content) + 4) + content)


def _begin(peer: socket.socket) -> bytes:
    """Read the start of a connection, refusing encryption."""
    while True:
        (length,) = struct.unpack("!I", peer.recv(4, socket.MSG_WAITALL))
        content = peer.recv(length - 4, socket.MSG_WAITALL)
        if struct.unpack("!I", content[:4])[0] != _SSL_REQUEST:
            return content
        peer.sendall(b"N")


@contextmanager
def _listening(talk: Callable[[socket.socket], None]) -> Iterator[ExistingStore]:
    """A peer that only seems to be PostgreSQL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                talk(peer)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        address = f"postgresql://127.0.0.1:{listener.getsockname()[1]}"
        yield ExistingStore(kind="pgvector", address=address, name="passages")
        thread.join(10)


def test_a_store_does_not_get_credentials_of_this_server(tmp_path, monkeypatch):
    passwords = tmp_path / "passwords"
    passwords.write_text(f"*:*:*:*:{_SECRET}\n")
    passwords.chmod(0o600)
    read: list[bytes] = []

    def talk(peer: socket.socket) -> None:
        read.append(_begin(peer))
        _message(peer, b"R", struct.pack("!I", 3))  # asks for the password as it is
        while part := peer.recv(1000):
            read.append(part)

    for name in ("PGPASSWORD", "PGUSER", "PGDATABASE", "PGOPTIONS"):
        monkeypatch.setenv(name, _SECRET)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    for variable in ("", "PGPASSWORD"):
        if variable:
            monkeypatch.delenv(variable)  # the file is used without it
        with (
            _listening(talk) as store,
            pytest.raises(ProviderRejected, match="no password supplied"),
        ):
            open_store(store, {}, allow_private=True).layout()
    assert len(read) == 2
    assert _SECRET.encode() not in b"".join(read)


def test_a_silent_store_does_not_keep_a_thread(monkeypatch):
    def talk(peer: socket.socket) -> None:
        _begin(peer)
        _message(peer, b"R", struct.pack("!I", 0))
        _message(peer, b"Z", b"I")
        peer.settimeout(5)
        with suppress(TimeoutError):
            while peer.recv(1000):
                pass

    monkeypatch.setattr(connections, "SECONDS_OF_SILENCE", 0.2)
    with (
        _listening(talk) as store,
        pytest.raises(ProviderUnavailable, match=r"no answer within 0\.2 seconds"),
    ):
        open_store(store, {}, allow_private=True).layout()


def test_a_row_without_the_field_that_names_it():
    with pytest.raises(InvalidInput, match=r"has nothing in 'metadata\.key'"):
        document_row(STORE, RawRow("1", {"text": "a cat"}, [1.0]))


def test_numbers_and_times_are_written_as_they_are():
    fields = {
        "text": "a cat",
        "price": Decimal("12.50"),
        "opens": time(8, 30),
        "tags": ["new", Decimal("1.5")],
        "metadata": {"key": Decimal(7)},
    }
    row = document_row(STORE, RawRow("1", fields, [1.0]))
    assert row.id == "7"
    assert row.metadata["price"] == "12.50"
    assert row.metadata["opens"] == "08:30:00"
    assert row.metadata["tags"] == '["new", "1.5"]'
