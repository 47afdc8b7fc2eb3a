"""Fixtures for all tests: the real collections, a separate home, and no silent skips."""

import gc
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from rag import Settings, Workspace
from rag.providers import making
from tests.rooms import imports, parsed
from tests.statements import compiled_once
from tests.workspaces import DATABASES, URL, workspace_at

if TYPE_CHECKING:
    from tests.postgres import Server

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("TOUCHSTONE_FIND_MODELS", "0")  # whatever runs on this computer
for name in ("GITHUB_SHA", "CI_COMMIT_SHA"):  # of the pipeline that runs the tests
    os.environ.pop(name, None)
DATASETS = ROOT.parent / "shared" / "datasets"
ALL_THOROUGH = re.compile(r"^pytestmark = .*\bthorough\b", re.MULTILINE)
ORDER = ("unit", "properties", "contracts", "golden", "pages", "bench", "browser")

# The same examples at every run: what a change broke is then told apart from what chance found.
# The thorough profile is the one that looks for new ones.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=60, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=300)
hypothesis.settings.load_profile("quick")


@pytest.fixture(scope="session")
def datasets() -> Path:
    """The folder of real collections, which are not part of the project."""
    if not DATASETS.is_dir():
        pytest.skip("needs the real collections in ../shared/datasets")
    return DATASETS


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, which the settings of this process point at."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("TOUCHSTONE_HOME", str(folder))
    return folder


@pytest.fixture
def workspace(home: Path) -> Workspace:
    """An empty workspace, in the home that the settings point at."""
    return workspace_at(home)


@pytest.fixture
def own_dashboard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Let the pages open a workspace of their own, whose worker ends with the test.

    Else they would show the home of the test of pages that this process ran before. ``tmp_path``,
    where the homes are, is removed after they are closed.
    """
    from tests.reruns import forget

    opened: list[Workspace] = []
    from_env = Workspace.from_env

    def recorded() -> Workspace:
        opened.append(from_env())
        return opened[-1]

    monkeypatch.setattr(Workspace, "from_env", staticmethod(recorded))
    forget()
    yield
    for workspace in opened:
        workspace.close()
    forget()


@pytest.fixture(scope="session")
def postgres() -> Iterator["Server"]:
    """A PostgreSQL server for the whole session."""
    from tests.postgres import serving

    with serving() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test with its workspaces in a SQLite file, and again in PostgreSQL.

    For tests of storage: ``pytestmark = pytest.mark.usefixtures("database")``.
    """
    before = DATABASES.server
    if request.param == "postgresql":
        DATABASES.server = request.getfixturevalue("postgres")
    yield request.param
    DATABASES.server = before


@pytest.fixture(scope="session", autouse=True)
def _statements_are_compiled_once() -> Iterator[None]:
    with compiled_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _models_are_loaded_once() -> Iterator[None]:
    """A server has one workspace. Most tests open one, and each would load its model again."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MiniLM", "MultilingualE5", "WordLlama"):
            patch.setattr(making, name, cache(getattr(making, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def _everything_on_postgresql(request: pytest.FixtureRequest) -> Iterator[None]:
    """With ``--database postgresql``, every workspace of a test that does not say where it is."""
    if request.config.getoption("database") != "postgresql":
        yield
        return
    DATABASES.server = request.getfixturevalue("postgres")
    before = Settings.from_env.__func__

    def somewhere(
        cls: type[Settings], environ: Mapping[str, str] | None = None, *, home: Path | None = None
    ) -> Settings:
        found: Settings = before(cls, environ, home=home)
        if (os.environ if environ is None else environ).get(URL):
            return found
        return replace(found, database_url=DATABASES.of(found.home))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Settings, "from_env", classmethod(somewhere))
        yield
    DATABASES.server = None


@pytest.fixture(scope="module", autouse=True)
def _servers_end_with_their_module() -> Iterator[None]:
    """Fail where a server is left: the thread of a closed socket never waits."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if "serve_forever" in thread.name]
    assert before.issuperset(left), f"servers that nobody ended: {left}"


@pytest.fixture(scope="module", autouse=True)
def _syntax_trees_end_with_their_module() -> Iterator[None]:
    """A million objects, which every later collection of garbage would look through."""
    yield
    for cached in (parsed, imports):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def _databases_end_with_the_test(_everything_on_postgresql: None) -> Iterator[None]:
    """Those that it made: each takes ten megabytes."""
    before = DATABASES.homes()
    yield
    DATABASES.drop(DATABASES.homes() - before)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail when any test was skipped")
    parser.addoption(
        "--database",
        choices=["sqlite", "postgresql"],
        default="sqlite",
        help="where workspaces keep their data, in tests that do not say",
    )
    parser.addoption("--screenshots", metavar="DIR", help="where browser tests leave pictures")


def pytest_configure(config: pytest.Config) -> None:
    """Leave out what is thorough, unless somebody names files or markers."""
    if not config.option.markexpr and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.option.markexpr = "not thorough"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Don't import files that are left out whole: one makes cases for each address of the API."""
    if config.option.markexpr != "not thorough" or collection_path.suffix != ".py":
        return None
    return ALL_THOROUGH.search(collection_path.read_text("utf-8")) is not None or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Quick tests first, what needs the machine last. On PostgreSQL, none that ran there already.

    Several processes begin with the files that take long, so that none is left with one at the end.
    """
    items.sort(key=_place)
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: (_place(item)[0], item.path not in slow))
    if config.getoption("database") == "postgresql":
        left_out = [item for item in items if _is_left_out(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are collected, and leave them out of it afterwards.

    What is imported stays: half a million objects, which would be looked through again and again.
    Tests make many objects that end by themselves, so collections are rarer than by default.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 10)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Look through what stays once: pytest collects garbage five times as it ends."""
    gc.collect()
    gc.freeze()


def _is_left_out(item: pytest.Item) -> bool:
    """Whether a test is about SQLite, and says why, or runs on both databases in any case."""
    marker = item.get_closest_marker("sqlite")
    if marker is not None and not marker.args:
        raise pytest.UsageError(f"{item.nodeid} does not say why it is about SQLite alone")
    return marker is not None or "database" in getattr(item, "fixturenames", ())


def _place(item: pytest.Item) -> tuple[bool, int]:
    """Whether a test needs the machine nearly for itself, and the place of its folder."""
    folder = item.path.relative_to(ROOT / "tests").parts[0]
    alone = folder == "browser" or item.get_closest_marker("server") is not None
    return alone, ORDER.index(folder) if folder in ORDER else len(ORDER)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("no_skips") and _skipped(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(config: pytest.Config) -> None:
    skipped = _skipped(config)
    if config.getoption("no_skips") and skipped:
        reporter = config.pluginmanager.getplugin("terminalreporter")
        reporter.section("skipped, which --no-skips forbids", red=True)
        for report in skipped:
            reporter.line(f"{report.nodeid}: {_reason(report)}")


def _skipped(config: pytest.Config) -> list[pytest.TestReport]:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    return reporter.stats.get("skipped", []) if reporter else []


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
