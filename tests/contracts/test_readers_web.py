"""Fetching from a real local server."""

import gzip
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rag import BlockedAddress, UnreadableDocument, network
from rag.network import FetchLimits, resolve
from rag.readers.web import fetch
from tests.sample_files import pdf

PAGE = b"<html><body><p>Hello</p></body></html>"
PICTURE = b"\x89PNG\r\n\x1a\n"
BOMB = gzip.compress(bytes(60_000_000))


class Site(BaseHTTPRequestHandler):
    """Answers by path."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        getattr(self, self.path.split("?")[0].strip("/").replace("/", "_").replace(".", "_"))()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def answer(self, body: bytes, content_type: str, **headers: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def redirect(self, target: str) -> None:
        self.send_response(302)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def page(self) -> None:
        self.answer(PAGE, "text/html; charset=utf-8")

    def host(self) -> None:
        self.answer(self.headers["Host"].encode(), "text/plain")

    def paper(self) -> None:
        self.answer(pdf("words"), "application/pdf")

    def squeezed(self) -> None:
        self.answer(gzip.compress(PAGE), "text/html", Content_Encoding="gzip")

    def bomb(self) -> None:
        self.answer(gzip.compress(bytes(5_000_000)), "text/html", Content_Encoding="gzip")

    def bigger_bomb(self) -> None:
        self.answer(BOMB, "text/html", Content_Encoding="gzip")

    def bomb_in_a_bomb(self) -> None:
        self.answer(gzip.compress(BOMB), "text/html", Content_Encoding="gzip, x-gzip")

    def unpacked(self) -> None:
        self.answer(PAGE, "text/html", Content_Encoding="identity")

    def unasked(self) -> None:
        self.answer(PAGE, "text/html", Content_Encoding="br")

    def garbled(self) -> None:
        self.answer(PAGE, "text/html", Content_Encoding="gzip")

    def accepted(self) -> None:
        self.answer(self.headers["Accept-Encoding"].encode(), "text/plain")

    def picture(self) -> None:
        self.answer(PICTURE, "image/png")

    def animation(self) -> None:
        self.answer(b"GIF89a", "image/gif")

    def nothing(self) -> None:
        self.answer(b"", "text/html")

    def moved(self) -> None:
        self.redirect("/page")

    def loop(self) -> None:
        self.redirect("/loop")

    def to_file(self) -> None:
        self.redirect("file:///etc/passwd")

    def to_broken(self) -> None:
        self.redirect("http://[broken")

    def missing(self) -> None:
        self.send_error(404, "Not Found")

    def large(self) -> None:
        self.answer(bytes(2_000_000), "text/plain")

    def endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(200):
            self.wfile.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def slow_body(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.drip()

    def slow_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        self.drip()

    def cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"short")
        self.close_connection = True

    def drip(self) -> None:
        for _ in range(100):
            try:
                self.wfile.write(b"x")
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.1)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of the tests."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with Server(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def refusal(url: str, **limits: float) -> UnreadableDocument:
    with pytest.raises(UnreadableDocument) as caught:
        fetch(url, allow_private=True, limits=FetchLimits(**limits))  # type: ignore[arg-type]
    assert caught.value.hint
    return caught.value


def test_a_page(site):
    fetched = fetch(f" {site}/page#part ", allow_private=True)
    assert fetched.data == PAGE
    assert fetched.url == f"{site}/page"
    assert fetched.name == f"{site.removeprefix('http://')}/page.html"
    assert fetched.content_type == "text/html; charset=utf-8"


def test_a_picture_is_had_like_an_uploaded_one(site):
    fetched = fetch(f"{site}/picture", allow_private=True)
    assert fetched.data == PICTURE
    assert fetched.name == f"{site.removeprefix('http://')}/picture.png"


def test_a_redirect_ends_at_the_final_address(site):
    fetched = fetch(f"{site}/moved", allow_private=True)
    assert (fetched.data, fetched.requested_url) == (PAGE, f"{site}/moved")
    assert fetched.url == f"{site}/page"
    assert fetched.name == f"{site.removeprefix('http://')}/moved.html"


@pytest.mark.parametrize("path", ["squeezed", "unpacked"])
def test_compressed_content_is_unpacked(site, path):
    assert fetch(f"{site}/{path}", allow_private=True).data == PAGE


def test_only_what_is_unpacked_in_small_steps_is_asked_for(site):
    assert fetch(f"{site}/accepted", allow_private=True).data == b"gzip"


@pytest.mark.parametrize(
    ("path", "reason"), [("bigger/bomb", "too_large"), ("bomb/in/a/bomb", "unreachable")]
)
def test_what_would_unpack_to_much_takes_little_memory(site, path, reason):
    fetch(f"{site}/page", allow_private=True)  # what the first request imports is not counted
    tracemalloc.start()
    try:
        assert refusal(f"{site}/{path}", max_bytes=1_000_000).reason == reason
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_the_name_in_the_host_header_is_that_of_the_url(site):
    port = site.rpartition(":")[2]
    fetched = fetch(f"http://localhost:{port}/host", allow_private=True)
    assert fetched.data.decode() == f"localhost:{port}"


@pytest.mark.parametrize("path", ["page", "moved", "missing"])
def test_this_computer_is_refused_by_default(site, path):
    with pytest.raises(BlockedAddress):
        fetch(f"{site}/{path}", allow_private=False)


@pytest.mark.parametrize(
    "url",
    [
        *("http://localhost/", "http://127.1/", "http://0/", "http://2130706433/", "http://[::1]/"),
        *("http://0x7f000001/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest"),
        *(
            "http://10.0.0.1/",
            "https://192.168.1.1/",
            "http://[fe80::1]/",
            "http://user@127.0.0.1/",
        ),
        *("file:///etc/passwd", "ftp://example.com/x", "gopher://x/", "javascript:1", "words"),
    ],
)
def test_blocked(url):
    with pytest.raises(BlockedAddress) as caught:
        fetch(url, allow_private=False)
    assert caught.value.hint


def test_a_redirect_into_this_computer_is_refused(site, monkeypatch):
    port = int(site.rpartition(":")[2])

    def pretend(host: str, port_asked: int, *, allow_private: bool) -> list[str]:
        # The outer site stands for a public one; what it redirects to is resolved for real.
        if host == "public.example":
            return ["127.0.0.1"]
        return resolve(host, port_asked, allow_private=allow_private)

    monkeypatch.setattr(network, "resolve", pretend)
    monkeypatch.setattr(Site, "inward", lambda self: self.redirect(f"{site}/page"), raising=False)
    assert fetch(f"http://public.example:{port}/page", allow_private=False).data == PAGE
    with pytest.raises(BlockedAddress, match=r"127\.0\.0\.1"):
        fetch(f"http://public.example:{port}/inward", allow_private=False)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:s3cret@host/page",
        "http://user:s3cret\\@host/page",
        "http://user\\:s3cret@host/page",
        "http:\\\\user:s3cret@host/page",
        "http://user:s3\tcret\\@host/page",
        " HTTPS://s3cret@host",
        "http://user:s3 cret@[broken",
        "//user:s3cret@host",
        "user:s3cret@host/page",
    ],
)
def test_credentials_are_refused_and_not_repeated(url):
    with pytest.raises(BlockedAddress, match="user name or password") as caught:
        fetch(url, allow_private=True)
    assert "s3cret" not in caught.value.message + caught.value.hint


def test_a_redirect_with_credentials_is_refused(site, monkeypatch):
    target = site.replace("http://", "http://user:s3cret@") + "/page"
    monkeypatch.setattr(Site, "login", lambda self: self.redirect(target), raising=False)
    with pytest.raises(BlockedAddress, match="user name or password"):
        fetch(f"{site}/login", allow_private=True)


def test_an_at_sign_behind_the_host_is_no_credential(site, monkeypatch):
    monkeypatch.setattr(Site, "@author", Site.page, raising=False)
    assert fetch(f"{site}/@author", allow_private=True).data == PAGE
    assert fetch(f"{site}/page?by=a@b", allow_private=True).data == PAGE


def test_a_redirect_to_another_scheme_is_refused(site):
    with pytest.raises(BlockedAddress, match="file"):
        fetch(f"{site}/to/file", allow_private=True)


@pytest.mark.parametrize(
    ("path", "reason", "said"),
    [
        ("missing", "unreachable", "404 Not Found"),
        ("loop", "unreachable", "redirects more than 5 times"),
        ("to/broken", "unreachable", "cannot be reached"),
        ("cut", "unreachable", "cannot be reached"),
        ("animation", "unsupported_type", "image/gif"),
        ("nothing", "empty", "is empty"),
        ("unasked", "unreachable", "Content-Encoding: br"),
        ("bomb/in/a/bomb", "unreachable", "Content-Encoding: gzip, x-gzip"),
        ("garbled", "unreachable", "cannot be reached"),
    ],
)
def test_what_cannot_be_had(site, path, reason, said):
    error = refusal(f"{site}/{path}")
    assert (error.reason, said in error.message) == (reason, True)


@pytest.mark.parametrize("path", ["large", "endless", "bomb"])
def test_size_is_bounded(site, path):
    error = refusal(f"{site}/{path}", max_bytes=1_000_000)
    assert error.reason == "too_large"
    assert "larger than 1.0 MB" in error.message


@pytest.mark.parametrize("path", ["slow/body", "slow/headers"])
def test_time_is_bounded_even_if_bytes_keep_dripping(site, path):
    assert refusal(f"{site}/{path}", seconds=0.5).reason == "timed_out"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://no.such.host.invalid/", "http://"])
def test_unreachable(url):
    assert refusal(url).reason == "unreachable"
