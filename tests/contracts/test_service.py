"""The page about running a service is walked: its unit, its commands, its compose file."""

import configparser
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from rag import Settings, Workspace
from tests.jobs import until
from tests.nginx import free_port
from tests.workspaces import QUICK, add, found, stocked

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text("utf-8")
HOME = "/var/lib/touchstone/8501"


def blocks(heading: str) -> list[str]:
    """The blocks of code of a section."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```\w*\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def walk(block: str, folder: Path, replaced: dict[str, str]) -> None:
    """Run the commands of a block in a folder."""
    for old, new in {"python": sys.executable, **replaced}.items():
        block = re.sub(rf"(?<![\w/]){re.escape(old)}(?![\w-])", new, block)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TOUCHSTONE_DATABASE_URL", None)
    subprocess.run(["bash", "-euxc", block], cwd=folder, env=environment, check=True)


@pytest.mark.thorough  # test_backup.py restores a home, without the lines of the documentation
def test_the_data_come_back_on_another_machine(tmp_path):
    workspace, _ = stocked(tmp_path / "lost", {"pump.md": "The pump leaks."}, name="notes")
    workspace.back_up(tmp_path / "backup.zip")
    workspace.close()
    shutil.rmtree(tmp_path / "lost")
    walk(blocks("When the machine is lost")[0], tmp_path, {HOME: str(tmp_path / "new")})
    again = Workspace(Settings.from_env({}, home=tmp_path / "new"))
    assert found(again.base("notes"), "pump") == ["The pump leaks."]
    again.close()


@pytest.mark.thorough  # test_backup_server.py does, without the lines of the documentation
def test_the_data_come_back_in_a_new_database(tmp_path, postgres):
    """The home has files and indexes of the lost one."""
    home = tmp_path / "home"
    given = {"TOUCHSTONE_DATABASE_URL": postgres.url(postgres.create())}
    workspace = Workspace(Settings.from_env(given, home=home))
    base = workspace.create("notes", QUICK)
    add(workspace, base, {"pump.md": "The pump leaks."})
    assert found(base, "pump") == ["The pump leaks."]
    workspace.back_up(tmp_path / "backup.zip")
    workspace.close()
    assert any((home / "files").rglob("*"))
    name = f"restored{os.getpid()}"
    url = postgres.url(name)
    programs = {
        "createdb touchstone_new": f"{postgres.programs}/createdb -h 127.0.0.1 "
        f"-p {postgres.port} -U touchstone {name}",
        "postgresql+psycopg://USER:PASSWORD@HOST/touchstone_new": url,
        HOME: str(home),
    }
    walk(blocks("When the machine is lost")[1], tmp_path, programs)
    again = Workspace(Settings.from_env({"TOUCHSTONE_DATABASE_URL": url}, home=home))
    assert found(again.base("notes"), "pump") == ["The pump leaks."]
    assert again.check() == []
    again.close()
    postgres.drop(name)


@pytest.mark.slow
def test_the_unit_starts_a_server_that_ends_in_time(tmp_path):
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(blocks("Run under systemd")[0])
    service, port = unit["Service"], str(free_port())
    program, *arguments = shlex.split(service["ExecStart"].replace("%i", port))
    assert program == f"{service['WorkingDirectory']}/.venv/bin/python"
    variable, _, home = service["Environment"].partition("=")
    assert home.removeprefix("/var/lib/") in service["StateDirectory"].split()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env={**os.environ, variable: str(tmp_path / "home")}
    )
    try:
        until(lambda: _ready(port), 180)
        process.send_signal(signal.SIGTERM)
        process.wait(float(service["TimeoutStopSec"]))
    finally:
        process.kill()


def _ready(port: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def test_the_containers_name_what_exists():
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    server = compose["services"]["touchstone"]
    settings = {name for name in server["environment"] if name.startswith("TOUCHSTONE_")}
    assert settings == set(server["environment"])
    deployment = (ROOT / "docs" / "deployment.md").read_text("utf-8")
    assert all(f"`{name}`" in deployment for name in settings)
    assert set(server["depends_on"]) < set(compose["services"])
    mounted = {
        volume.split(":")[0] for each in compose["services"].values() for volume in each["volumes"]
    }
    assert mounted <= set(compose["volumes"])
    assert "/app/.streamlit/secrets.toml" in PAGE
    docker = (ROOT / "Dockerfile").read_text("utf-8")
    assert "WORKDIR /app" in docker
    assert f"--uid {re.search(r'container .([0-9]+).', PAGE)[1]}" in docker  # type: ignore[index]
