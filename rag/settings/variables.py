"""The variables of the environment: their names, and one at a time checked and read."""

from __future__ import annotations

import logging
import string
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from rag.errors import InvalidInput

URL_VARIABLES = (
    "OPENAI_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "COHERE_BASE_URL",
    "GEMINI_BASE_URL",
    "VERTEX_BASE_URL",
    "VERTEX_RANKING_URL",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "JINA_BASE_URL",
    "VOYAGE_BASE_URL",
    "TOUCHSTONE_VLLM_URL",
    "TOUCHSTONE_LM_STUDIO_URL",
    "TOUCHSTONE_LLAMA_CPP_URL",
    "TOUCHSTONE_DOCKER_MODELS_URL",
    "TOUCHSTONE_TEI_URL",
    "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL",
    "TOUCHSTONE_RERANK_URL",
    "TOUCHSTONE_DECISIONS_URL",
    "TOUCHSTONE_SYSTEMONE_URL",
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
    "COHERE_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "AWS_REGION",
    "JINA_API_KEY",
    "VOYAGE_API_KEY",
    "TOUCHSTONE_VLLM_API_KEY",
    "TOUCHSTONE_VLLM_MODEL",
    "TOUCHSTONE_LM_STUDIO_API_KEY",
    "TOUCHSTONE_LM_STUDIO_MODEL",
    "TOUCHSTONE_LLAMA_CPP_API_KEY",
    "TOUCHSTONE_LLAMA_CPP_MODEL",
    "TOUCHSTONE_DOCKER_MODELS_MODEL",
    "TOUCHSTONE_TEI_API_KEY",
    "TOUCHSTONE_OPENAI_COMPATIBLE_API_KEY",
    "TOUCHSTONE_OPENAI_COMPATIBLE_MODEL",
    "TOUCHSTONE_RERANK_API_KEY",
    "TOUCHSTONE_DECISIONS_API_KEY",
    "TOUCHSTONE_SYSTEMONE_API_KEY",
)
"""Every variable that a provider may ask for with ``Settings.variable``."""

GONE = {"TOUCHSTONE_CLUSTER": "Jobs read and embed here; add workers on the same PostgreSQL."}
"""Variables of earlier versions, and what to do instead."""

BOUND_VARIABLES = ("TOUCHSTONE_PROVIDER_RATE", "TOUCHSTONE_PROVIDER_AT_ONCE")
"""Bounds of providers by name; ``Settings.variable`` has them as ``NAME[provider]``."""

TOOL_PREFIX = "TOUCHSTONE_TOOL_"
"""What the variables begin with that headers of HTTP tools may name: no others are sent to them."""

TRACE_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Where traces go; either turns them on."""


log = logging.getLogger(__name__)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
PROJECT = Path(__file__).resolve().parents[2]
"""The folder that holds ``rag/``, ``data/`` and, unless told otherwise, ``workspace/``."""

_PROTOCOL = "http/protobuf"
_CAPTURES = {
    "true": True,
    "span_only": True,
    "span_and_event": True,
    "false": False,
    "no_content": False,
    "event_only": False,
}

_TRUTHS = {"1": True, "true": True, "yes": True, "on": True}
_FALSEHOODS = {"0": False, "false": False, "no": False, "off": False}


class ReadVariables(dict[str, str]):
    """Variables that are not blank, and which names were looked for among them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__({name: text.strip() for name, text in values.items() if text.strip()})
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


@cache
def warn_of(name: str, meant: str = "") -> None:
    """Once for each: a setting that is misspelt would be missed in silence."""
    advice = GONE.get(name) or (f"Did you mean {meant}?" if meant else "")
    log.warning("%s is not a setting. %s", name, advice)


def home_folder(values: Mapping[str, str]) -> Path:
    """Return the folder of all data, which need not exist yet.

    Raises InvalidInput for an unusable path or a file.
    """
    name = "TOUCHSTONE_HOME"
    try:
        home = Path(values.get(name, PROJECT / "workspace")).expanduser().resolve()
    except (RuntimeError, ValueError, OSError) as error:
        raise InvalidInput(f"{name} is not a usable path: {error}.") from error
    if home.exists() and not home.is_dir():
        raise InvalidInput(f"{name} is {home}, which is a file.", "Set it to a folder.")
    return home


def file(values: Mapping[str, str], name: str) -> Path | None:
    """A file that is there, or None."""
    if name not in values:
        return None
    path = Path(values[name]).expanduser().resolve()
    if not path.is_file():
        raise InvalidInput(f"{name} is {path}, which is not a file.", "Set it to a file.")
    return path


def database_url(values: Mapping[str, str], home: Path) -> str:
    """The address of the database: unless told otherwise, of a file in the home folder."""
    name = "TOUCHSTONE_DATABASE_URL"
    # A ? of the path would begin the options of the URL, and %41 would be another character.
    url = values.get(name, f"sqlite:///{quote(str(home / 'touchstone.db'))}")
    if "://" not in url:
        # The value is not shown: a mistyped URL may hold a password.
        raise InvalidInput(
            f"{name} is not a database URL.",
            "Write it like sqlite:///file.db or postgresql://user:password@host/database.",
        )
    return url


def truth(values: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Yes or no."""
    if name not in values:
        return default
    truth = (_TRUTHS | _FALSEHOODS).get(values[name].lower())
    if truth is None:
        raise InvalidInput(f"{name} is {values[name]!r}.", "Set it to 1 (yes) or 0 (no).")
    return truth


def traces(values: Mapping[str, str]) -> bool:
    """Whether a collector is named, and the variables of OpenTelemetry do not say otherwise."""
    if not any(name in values for name in TRACE_VARIABLES):
        return False
    if truth(values, "OTEL_SDK_DISABLED", default=False):
        return False
    if values.get("OTEL_TRACES_EXPORTER", "").lower() == "none":
        return False
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if values.get(name, _PROTOCOL).lower() != _PROTOCOL:
            raise InvalidInput(
                f"{name} is {values[name]!r}.",
                f"Only {_PROTOCOL} is supported. Set it to that, and use the matching "
                "port in the address.",
            )
    return True


def tells(values: Mapping[str, str], hiding: str) -> bool:
    """Whether traces tell text of one direction: where that is asked for and it is not hidden."""
    name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    value = values.get(name, "false").lower()
    if value not in _CAPTURES:
        raise InvalidInput(f"{name} is {values[name]!r}.", f"Set it to {', '.join(_CAPTURES)}.")
    return _CAPTURES[value] and not truth(values, hiding, default=False)


def positive(values: Mapping[str, str], name: str, *, default: int) -> int:
    """A whole number above 0."""
    text = values.get(name, str(default))
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InvalidInput(f"{name} is {text!r}.", "Set it to a whole number above 0.")
    return int(text)


def days(values: Mapping[str, str], name: str) -> int | None:
    """A number of days, or None."""
    return positive(values, name, default=0) if name in values else None


def fold_case(address: str) -> str:
    """An e-mail address as it is compared: only ASCII letters lose their case.

    Unicode's case folding makes one address of several: U+017F, a long s, becomes ``s``, U+212A,
    the sign of Kelvin, ``k``. Another mailbox would pass for that of an administrator.
    """
    return address.strip().translate(_LOWER)


def addresses(values: Mapping[str, str], name: str) -> tuple[str, ...]:
    """E-mail addresses, as they are compared."""
    entries = [fold_case(entry) for entry in values.get(name, "").split(",") if entry.strip()]
    if not all("@" in entry for entry in entries):
        raise InvalidInput(
            f"{name} contains something that is not an e-mail address.", "Separate them by commas."
        )
    return tuple(entries)


def pipeline(values: Mapping[str, str]) -> str:
    """Name the branch and commit that a pipeline of GitHub or GitLab checks; "" elsewhere."""
    pairs = ("GITHUB_REF_NAME", "GITHUB_SHA"), ("CI_COMMIT_REF_NAME", "CI_COMMIT_SHA")
    checked = (f"CI {values.get(ref, '')} {values[sha][:8]}" for ref, sha in pairs if sha in values)
    return next(checked, "")


def hosts(values: Mapping[str, str]) -> tuple[str, ...]:
    """Names of hosts without ports, in lower case; ``*`` stands for any."""
    name = "TOUCHSTONE_HOSTS"
    entries = [entry.strip().lower() for entry in values.get(name, "").split(",") if entry.strip()]
    if any(character in entry for entry in entries for character in "/: "):
        raise InvalidInput(
            f"{name} is {values[name]!r}.",
            "Write names without schemes and ports, such as kb.example.org, localhost.",
        )
    return tuple(entries)


def provider_variables(values: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the providers. Raises InvalidInput for an invalid web address."""
    variables = {name: values[name] for name in PROVIDER_VARIABLES if name in values}
    for name in URL_VARIABLES:
        if name in variables and not _is_web_address(variables[name]):
            raise InvalidInput(
                f"{name} is not a web address.", "Write it like https://host.example/v1."
            )
    return variables


def bounds(values: Mapping[str, str]) -> dict[str, str]:
    """Of ``openai=500, mistral=60`` a variable for each: ``TOUCHSTONE_PROVIDER_RATE[openai]``."""
    limits = {}
    for variable in BOUND_VARIABLES:
        for part in filter(str.strip, values.get(variable, "").split(",")):
            name, _, number = (piece.strip() for piece in part.partition("="))
            if not (name and number.isascii() and number.isdigit() and int(number) > 0):
                raise InvalidInput(
                    f"{variable} is {values[variable]!r}.",
                    "Write it like openai=500, mistral=60: whole numbers above 0.",
                )
            limits[f"{variable}[{name}]"] = number
    return limits


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
