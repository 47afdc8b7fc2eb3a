"""Every provider as data: what it is called, how it is spoken to, which key it needs.

Some search defaults of a recipe depend on its embedder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from rag.errors import InvalidFile, InvalidRecipe
from rag.protocols import InputType
from rag.recipe import Recipe
from rag.types import Cost, Usage

Wire = Literal[
    "onnx",
    "onnx-fast",
    "e5",
    "static",
    "hash",
    "extractive",
    "openai",
    "azure",
    "ollama",
    "bedrock",
    "rerank",
    "decisions",
    "systemone",
]
Form = Literal["", "cohere", "gemini", "vertex"]
LOCAL_WIRES: tuple[Wire, ...] = ("onnx", "onnx-fast", "e5", "static", "hash", "extractive")


USUAL_WEIGHT = 0.6


class Variables(Protocol):
    """A source of settings for providers."""

    def variable(self, name: str) -> str | None:
        """The value of an environment variable, or None when it is not set."""


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """One provider. A default model of "" says that it does not offer that service.

    ``key_variable`` "" says that no key is needed; ``base_url_variable`` overrides ``base_url``,
    whose ``{NAME}`` are variables with the defaults in ``address`` ("" must be set). Paths go
    behind it. ``local_url`` is the usual address of a server of one's own.
    ``embedding_form`` is how embeddings are asked for where not by ``wire``;
    ``input_field`` says there whether a text is a query or a passage, in the words of
    ``query_input`` and ``document_input``. One that does not ``sends_floats`` sends them in base64.
    ``rerank_url`` is the whole address where reranking is a service of its own (Google's).
    ``reads`` counts the tokens of a text that its vector is made of; 0 where all are, or that is
    not known.
    ``dimension`` is that of the default embedding model.
    ``languages`` are the only ones that its embedding model knows, by ISO 639-1 code, "" where it
    knows many or that is not known; ``multilingual`` is a model of it that knows many.
    ``dense_weight`` is what its vectors deserve in hybrid search.
    """

    name: str
    label: str
    wire: Wire
    embedding_model: str = ""
    chat_model: str = ""
    key_variable: str = ""
    base_url: str = ""
    base_url_variable: str = ""
    local_url: str = ""
    model_variable: str = ""
    key_optional: bool = False
    address: Mapping[str, str] = field(default_factory=dict, hash=False)
    chat_path: str = ""
    embedding_form: Form = ""
    sends_floats: bool = True
    input_field: str = ""
    query_input: str = ""
    document_input: str = ""
    dimension: int = 0
    rerank_model: str = ""
    rerank_path: str = "/rerank"
    rerank_limit: str = "top_n"
    rerank_url: str = ""
    rerank_url_variable: str = ""
    package: str = ""
    threshold: float = 0.3
    dense_weight: float = USUAL_WEIGHT
    languages: str = ""
    multilingual: str = ""
    reads: int = 0
    note: str = ""

    @property
    def embeds(self) -> bool:
        """Whether it can embed."""
        return bool(self.embedding_model or self.model_variable)

    @property
    def reranks(self) -> bool:
        """Whether it can put passages in order."""
        return self.wire == "rerank" or bool(self.rerank_model)

    @property
    def decides(self) -> bool:
        """Whether it answers questions by a probability."""
        return self.wire in ("decisions", "systemone")

    @property
    def for_reranking(self) -> ProviderRow:
        """The row with the address that reranks."""
        if not self.rerank_url:
            return self
        return replace(self, base_url=self.rerank_url, base_url_variable=self.rerank_url_variable)

    def input_words(self, input_type: InputType) -> dict[str, str]:
        """Return the request field that states the type of the texts; empty if there is none."""
        word = self.query_input if input_type == "query" else self.document_input
        return {self.input_field: word} if self.input_field else {}

    @property
    def chats(self) -> bool:
        """Whether it can answer."""
        return bool(self.chat_model or self.model_variable)


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """The properties of an embedding model: input prefixes, typical cosines and languages.

    ``pattern`` is matched against the lower-case model name (shell wildcards). ``languages`` has
    the form of the field in ``ProviderRow``.
    """

    pattern: str
    query_prefix: str = ""
    document_prefix: str = ""
    threshold: float = 0.3
    languages: str = ""


_Row = TypeVar("_Row", ProviderRow, ModelTraits)


def read_rows(text: str, table: str, row_type: type[_Row]) -> tuple[_Row, ...]:
    """The rows of a table of ``table.toml``. Raises InvalidFile, which names the row."""
    rows = list[_Row]()
    try:
        for row in tomllib.loads(text).get(table, ()):
            named = row.get("name") or row.get("pattern") or f"number {len(rows) + 1}"
            try:
                rows.append(row_type(**row))
            except TypeError as error:
                fault = str(error).partition("__init__() ")[2] or str(error)
                raise InvalidFile(
                    f"rag/providers/table.toml, {table} {named}: {fault}.",
                    f"The keys of a row are the fields of {row_type.__name__}.",
                ) from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidFile(f"rag/providers/table.toml is not TOML: {error}.") from error
    return tuple(rows)


_TEXT = Path(__file__).with_name("table.toml").read_text("utf-8")
ROWS = read_rows(_TEXT, "provider", ProviderRow)
TRAITS = read_rows(_TEXT, "model", ModelTraits)


def row_named(name: str) -> ProviderRow:
    """The row of a provider. Raises InvalidRecipe, listing the names."""
    return _named(name, ROWS, "provider")


def vector_space(embedder: str) -> tuple[str, str]:
    """The model of ``MODEL#SPACE``, and the space: "" for vectors that the model makes here.

    A space is a set of vectors that came from a store. Questions are embedded by the model.
    """
    model, _, space = embedder.partition("#")
    return model, space


def embedding_row(name: str) -> tuple[ProviderRow, str]:
    """Row and model of ``NAME`` or ``PROVIDER:MODEL``, with or without a space; the model may be
    "".

    Raises InvalidRecipe when there is no such embedder.
    """
    provider, _, model = vector_space(name)[0].partition(":")
    rows = {row.name: row for row in ROWS if row.embeds}
    row = rows.get(provider)
    if row is None or (model and row.wire in LOCAL_WIRES):
        raise InvalidRecipe(
            f"No embedding model is called {name!r}.",
            f"Embedders: {_listed(rows.values())}. Remote ones also as PROVIDER:MODEL.",
        )
    return row, model or row.embedding_model


def is_local(embedder: str) -> bool:
    """Whether an embedder runs on this computer. Raises InvalidRecipe."""
    return embedding_row(embedder)[0].wire in LOCAL_WIRES


def may_cost(provider: str, variables: Variables) -> bool:
    """Whether asking a provider may cost money: it knows its user by a key, or by an account.

    One whose key is optional is a server of one's own, unless a key is set. Raises InvalidRecipe.
    """
    row = row_named(provider)
    if row.wire in LOCAL_WIRES:
        return False
    needs_key = bool(row.key_variable) and not row.key_optional
    return bool(row.package) or needs_key or bool(variables.variable(row.key_variable))


def chat_row(provider: str) -> ProviderRow:
    """The row of a provider that answers. Raises InvalidRecipe, listing those that do."""
    return _named(provider, [row for row in ROWS if row.chats], "provider of answers")


def _named(name: str, rows: Sequence[ProviderRow], what: str) -> ProviderRow:
    for row in rows:
        if row.name == name:
            return row
    raise InvalidRecipe(f"No {what} is called {name!r}.", f"Providers: {_listed(rows)}")


def reranking_row(provider: str) -> ProviderRow | None:
    """The row of a provider that reranks, None where there is none of that name."""
    return next((row for row in ROWS if row.reranks and row.name == provider), None)


def reranking_names() -> tuple[str, ...]:
    """The providers that rerank, as a recipe names them."""
    return tuple(row.name for row in ROWS if row.reranks)


def traits(row: ProviderRow, model: str) -> ModelTraits:
    """Prefixes and threshold of an embedding model; no prefixes where none are known."""
    if row.wire not in LOCAL_WIRES:
        for entry in TRAITS:
            if fnmatchcase(model.lower(), entry.pattern):
                return entry
    return ModelTraits(model, threshold=row.threshold, languages=row.languages)


def default_threshold(embedder: str) -> float:
    """The cosine below which passages are rarely relevant, for ``NAME`` or ``PROVIDER:MODEL``.

    Cosines of different models are not comparable, so each has its own. Raises InvalidRecipe.
    """
    return traits(*embedding_row(embedder)).threshold


def default_dense_weight(embedder: str) -> float:
    """Return the default weight of an embedder's vectors in hybrid search. Raises InvalidRecipe."""
    return embedding_row(embedder)[0].dense_weight


def languages(embedder: str) -> frozenset[str]:
    """The only languages that an embedder knows, by ISO 639-1 code; none where it knows many, or
    that is not known. Raises InvalidRecipe.
    """
    return frozenset(traits(*embedding_row(embedder)).languages.split())


def tokens_read(embedder: str) -> int:
    """Tokens of a text that an embedder makes its vector of; 0 if all, or that is not known.

    Raises InvalidRecipe.
    """
    return embedding_row(embedder)[0].reads


def multilingual_embedders() -> tuple[str, ...]:
    """Embedders that know many languages, as a recipe names them; those of this computer first."""
    rows = sorted(
        (row for row in ROWS if row.multilingual), key=lambda row: row.wire not in LOCAL_WIRES
    )
    return tuple(
        row.name if row.wire in LOCAL_WIRES else f"{row.name}:{row.multilingual}" for row in rows
    )


def _listed(rows: Iterable[ProviderRow]) -> str:
    return ", ".join(row.name for row in rows)


def with_embedder_weight(before: Recipe, recipe: Recipe) -> Recipe:
    """``recipe`` with the dense weight that its embedder deserves, where it is another one.

    A weight that is not the one of the embedder before was chosen, and stays. Raises InvalidRecipe
    for an unknown embedder.
    """
    former, present = before.index.embedder, recipe.index.embedder
    if former == present or recipe.search.dense_weight != default_dense_weight(former):
        return recipe
    return recipe.with_fields({"search.dense_weight": default_dense_weight(present)})


def changed_recipe(
    before: Recipe, data: Any = None, fields: Mapping[str, Any] | None = None
) -> Recipe:
    """``before`` with what plain data names by part, then with ``fields`` by dotted name.

    All else stays, but another embedder brings the dense weight that it deserves, unless the
    request names a weight. Raises InvalidRecipe, naming the field.
    """
    data, fields = {} if data is None else data, fields or {}
    recipe = before.merged(data).with_fields(fields)
    weighed = "format" in data or "dense_weight" in data.get("search", ())
    if weighed or "search.dense_weight" in fields:
        return recipe
    return with_embedder_weight(before, recipe)


_TABLE = Path(__file__).with_name("table.toml")
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model's tokens, per million; ``date`` is the date of its table.

    ``model`` is a pattern for the lower-case model name (shell wildcards). Unknown prices are None.
    """

    provider: str
    model: str
    currency: str
    date: date
    input: float | None = None
    output: float | None = None

    def of(self, usage: Usage) -> Cost | None:
        """Return the cost of tokens; None if the price or the number of tokens is unknown."""
        if self.input is None or self.output is None:
            return None
        if not usage.prompt_tokens and not usage.completion_tokens:
            return None
        spent = usage.prompt_tokens * self.input + usage.completion_tokens * self.output
        return Cost(spent / _MILLION, self.currency)


def price_of(
    provider: str, model: str | None, variables: Variables, own: Sequence[Price] = ()
) -> Price | None:
    """The price of a model, of the provider's default where it is None; None where none is known.

    ``own`` go before those of the table. Raises InvalidRecipe for an unknown provider.
    """
    row = row_named(provider)
    set_by_user = variables.variable(row.model_variable) if row.model_variable else None
    return _listed_price(provider, model or set_by_user or row.chat_model, own)


def embedding_price_of(embedder: str, own: Sequence[Price] = ()) -> Price | None:
    """The price of an embedder; None where none is known. Raises InvalidRecipe if it is unknown."""
    row, model = embedding_row(embedder)
    return _listed_price(row.name, model, own)


def _listed_price(provider: str, model: str, own: Sequence[Price]) -> Price | None:
    rows = (price for price in (*own, *_table()) if price.provider == provider)
    return next((price for price in rows if fnmatchcase(model.lower(), price.model)), None)


@cache
def _table() -> Sequence[Price]:
    return read_prices(_TABLE)


def read_prices(path: Path) -> Sequence[Price]:
    """The rows of a file like ``table.toml``. Raises InvalidFile, naming what is wrong."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidFile(f"The prices in {path} cannot be read: {error}.", _HINT) from error
    head = data.get("prices", {})
    currency, day = head.get("currency"), head.get("date")
    if not isinstance(currency, str) or not 1 <= len(currency) <= 8 or not isinstance(day, date):
        raise InvalidFile(f"The prices in {path} lack a currency or a date.", _HINT)
    return tuple(_row(path, row, currency, day) for row in data.get("price", ()))


_HINT = (
    "Write [prices] with currency and date, and [[price]] with provider, model, input and output "
    "(per million tokens), as in rag/providers/table.toml."
)


def _row(path: Path, row: Mapping[str, Any], currency: str, day: date) -> Price:
    names = [row.get("provider"), row.get("model")]
    amounts = [row.get("input"), row.get("output")]
    has_amounts = all(isinstance(amount, int | float) and amount >= 0 for amount in amounts)
    if not all(isinstance(name, str) for name in names) or not (
        has_amounts or amounts == [None, None]
    ):
        raise InvalidFile(f"A price in {path} is not usable: {dict(row)}.", _HINT)
    provider, model = map(str, names)
    if not has_amounts:
        return Price(provider, model.lower(), currency, day)
    paid, got = (float(amount) for amount in amounts if amount is not None)
    return Price(provider, model.lower(), currency, day, paid, got)
