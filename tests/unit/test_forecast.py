"""How far a job is and how much longer it takes, and the progress of uploads."""

import io
import math
import time

import pytest

from rag import Upload
from rag.library.documents import ingestion
from rag.library.documents.remaining_time import RemainingTime
from rag.workspace import handlers
from tests.clock import Clock
from tests.workspaces import QUICK, add, workspace_at

PACES = {"reading pdf": 0.1, "reading": 0.0, "cutting": 0.001, "embedding slow": 0.01, "storing": 0}
WORK = {"cutting": "cutting", "embedding": "embedding slow", "storing": "storing"}
FILE = {"reading": "reading", **WORK}
PDF = {"reading": "reading pdf", **WORK}


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


def left(forecast: RemainingTime) -> float:
    return forecast.estimate()[2]


def test_what_is_typical_is_expected_before_anything_is_measured(clock):
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("a", "text", 1000, WORK)
    assert forecast.seconds("a") == pytest.approx(1000 * 0.011)
    assert forecast.estimate() == (0, 10_000, math.inf)  # nothing of this job is known yet


@pytest.mark.parametrize(("kind", "size"), [("address", 50_000), ("pdf", 1), ("html", 1)])
def test_what_has_no_size_yet_is_taken_for_one_that_is_usual(clock, kind, size):
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("unknown", kind, 0, PDF)
    forecast.add("usual", kind, size, PDF)
    forecast.add("double", kind, 2 * size, PDF)
    assert forecast.seconds("unknown") == forecast.seconds("usual") > 0
    assert forecast.seconds("double") == pytest.approx(2 * forecast.seconds("usual"))


def test_the_time_of_what_was_not_expected_is_nobodys_pace(clock):
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("a", "text", 10_000, WORK)
    forecast.reached("a", "cutting")
    clock.now += 2
    forecast.reached("a", "loading the embedding model")
    clock.now += 1000
    forecast.reached("a", "embedding", 0, 10)
    clock.now += 30
    forecast.reached("a", "embedding", 5, 10)
    assert forecast.measured() == pytest.approx({"cutting": 2e-4, "embedding slow": 6e-3})


def test_the_pace_of_this_job_replaces_what_is_typical(clock):
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("a", "text", 10_000, WORK)
    forecast.reached("a", "embedding", 0, 10)
    for done in range(1, 6):  # ten times as slow as usual
        clock.now += 100
        forecast.reached("a", "embedding", done, 10)
    assert left(forecast) == pytest.approx(500, rel=0.02)
    assert forecast.estimate()[0] == pytest.approx(5000, abs=100)
    assert forecast.measured() == {"embedding slow": pytest.approx(0.1)}


def test_the_share_is_that_of_the_work_on_a_computer_that_is_slower_than_usual(clock):
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("a", "text", 10_000, WORK)
    forecast.reached("a", "embedding", 0, 100)
    clock.now += 5  # ten times as slow, and nothing is done yet
    assert forecast.estimate()[0] == 0
    clock.now += 5
    forecast.reached("a", "embedding", 1, 100)
    assert forecast.estimate()[0] == pytest.approx(100, abs=10)


def test_a_small_file_that_takes_long_says_little_of_large_ones(clock):
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("small", "md", 20, FILE)
    forecast.add("large", "md", 500_000, {"reading": "reading"})
    forecast.reached("small", "reading")
    clock.now += 10  # the process that reads files starts
    forecast.end("small")
    assert forecast.seconds("large") < 60


def test_time_before_and_between_the_items_counts_nowhere(clock):
    clock.now += 3600
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("a", "text", 1000, WORK)
    forecast.add("b", "text", 1000, WORK)
    forecast.reached("a", "embedding", 0, 1)
    clock.now += 10
    forecast.end("a")
    clock.now += 3600  # another process had the database
    forecast.reached("b", "embedding", 0, 1)
    assert left(forecast) == pytest.approx(10)


def test_the_share_never_falls_when_there_is_more_than_was_thought(clock):
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("a", "pdf", 1, PDF)
    shares = []
    for page in range(1, 51):
        clock.now += 0.1
        forecast.pages("a", 50)
        forecast.reached("a", "reading", page, 50)
        shares.append(forecast.estimate()[0])
    assert shares == sorted(shares)
    assert len(set(shares)) > 10


def test_a_document_says_of_others_of_its_kind_how_much_text_they_hold(clock):
    forecast = RemainingTime(PACES, clock=clock)
    for name in "ab":
        forecast.add(name, "pdf", 100, PDF)
    before = forecast.seconds("b")
    forecast.read("a", 25_000)  # a tenth of what pages usually hold
    assert forecast.seconds("b") < before * 0.6


def test_a_step_that_failed_says_nothing_of_the_pace(clock):
    forecast = RemainingTime(PACES, clock=clock)
    forecast.add("a", "md", 1_000_000, FILE)
    forecast.add("b", "md", 1000, FILE)
    forecast.reached("a", "embedding", 0, 100)
    clock.now += 2
    forecast.reached("a", "embedding", 1, 5000)
    forecast.end("a", failed=True)
    assert forecast.seconds("b") == pytest.approx(1000 * 0.011, rel=0.05)


def test_work_that_was_taken_up_goes_on_from_where_it_was(clock):
    forecast = RemainingTime(PACES, floor=0.6, clock=clock)
    forecast.add("a", "text", 1000, WORK)
    forecast.reached("a", "embedding", 0, 1)
    assert forecast.estimate()[0] == 6000
    clock.now += 10
    forecast.end("a")
    assert forecast.estimate() == (10_000, 10_000, 0.0)


def test_what_is_done_once_for_all_weighs_all_of_them(clock):
    forecast = RemainingTime({**PACES, "indexing": 0.5}, clock=clock)
    forecast.add("all", "all", 0, {"indexing": "indexing"})
    forecast.add("a", "text", 10, {"storing": "storing"})
    forecast.add("b", "text", 30, {"storing": "storing"})
    forecast.end("a")
    assert forecast.seconds("all") == pytest.approx(20)


LEAVE = "# Leave\n\nUnused leave may be carried over for three months.\n"
TRAVEL = "# Travel\n\nTrains are booked in second class.\n"


def test_small_documents_are_in_before_large_ones(workspace):
    base = workspace.create("handbook", QUICK)
    texts = {"a.md": LEAVE * 40, "b.md": TRAVEL, "c.md": LEAVE * 10}
    assert add(workspace, base, texts) == ["added"] * 3
    infos = base.documents.documents(QUICK.index)
    assert [info.name for info in sorted(infos, key=lambda info: info.added)] == [
        "b.md",
        "c.md",
        "a.md",
    ]


def test_a_large_document_is_cut_and_embedded_in_another_process(home, monkeypatch):
    def here(*_: object) -> None:
        raise AssertionError("those who share this process wait")

    monkeypatch.setattr(ingestion, "chunks", here)
    monkeypatch.setattr(handlers, "LARGE", 10_000)
    workspace = workspace_at(home)
    base = workspace.create("handbook", QUICK)
    text = "".join(f"Rule {number}: {TRAVEL}" for number in range(300))
    job_id = base.documents.add_files([Upload("all.md", io.BytesIO(text.encode()))])
    workspace.jobs.start()
    while workspace.jobs.get(job_id).active:
        time.sleep(0.05)
    [item] = workspace.jobs.items(job_id)
    assert (item.status, item.reason) == ("added", "")
    assert base.search("Trains are booked", QUICK).hits
    workspace.close()
