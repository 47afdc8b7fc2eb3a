"""Which network addresses may be connected to."""

import time

import httpcore
import pytest

from rag import BlockedAddress, network
from rag.network import CheckedBackend, is_public, resolve


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch):
    """A name server that answers differently the second time (DNS rebinding) gains nothing."""
    answers = iter(["93.184.216.34", "127.0.0.1"])
    dialled: list[str] = []

    def resolver(host: str, port: int, **options: object) -> list[object]:
        return [(2, 1, 6, "", (next(answers), port))]

    def dial(self: object, host: str, *rest: object) -> httpcore.NetworkStream:
        dialled.append(host)
        raise httpcore.ConnectError("not in a test")

    monkeypatch.setattr(network.socket, "getaddrinfo", resolver)
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", dial)
    backend = CheckedBackend(allow_private=False, deadline=time.monotonic() + 10)
    with pytest.raises(httpcore.ConnectError):
        backend.connect_tcp("rebinding.example", 80)
    assert dialled == ["93.184.216.34"]
    with pytest.raises(BlockedAddress):
        backend.connect_tcp("rebinding.example", 80)
    assert dialled == ["93.184.216.34"]


def test_one_private_address_among_public_ones_is_enough(monkeypatch):
    found = [(2, 1, 6, "", ("93.184.216.34", 80)), (2, 1, 6, "", ("10.0.0.1", 80))]
    monkeypatch.setattr(network.socket, "getaddrinfo", lambda *a, **k: found)
    with pytest.raises(BlockedAddress):
        resolve("mixed.example", 80, allow_private=False)
    assert resolve("mixed.example", 80, allow_private=True) == ["93.184.216.34", "10.0.0.1"]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:4700::1111", True),
        ("64:ff9b::808:808", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:8.8.8.8", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("fec0::1", False),
    ],
)
def test_is_public(address, public):
    assert is_public(address) is public
