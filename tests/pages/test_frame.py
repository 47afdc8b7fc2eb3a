"""The frame, without a browser."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.shell import session

ROOT = Path(__file__).resolve().parents[2]
TITLES = {
    "documents.py": "Documents",
    "chat.py": "Chat",
    "inspector.py": "Inspector",
    "metrics.py": "Metrics",
    "tuning.py": "Tuning",
    "runs.py": "Runs",
    "usage.py": "Usage",
    "settings.py": "Settings",
    "tour.py": "Tours",
}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("file", TITLES)
def test_it_opens_on_chat_and_every_page_runs_on_an_empty_home(file, monkeypatch):
    monkeypatch.setattr(session, "start_work", lambda: None)  # the sample would be read each time
    frame = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=300).run()
    assert [title.value for title in frame.title] == ["Chat"]
    frame.switch_page(file).run()
    assert [title.value for title in frame.title] == [TITLES[file]]
    assert not frame.exception


def test_every_page_file_is_in_the_navigation():
    files = {path.name for path in (ROOT / "pages").glob("*.py")}
    assert files - {"__init__.py", "frame.py"} == set(TITLES)
