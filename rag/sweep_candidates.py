"""The candidates that a sweep works on: fetched once for a build, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rag.corpora import corpus
from rag.errors import InvalidInput
from rag.evaluation.calibration import Calibration
from rag.evaluation.judging import Judge
from rag.evaluation.sweeping import Deep, Prepared, flattened
from rag.evaluations import Tell
from rag.indexing import Index
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval import Candidates, Remembered, Timeline, gather
from rag.services import Services
from rag.storage import passages
from rag.types import Question, Vectors

Options = tuple[float, float, bool, bool, int, bool]

_ARITHMETIC = frozenset({"spelling"})
"""Steps that only change what is found, not how it is ranked and cut."""

_KEPT = 8  # tables of candidates of a build, for different k1, b ...


class Source:
    """The candidates of one build, with what they count as."""

    def __init__(
        self,
        services: Services,
        base_id: int,
        questions: Sequence[Question],
        recipe: IndexRecipe,
        index: Index,
        queries: Vectors,
        judge: Judge,
        calibration: Calibration | None,
    ) -> None:
        self.index = index
        self.queries = queries
        self.exact = recipe.vector_index == "flat"
        self.ideals = [judge.ideal(question) for question in questions]
        self._services = services
        self._base_id = base_id
        self._recipe = recipe
        self._questions = questions
        self._judge = judge
        self._calibration = calibration
        self._dense = Remembered(index.dense, self.exact)
        self._deep: dict[Options, tuple[int, Prepared]] = {}
        self._tokens: dict[int, int] = {}

    def deep(self, search: SearchRecipe, tell: Tell) -> Deep:
        """Candidates for the k1, b ... of a recipe, as deep as it asks, or deeper."""
        return self.prepared(search, tell).deep

    def prepared(self, search: SearchRecipe, tell: Tell) -> Prepared:
        """The same, ready to be swept over."""
        refuse_steps(search)
        options = _options(search, self.exact)
        depth, found = self._deep.get(options, (0, None))
        if found is None or depth < search.candidates:
            found = Prepared(self._fetched(search.model_copy(update={"mode": "hybrid"}), tell))
            while len(self._deep) >= _KEPT:
                self._deep.pop(next(iter(self._deep)))
            self._deep[options] = search.candidates, found
        return found

    def _fetched(self, search: SearchRecipe, tell: Tell) -> Deep:
        found = list[Candidates]()
        recipe = Recipe(index=self._recipe, search=search)
        searched = replace(
            corpus(self._services, self._base_id, recipe, self.index), dense=self._dense
        )
        for place, (question, query) in enumerate(zip(self._questions, self.queries, strict=True)):
            tell(place, len(self._questions))
            found.append(gather(question.text, search, searched, Timeline(), query)[1])
        return flattened(self._questions, found, self._judge, self._calibration)

    def tokens(self, deep: Deep) -> npt.NDArray[np.int64]:
        """Length of every candidate in tokens of the embedder, shape (candidates,)."""
        new = sorted(set(deep.keys.tolist()).difference(self._tokens))
        with self._services.database.read() as connection:
            chunks = passages.by_key(connection, self.index.cut_id, new)
        count = self._services.models.embedder(self._recipe.embedder).tokenizer.count
        self._tokens.update({key: count(chunk.text) for key, chunk in chunks.items()})
        return np.array([self._tokens.get(key, 0) for key in deep.keys.tolist()], np.int64)


def _options(search: SearchRecipe, exact: bool) -> Options:
    """What candidates depend on; of an approximate index also how many were asked for."""
    asked = 0 if exact else search.candidates
    return search.k1, search.b, search.fuzzy, search.prefix, asked, search.spelling


def refuse_steps(search: SearchRecipe) -> None:
    """Raises InvalidInput for steps that arithmetic on candidates cannot follow."""
    asked = [f"search.{name}" for name in search.steps if name not in _ARITHMETIC]
    if asked:
        raise InvalidInput(
            f"Recipes with {', '.join(asked)} cannot be measured at once with others.",
            "Evaluate the recipe by itself, or leave these fields at their defaults.",
        )


def alike(searches: Sequence[SearchRecipe], exact: bool) -> dict[Options, list[int]]:
    """Numbers of the recipes that share their candidates."""
    groups: dict[Options, list[int]] = {}
    for number, search in enumerate(searches):
        groups.setdefault(_options(search, exact), []).append(number)
    return groups
