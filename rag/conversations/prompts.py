"""The wording of a knowledge base's prompts: read, changed, reset; every version is kept."""

from __future__ import annotations

import difflib

from rag.answering.asking.prompt import PROMPTS, Wording, check_prompt_text
from rag.operation import ALL, operation
from rag.storage import Database
from rag.storage import registries as rows
from rag.storage.registries import PromptVersion


class Prompts:
    """The prompts of one knowledge base."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id

    @operation("guest")
    def wording(self) -> Wording:
        """The texts in use."""
        latest = {version.name: version.text for version in self._all()}
        return Wording({name: text for name, text in latest.items() if text})

    @operation("guest")
    def versions(self, name: str) -> list[PromptVersion]:
        """Return the versions of a prompt, newest first; a reset has the text ""."""
        return [version for version in self._all() if version.name == name][::-1]

    @operation("editor", audit="recipe", audited_arguments=1)
    def save(self, name: str, text: str) -> None:
        """Change a prompt. Raises NotFound, InvalidInput for a text without a place it needs."""
        text = check_prompt_text(name, text)
        if text != self.wording().text(name):
            self._add(name, "" if text == PROMPTS[name].text else text)

    @operation("editor", audit="recipe", audited_arguments=ALL)
    def reset(self, name: str) -> None:
        """Back to the text that the product comes with."""
        if name in self.wording().edited:
            self._add(name, "")

    @operation("guest")
    def changes(self, name: str) -> str:
        """The text in use against the one that the product comes with, as a unified diff."""
        before, after = PROMPTS[name].text, self.wording().text(name)
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), "as it came", "in use", lineterm="", n=1
        )
        return "\n".join(lines)

    def _add(self, name: str, text: str) -> None:
        self._database.execute(rows.add_prompt_version, self._base_id, name, text)

    def _all(self) -> list[PromptVersion]:
        return self._database.fetch(rows.list_prompt_versions, self._base_id)
