"""Answers from editions that others supersede, and from documents named by a date or version."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import Answer, KnowledgeBase, Recipe, Settings, Workspace
from tests.workspaces import add

COVER = "Open enrollment is in November of every year for all of us."
OLD = f"""# Benefits

## Medical Insurance

The company pays 75% of the premium and the employee pays the other 25%. {COVER}

## Dental Insurance

The company pays 75% of the premium and the employee pays the other 25%. {COVER}

## Bicycles

Employees who cycle to work get a helmet with a reflector from the company.
"""
NEW = f"""# Benefits

## Medical Insurance

The company pays 75% of the premium and the employee pays the other 25%. {COVER}

## Dental Insurance

The company pays 100% of the premium. {COVER}
"""
MINUTES = "# Meeting\n\n* **Recording**: https://video.example/{name}\n* Present: {name} Baker\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    workspace = Workspace(Settings.from_env({}, home=tmp_path_factory.mktemp("home")))
    recipe = Recipe().with_fields({"index.embedder": "wordllama", "index.chunk_size": 60})
    made = workspace.create("editions", recipe)
    minutes = {
        f"board-minutes-2019-01-{day}.md": MINUTES.format(name=name)
        for day, name in (("02", "Ann"), ("16", "Bob"), ("30", "Cid"))
    }
    add(workspace, made, {"benefits-2020.md": OLD, "benefits.md": NEW, **minutes})
    yield made
    workspace.close()


def _answer(base: KnowledgeBase, question: str) -> Answer:
    return base.ask(question, base.recipe()).answer


def test_an_edition_that_says_it_of_another_matter_does_not_repeat_it(base):
    answer = _answer(base, "Does the company pay 75% of the dental premium?")
    assert answer.state == "conflicting"
    assert answer.assessment.reason == "benefits-2020.md and benefits.md give different figures."
    assert [citation.hit.document for citation in answer.citations] == [
        "benefits-2020.md",
        "benefits.md",
    ]
    assert "“The company pays 100% of the premium.” [2]" in answer.text
    agreed = _answer(base, "Does the company pay 75% of the medical premium?")
    assert agreed.state == "answered"


def test_a_line_that_only_the_older_edition_has_is_named_as_such(base):
    answer = _answer(base, "Which employees get a helmet with a reflector?")
    reason = answer.assessment.reason
    named = ("employees", "helmet", "reflector", "2020", "benefits-2020.md", "benefits.md")
    assert all(word in reason for word in named), reason
    assert reason.index("benefits-2020.md") < reason.index(" benefits.md")


DUES = """# Dues

## Invoices

{invoice} The treasurer sends the invoice for the dues after each competition of a region.

## {section}

{late}
"""
EDITIONS = {
    "dues-v1.9.md": DUES.format(
        invoice="A delegate pays the invoice within 30 days.",
        section="Late invoices",
        late="A delegate may not announce a meeting until the invoice of the region is paid.",
    ),
    "dues-v1.11.md": DUES.format(
        invoice="A delegate pays the invoice within 30 days.",
        section="{section}",
        late="Whoever is late talks to the board.",
    ),
}
LATE = "Within how many days does a delegate pay the invoice, or may not announce?"


def _of_editions(folder: Path, section: str) -> Answer:
    workspace = Workspace(Settings.from_env({}, home=folder))
    recipe = Recipe().with_fields({"index.embedder": "wordllama", "index.chunk_size": 40})
    base = workspace.create("dues", recipe)
    add(workspace, base, {name: text.format(section=section) for name, text in EDITIONS.items()})
    answer = base.ask(LATE, base.recipe()).answer
    workspace.close()
    return answer


def test_a_section_that_only_an_old_edition_has_is_named_as_such(tmp_path):
    answer = _of_editions(tmp_path, "The board")
    assert [citation.hit.document for citation in answer.citations] == [
        "dues-v1.11.md",
        "dues-v1.9.md",
    ]
    assert answer.assessment is not None
