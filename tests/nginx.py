"""nginx with the configuration of the documentation, in front of a server: TLS on a free port."""

import datetime
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PAGE = Path(__file__).resolve().parents[1] / "docs" / "deployment.md"
_PROGRAM = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
_MAIN = """
daemon off;
pid {folder}/pid;
error_log {folder}/errors;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{block}
}}
"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def documented(marker: str) -> str:
    """The block of code of the page that has a marker."""
    blocks = re.findall(
        r"^```[^\n]*\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    (block,) = (block for block in blocks if marker in block)
    return block


@contextmanager
def in_front_of(
    upstream: str, port: int, changes: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The address of nginx, which passes on to a server at ``http://127.0.0.1:PORT``.

    ``changes`` are made to the documented configuration.
    """
    if _PROGRAM is None:
        pytest.skip("needs nginx")
    block = documented("ssl_certificate_key")
    with tempfile.TemporaryDirectory(prefix="nginx-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        _make_certificate(folder)
        here = {
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            "/etc/ssl/": f"{folder}/",
            "http://127.0.0.1:8501": upstream,
        }
        for old, new in {**here, **(changes or {})}.items():
            assert old in block, old
            block = block.replace(old, new)
        file = folder / "nginx.conf"
        file.write_text(_MAIN.format(folder=folder, block=block))
        process = subprocess.Popen([_PROGRAM, "-c", file, "-e", folder / "errors"])
        try:
            _await(port, process, folder / "errors")
            yield f"https://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def _await(port: int, process: subprocess.Popen[bytes], errors: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nginx did not start: {errors.read_text()}")


def _make_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "touchstone.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "touchstone.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
