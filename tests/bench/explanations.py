"""Whether explanations hold: changes that turn a passage's fate, and words that add up to a score.

``python -m rag bench --only explanations`` runs it, on the sample's questions and passages.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rag import SAMPLE, Counterfactual, Explainer, KnowledgeBase, Recipe, Settings, Workspace
from rag.lexical import LexicalIndex

PAIRS, EXPLAINED, AT_ONCE = 500, 10_000, 20
FIELDS = ("dense_weight", "threshold", "top_k", "candidates", "refuse")


def measure(_folder: Path, *, pairs: int = PAIRS, explained: int = EXPLAINED) -> dict[str, float]:
    """What ``turned`` and ``added_up`` find, one after the other."""
    with tempfile.TemporaryDirectory() as home, sample(Path(home)) as base:
        return {**turned(base, pairs), **added_up(base, explained)}


@contextmanager
def sample(home: Path) -> Iterator[KnowledgeBase]:
    """The sample knowledge base in a home of its own."""
    workspace = Workspace(Settings.from_env({}, home=home))
    base, job = workspace.start_demo()
    workspace.jobs.run(job)
    yield base
    workspace.close()


def turned(base: KnowledgeBase, pairs: int) -> dict[str, float]:
    """Random questions, passages and recipes: every change stated is applied by a new search.

    Passages are in equal parts results, candidates, and any. "a shorter one turned" counts changes
    whose neighbour, 1% shorter, turned the passage's fate as well; "not confirmed" those that the
    first search refused. Both should be 0.
    """
    dice, found = random.Random(4), Counter[str]()
    asked = [question.text for question in base.questions.usable(SAMPLE)]
    passages = _passages(base, base.recipe())
    for at in range(pairs):
        question, recipe = dice.choice(asked), _recipe(base.recipe(), dice)
        explainer = base.explain(question, recipe)
        key = dice.choice(_pool(explainer, passages, at % 3))
        for change in explainer.changes(key):
            found.update(_checked(base, question, recipe, key, change))
    names = [f"stated: {field}" for field in FIELDS]
    names += ["stated", "turned by it", "a shorter one tried", "a shorter one turned"]
    return {"pairs": pairs, **{name: float(found[name]) for name in [*names, "not confirmed"]}}


def _recipe(recipe: Recipe, dice: random.Random) -> Recipe:
    return recipe.with_fields(
        {
            "search.fusion": dice.choice(["weighted", "weighted", "rrf"]),
            "search.dense_weight": dice.choice([0.3, 0.6, 0.85]),
            "search.threshold": dice.choice(["auto", "auto", None, 0.35]),
            "search.top_k": dice.choice([3, 5, 10, 20]),
            "search.candidates": dice.choice([20, 100]),
        }
    )


def _passages(base: KnowledgeBase, recipe: Recipe) -> list[int]:
    return [
        chunk.key
        for info in base.documents.documents(recipe.index)
        for chunk in base.documents.chunks(info.id, recipe.index)
    ]


def _pool(explainer: Explainer, passages: Sequence[int], kind: int) -> Sequence[int]:
    trace = explainer.trace
    results = [hit.chunk.key for hit in trace.hits]
    dropped = [drop.hit.chunk.key for stage in trace.stages for drop in stage.dropped]
    return [results, [*results, *dropped], passages][kind] or passages


def _checked(
    base: KnowledgeBase, question: str, recipe: Recipe, key: int, change: Counterfactual
) -> Iterator[str]:
    def is_in(value: float) -> bool:
        whole = change.field in ("top_k", "candidates")
        field = {f"search.{change.field}": int(value) if whole else value}
        found = base.search(question, recipe.with_fields(field))
        return any(hit.chunk.key == key for hit in found.hits)

    if change.value is None:
        if "confirmed" in change.words:
            yield "not confirmed"
        return
    yield "stated"
    yield f"stated: {change.field}"
    if is_in(change.value) == change.enters:
        yield "turned by it"
    if change.shorter is not None:
        yield "a shorter one tried"
        if is_in(change.shorter) == change.enters:
            yield "a shorter one turned"


def added_up(base: KnowledgeBase, pairs: int) -> dict[str, float]:
    """The largest difference between a BM25 score of a search and the sum of its explanation.

    Questions have letters changed and endings cut, so that fuzzy and prefix matches come up.
    """
    dice, kinds, largest = random.Random(5), Counter[str](), 0.0
    asked = [question.text for question in base.questions.usable(SAMPLE)]
    index, keys = _lexical(base)
    for _ in range(pairs // AT_ONCE):
        question = _misspelt(dice.choice(asked), dice)
        how = {
            "k1": dice.choice([0.0, 0.9, 1.2, 2.0]),
            "b": dice.choice([0.0, 0.4, 0.75, 1.0]),
            "fuzzy": dice.random() < 0.7,
            "prefix": dice.random() < 0.7,
        }
        ranked, scores = index.search(question, len(keys), **how)
        known = dict(zip(ranked.tolist(), scores.tolist(), strict=True))
        first = ranked.tolist()[: AT_ONCE * 3]
        for at in range(AT_ONCE):
            key = dice.choice(first if first and at % 4 else keys)
            found = index.explain(question, key, **how)
            total = sum(match.contribution for match in found.matches)
            largest = max(largest, abs(total - known.get(key, 0.0)))
            kinds.update(match.kind for match in found.matches)
    told = {f"{kind} matches": float(kinds[kind]) for kind in ("exact", "prefix", "fuzzy")}
    return {
        "explained pairs": float(pairs),
        "largest difference, in billionths": largest * 1e9,
        **told,
    }


def _lexical(base: KnowledgeBase) -> tuple[LexicalIndex, list[int]]:
    index = base.recipe().index
    chunks = [
        chunk
        for info in base.documents.documents(index)
        for chunk in base.documents.chunks(info.id, index)
    ]
    built = LexicalIndex.empty(index.analyzer).added((chunk.key, chunk.text) for chunk in chunks)
    return built, [chunk.key for chunk in chunks]


def _misspelt(question: str, dice: random.Random) -> str:
    words = question.split()
    for at, word in enumerate(words):
        if len(word) > 4 and dice.random() < 0.4:
            place = dice.randrange(1, len(word) - 1)
            cut = word[: max(place, 3)]
            words[at] = dice.choice([cut, word[:place] + word[place + 1 :]])
    return " ".join(words)
