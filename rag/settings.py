"""What the environment decides: where data lives, what is allowed, which providers have keys."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rag.errors import InvalidInput

PROJECT = Path(__file__).resolve().parent.parent
"""The folder that holds ``rag/``, ``data/`` and, unless told otherwise, ``workspace/``."""

URL_VARIABLES = (
    "OPENAI_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL",
    "TOUCHSTONE_RERANK_URL",
)
PROVIDER_VARIABLES = (
    *URL_VARIABLES,
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "OPENAI_API_VERSION",
    "OLLAMA_HOST",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "DEEPSEEK_API_KEY",
    "TOUCHSTONE_OPENAI_COMPATIBLE_API_KEY",
    "TOUCHSTONE_OPENAI_COMPATIBLE_MODEL",
    "TOUCHSTONE_RERANK_API_KEY",
)
"""Every variable that a provider may ask for with ``Settings.variable``."""

TOOL_PREFIX = "TOUCHSTONE_TOOL_"
"""What the variables begin with that headers of HTTP tools may name: no others are told to them."""

_TRUTHS = {"1": True, "true": True, "yes": True, "on": True}
_FALSEHOODS = {"0": False, "false": False, "no": False, "off": False}


@dataclass(frozen=True)
class Settings:
    """The environment, read once. Keys and the database URL are left out of ``repr``."""

    home: Path
    database_url: str = field(repr=False)
    allow_private_urls: bool = False
    max_upload_mb: int = 200
    max_index_mb: int = 1024
    metrics: bool = False
    turn_log: bool = False
    api_rate: int = 600
    api_token: str | None = field(default=None, repr=False)
    provider_variables: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    tool_variables: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, *, home: Path | None = None
    ) -> Settings:
        """Settings from ``environ`` (default: the process's own); blank variables count as unset.

        ``home`` goes before the variable. Raises InvalidInput, naming the variable, when a value
        makes no sense.
        """
        given = os.environ if environ is None else environ
        values = {name: value.strip() for name, value in given.items() if value.strip()}
        if home is not None:
            values["TOUCHSTONE_HOME"] = str(home)
        home = _home(values)
        return cls(
            home=home,
            database_url=_database_url(values, home),
            allow_private_urls=_truth(values, "TOUCHSTONE_ALLOW_PRIVATE_URLS", default=False),
            metrics=_truth(values, "TOUCHSTONE_METRICS", default=False),
            turn_log=_truth(values, "TOUCHSTONE_TURN_LOG", default=False),
            api_token=values.get("TOUCHSTONE_API_TOKEN"),
            api_rate=_positive(values, "TOUCHSTONE_API_RATE", default=600),
            max_upload_mb=_positive(values, "TOUCHSTONE_MAX_UPLOAD_MB", default=200),
            max_index_mb=_positive(values, "TOUCHSTONE_MAX_INDEX_MB", default=1024),
            provider_variables=_provider_variables(values),
            tool_variables={
                name: value for name, value in values.items() if name.startswith(TOOL_PREFIX)
            },
        )

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data, keys too: for a process that this one starts, nobody else."""
        return asdict(self) | {"home": str(self.home)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The reverse of ``as_json``."""
        return cls(**{**data, "home": Path(data["home"])})

    def variable(self, name: str) -> str | None:
        """The value of a provider's variable, or None when it is not set."""
        return self.provider_variables.get(name)


def _home(values: Mapping[str, str]) -> Path:
    name = "TOUCHSTONE_HOME"
    try:
        home = Path(values.get(name, PROJECT / "workspace")).expanduser().resolve()
    except (RuntimeError, ValueError, OSError) as error:
        raise InvalidInput(f"{name} is not a usable path: {error}.") from error
    if home.exists() and not home.is_dir():
        raise InvalidInput(f"{name} is {home}, which is a file.", "Set it to a folder.")
    return home


def _database_url(values: Mapping[str, str], home: Path) -> str:
    name = "TOUCHSTONE_DATABASE_URL"
    url = values.get(name, f"sqlite:///{home / 'touchstone.db'}")
    if "://" not in url:
        # The value is not shown: a mistyped URL may hold a password.
        raise InvalidInput(
            f"{name} is not a database URL.",
            "Write it like sqlite:///file.db or postgresql://user:password@host/database.",
        )
    return url


def _truth(values: Mapping[str, str], name: str, *, default: bool) -> bool:
    if name not in values:
        return default
    truth = (_TRUTHS | _FALSEHOODS).get(values[name].lower())
    if truth is None:
        raise InvalidInput(f"{name} is {values[name]!r}.", "Set it to 1 (yes) or 0 (no).")
    return truth


def _positive(values: Mapping[str, str], name: str, *, default: int) -> int:
    text = values.get(name, str(default))
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InvalidInput(f"{name} is {text!r}.", "Set it to a whole number above 0.")
    return int(text)


def _provider_variables(values: Mapping[str, str]) -> dict[str, str]:
    found = {name: values[name] for name in PROVIDER_VARIABLES if name in values}
    for name in URL_VARIABLES:
        if name in found and not _is_web_address(found[name]):
            raise InvalidInput(
                f"{name} is not a web address.", "Write it like https://host.example/v1."
            )
    return found


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
