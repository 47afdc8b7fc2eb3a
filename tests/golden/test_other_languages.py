"""Texts in other languages, with everything at its default: the right sentence answers."""

from pathlib import Path

import pytest

from rag import KnowledgeBase, Settings, Workspace
from tests.workspaces import add

FILES = {
    "насосы.txt": "Насосы проверяют на утечки каждую пятницу. Фильтр меняют раз в три месяца. "
    "Ключ от склада хранится у дежурного инженера. Масло заливают до верхней отметки.",
    "水泵.txt": "水泵每周五检查是否泄漏。过滤器每三个月更换一次。仓库钥匙由值班工程师保管。"
    "机油加到上限刻度。",
    "pumpen.txt": "Die Pumpen werden jeden Freitag auf Lecks geprüft. Der Filter wird alle "
    "drei Monate gewechselt. Den Schlüssel zum Lager hat der diensthabende Ingenieur.",
    "leave.txt": "Everybody may leave at four on Fridays. The office is closed on public holidays.",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    home: Path = tmp_path_factory.mktemp("home")
    workspace = Workspace(Settings.from_env({}, home=home))
    made = workspace.create("languages")
    add(workspace, made, FILES)
    return made


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Как часто меняют фильтр?", "Фильтр меняют раз в три месяца."),
        ("У кого хранится ключ от склада?", "Ключ от склада хранится у дежурного инженера."),
        ("过滤器多久更换一次？", "过滤器每三个月更换一次。"),
        ("仓库钥匙由谁保管？", "仓库钥匙由值班工程师保管。"),
        ("WIE OFT WIRD DER FILTER GEWECHSELT?", "Der Filter wird alle drei Monate gewechselt."),
        (
            "Wer hat den Schlüssel zum Lager?",
            "Den Schlüssel zum Lager hat der diensthabende Ingenieur.",
        ),
        ("When may everybody leave?", "Everybody may leave at four on Fridays."),
    ],
)
def test_the_right_sentence_answers(base, question, sentence):
    answer = base.ask(question, base.recipe()).answer
    assert answer.status == "complete"
    assert answer.text.startswith(f"“{sentence}”")
    told = "The search compares mainly words"
    assert answer.note.startswith(told) == (not sentence.startswith("Everybody"))
