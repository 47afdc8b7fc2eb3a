"""What all tests share: where the real collections are, a home of their own, no silent skips."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.workspaces import DATABASES

if TYPE_CHECKING:
    from tests.postgres import Server

ROOT = Path(__file__).resolve().parent.parent
DATASETS = ROOT.parent / "shared" / "datasets"
ORDER = ("unit", "properties", "contracts", "golden", "pages", "bench", "browser")

# The same examples at every run: what a change broke is then told apart from what chance found.
# The thorough profile is the one that looks for new ones.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=60, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
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


@pytest.fixture(scope="session")
def postgres() -> Iterator["Server"]:
    """A PostgreSQL server for the whole session."""
    from tests.postgres import serving

    with serving() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the workspaces of a test keep their data, once each: a SQLite file, and PostgreSQL.

    For tests of storage: ``pytestmark = pytest.mark.usefixtures("database")``.
    """
    if request.param == "postgresql":
        DATABASES.server = request.getfixturevalue("postgres")
    yield request.param
    DATABASES.server = None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail when any test was skipped")
    parser.addoption("--screenshots", metavar="DIR", help="where browser tests leave pictures")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests first, the browser last."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(ROOT / "tests").parts[0]
    return ORDER.index(folder) if folder in ORDER else len(ORDER)


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
