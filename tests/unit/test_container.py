"""The image has what the program needs, and runs it without rights."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()


def instructions(name: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in LINES if line.startswith(f"{name} ")]


def test_everything_that_is_copied_is_there_and_reaches_the_builder():
    allowed = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    for copied in instructions("COPY"):
        *sources, _target = copied.split()
        for source in sources:
            assert list(ROOT.glob(source)), source
            assert any(fnmatchcase(source, pattern) for pattern in allowed), source


def test_the_program_is_whole():
    copied = {source for line in instructions("COPY") for source in line.split()[:-1]}
    assert {"app.py", "pages", "rag", "data", ".streamlit/config.toml"} <= copied


def test_extras_are_files_that_exist():
    [extras] = [line for line in instructions("ARG") if line.startswith("EXTRAS=")]
    for extra in extras.split("=")[1].strip('"').split():
        assert (ROOT / f"requirements-{extra}.txt").is_file()


def test_it_runs_without_rights_and_says_how_it_is():
    last_user = instructions("USER")[-1]
    assert last_user not in ("root", "0")
    assert LINES.index(f"USER {last_user}") < next(
        at for at, line in enumerate(LINES) if line.startswith("CMD")
    )
    [check] = instructions("HEALTHCHECK")
    assert "/healthz" in check
    assert re.search(r"TOUCHSTONE_HOME=/data", " ".join(instructions("ENV")))
    assert re.search(r"TOUCHSTONE_HOSTS=localhost", " ".join(instructions("ENV")))
    assert instructions("VOLUME") == ["/data"]


def test_the_lock_has_the_pinned_versions():
    locked = set(re.findall(r"^([\w.-]+==[\w.]+)", (ROOT / "requirements.lock").read_text(), re.M))
    names = re.findall(r"^-r (\S+)", (ROOT / "requirements-dev.txt").read_text(), re.MULTILINE)
    texts = [(ROOT / name).read_text() for name in ("requirements-dev.txt", *names)]
    pinned = re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?(==[\w.]+)", "\n".join(texts), re.MULTILINE)
    assert len(pinned) > 40
    assert {f"{re.sub('[._]', '-', name.lower())}{version}" for name, version in pinned} <= locked
