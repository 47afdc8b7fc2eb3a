"""Settings from the environment: the data folder, permissions and keys of providers."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rag.settings import variables
from rag.settings.variables import PROJECT, TOOL_PREFIX, fold_case

__all__ = ["PROJECT", "Settings", "fold_case"]


_OF_COMMANDS = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")
"""Variables that systems which are commands get; all others are named in their definitions."""


@dataclass(frozen=True)
class Settings:
    """The environment, read once. Keys and the database URL are left out of ``repr``."""

    home: Path
    database_url: str = field(repr=False)
    read_url: str | None = field(default=None, repr=False)
    database_pool: int = 5
    vectors_url: str | None = field(default=None, repr=False)
    vectors_key: str | None = field(default=None, repr=False)
    allow_private_urls: bool = False
    max_upload_mb: int = 200
    max_document_characters: int = 50_000_000
    max_index_mb: int = 1024
    max_store_rows: int = 1_000_000
    max_store_mb: int = 20_000
    find_models: bool = True
    hosts: tuple[str, ...] = ()
    metrics: bool = False
    turn_log: bool = False
    traces: bool = False
    trace_inputs: bool = False
    trace_outputs: bool = False
    api_rate: int = 600
    guest_rate: int = 60
    prices: Path | None = None
    pipeline: str = ""
    api_token: str | None = field(default=None, repr=False)
    sign_in: bool = True
    admins: tuple[str, ...] = ()
    sign_in_allowed: tuple[str, ...] = ()
    keep_conversations_days: int | None = None
    keep_interactions_days: int | None = None
    keep_traces_days: int | None = None
    keep_audit_days: int | None = None
    provider_variables: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    tool_variables: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    command_variables: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, *, home: Path | None = None
    ) -> Settings:
        """Settings from ``environ`` (default: the process's own); blank variables count as unset.

        ``home`` goes before the variable. Raises InvalidInput, naming the variable, when a value
        makes no sense.
        """
        values = variables.ReadVariables(os.environ if environ is None else environ)
        if home is not None:
            values["TOUCHSTONE_HOME"] = str(home)
        home = variables.home_folder(values)
        settings = cls(
            home=home,
            database_url=variables.database_url(values, home),
            read_url=values.get("TOUCHSTONE_READ_URL"),
            database_pool=variables.positive(values, "TOUCHSTONE_DATABASE_POOL", default=5),
            vectors_url=values.get("TOUCHSTONE_VECTORS_URL"),
            vectors_key=values.get("TOUCHSTONE_VECTORS_KEY"),
            allow_private_urls=variables.truth(
                values, "TOUCHSTONE_ALLOW_PRIVATE_URLS", default=False
            ),
            find_models=variables.truth(values, "TOUCHSTONE_FIND_MODELS", default=True),
            hosts=variables.hosts(values),
            metrics=variables.truth(values, "TOUCHSTONE_METRICS", default=False),
            turn_log=variables.truth(values, "TOUCHSTONE_TURN_LOG", default=False),
            traces=variables.traces(values),
            trace_inputs=variables.tells(values, "OPENINFERENCE_HIDE_INPUTS"),
            trace_outputs=variables.tells(values, "OPENINFERENCE_HIDE_OUTPUTS"),
            api_token=values.get("TOUCHSTONE_API_TOKEN"),
            api_rate=variables.positive(values, "TOUCHSTONE_API_RATE", default=600),
            guest_rate=variables.positive(values, "TOUCHSTONE_GUEST_RATE", default=60),
            sign_in=variables.truth(values, "TOUCHSTONE_SIGN_IN", default=True),
            admins=variables.addresses(values, "TOUCHSTONE_ADMINS"),
            sign_in_allowed=variables.addresses(values, "TOUCHSTONE_SIGN_IN_ALLOWED"),
            keep_conversations_days=variables.days(values, "TOUCHSTONE_KEEP_CONVERSATIONS_DAYS"),
            keep_interactions_days=variables.days(values, "TOUCHSTONE_KEEP_INTERACTIONS_DAYS"),
            keep_traces_days=variables.days(values, "TOUCHSTONE_KEEP_TRACES_DAYS"),
            keep_audit_days=variables.days(values, "TOUCHSTONE_KEEP_AUDIT_DAYS"),
            prices=variables.file(values, "TOUCHSTONE_PRICES"),
            pipeline=variables.pipeline(values),
            max_upload_mb=variables.positive(values, "TOUCHSTONE_MAX_UPLOAD_MB", default=200),
            max_document_characters=variables.positive(
                values, "TOUCHSTONE_MAX_DOCUMENT_CHARACTERS", default=50_000_000
            ),
            max_index_mb=variables.positive(values, "TOUCHSTONE_MAX_INDEX_MB", default=1024),
            max_store_rows=variables.positive(
                values, "TOUCHSTONE_MAX_STORE_ROWS", default=1_000_000
            ),
            max_store_mb=variables.positive(values, "TOUCHSTONE_MAX_STORE_MB", default=20_000),
            provider_variables=variables.provider_variables(values) | variables.bounds(values),
            command_variables={name: values[name] for name in _OF_COMMANDS if name in values},
            tool_variables={name: values[name] for name in values if name.startswith(TOOL_PREFIX)},
        )
        for name in values.keys() - values.asked:
            if name.startswith("TOUCHSTONE_") and not name.startswith(TOOL_PREFIX):
                variables.warn_of(name, *difflib.get_close_matches(name, values.asked, 1, 0.8))
        return settings

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data, keys too: for a process that this one starts, nobody else."""
        prices = str(self.prices) if self.prices else None
        return asdict(self) | {"home": str(self.home), "prices": prices}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The reverse of ``as_json``."""
        lists = {name: tuple(data[name]) for name in ("hosts", "admins", "sign_in_allowed")}
        prices = Path(data["prices"]) if data["prices"] else None
        return cls(**{**data, **lists, "home": Path(data["home"]), "prices": prices})

    def variable(self, name: str) -> str | None:
        """The value of a provider's variable, or None when it is not set."""
        return self.provider_variables.get(name)
