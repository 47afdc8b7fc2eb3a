"""The index: an immutable value made of segments, searched with BM25."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rag.errors import NotFound
from rag.lexical.analyzers import Analyzer, analyzer
from rag.lexical.clauses import Clause, clauses, length_damping, row_scores, segment_scores
from rag.lexical.explain import Explanation, TermMatch, term_spans
from rag.lexical.postings import Postings, laid_out
from rag.lexical.protocols import Query
from rag.lexical.segment import Segment, build, merged
from rag.lexical.spelling import Correction, Meant, corrections, nearest_term
from rag.types import Keys, Scores

BATCH_PASSAGES = 4096
BATCH_CHARACTERS = 4_000_000
SMALLEST_SEGMENT = 4096
LARGEST_MERGED = 65_536
MOST_DEAD = 0.25
REMEMBERED_PARAMETERS = 8
REMEMBERED_QUERIES = 1024
FEW_POSTINGS = 20_000  # below this, scoring all rows is faster than looking up a few
FORMAT = 1


@dataclass(frozen=True, eq=False)
class LexicalIndex:
    """Passages by words, ranked with BM25.

    The score of a passage is the sum over the query's terms (a repeated one counts again) of
    ``idf * tf / (tf + k1 * (1 - b + b * length / average length))`` with
    ``idf = ln(1 + (N - df + 0.5) / (df + 0.5))``: Robertson and Zaragoza, "The Probabilistic
    Relevance Framework: BM25 and Beyond", 2009, as Lucene 8 computes it, without the constant
    ``k1 + 1``. N, df and the average length are those of the passages held now: an index that
    grew and shrank scores like one built at once.

    A value: ``added`` and ``removed`` leave the receiver as it was and share its segments. Safe
    to read from many threads.
    """

    analyzer: Analyzer
    segments: tuple[Segment, ...] = ()
    _damping: dict[tuple[float, float], list[Scores]] = field(default_factory=dict, repr=False)
    _asked: dict[tuple[str, bool, bool], list[Clause]] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls, analyzer_name: str) -> LexicalIndex:
        """An index without passages. Raises InvalidRecipe for an unknown analyzer."""
        return cls(analyzer(analyzer_name))

    def __len__(self) -> int:
        """Number of passages that can be found."""
        return sum(segment.size for segment in self.segments)

    @property
    def average_length(self) -> float:
        """Terms per passage; 1 where there are none, so that it can divide."""
        tokens = sum(segment.tokens for segment in self.segments)
        return tokens / len(self) if tokens else 1.0

    def added(self, items: Iterable[tuple[int, str]]) -> LexicalIndex:
        """An index that also holds ``items``: (key, text). A key that is present is replaced.

        ``items`` is read as a stream; a later text of the same key wins.
        """
        segments = self.segments
        for batch in _batches(items):
            keys, texts = list(batch), list(batch.values())
            kept = _without(segments, np.array(keys, dtype=np.int64))
            segments = _tidy([*kept, build(self.analyzer, keys, texts)])
        return LexicalIndex(self.analyzer, segments)

    def removed(self, keys: Keys) -> LexicalIndex:
        """An index without ``keys``; unknown ones are ignored."""
        wanted = np.asarray(keys, dtype=np.int64)
        return LexicalIndex(self.analyzer, _tidy(_without(self.segments, wanted)))

    def search(
        self,
        query: Query,
        k: int,
        *,
        k1: float,
        b: float,
        fuzzy: bool = False,
        prefix: bool = False,
        allowed: Keys | None = None,
    ) -> tuple[Keys, Scores]:
        """The ``k`` best passages with a score above 0, best first; ties break by key.

        ``allowed`` restricts the result, not the statistics.
        """
        found = [
            _best(segment.keys, _restricted(segment, scores, allowed), k)
            for segment, scores in self._scored(query, k1, b, fuzzy, prefix)
        ]
        if not found:
            return np.empty(0, dtype=np.int64), np.empty(0)
        if len(found) == 1:
            return found[0]
        keys, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return _best(keys, scores, k)

    def scores(
        self,
        query: Query,
        keys: Keys,
        *,
        k1: float,
        b: float,
        fuzzy: bool = False,
        prefix: bool = False,
    ) -> Scores:
        """What ``search`` gives to ``keys``, in their order; 0 for those that do not match."""
        wanted = np.asarray(keys, dtype=np.int64)
        result = np.zeros(len(wanted))
        parts, dampings = self._clauses(query, fuzzy, prefix), self._dampings(k1, b)
        postings = sum(self.frequencies(query, fuzzy=fuzzy, prefix=prefix).values())
        for at, segment in enumerate(self.segments):
            rows = segment.find(wanted)
            here = rows >= 0
            if postings + len(segment.keys) < FEW_POSTINGS:
                result[here] = segment_scores(parts, segment, at, dampings[at])[rows[here]]
            else:
                result[here] = row_scores(parts, segment, at, dampings[at], rows[here])
        return result

    def frequencies(
        self, query: Query, *, fuzzy: bool = False, prefix: bool = False
    ) -> dict[str, int]:
        """The index terms that count for a query, by how many passages hold each."""
        parts = self._clauses(query, fuzzy, prefix)
        return {each.term: each.passages for clause in parts for each in clause.candidates}

    def postings(
        self,
        queries: Sequence[Query],
        beside: Sequence[Keys],
        *,
        fuzzy: bool = False,
        prefix: bool = False,
        allowed: Keys | None = None,
    ) -> Postings:
        """All that queries match, to be scored with any k1 and b.

        ``beside`` has passages of each query that are to be there in any case; ``allowed``
        restricts what matches, as in ``search``.
        """
        parts = [self._clauses(query, fuzzy, prefix) for query in queries]
        return laid_out(parts, beside, self.segments, allowed, self.average_length)

    def explain(
        self,
        query: Query,
        key: int,
        *,
        k1: float,
        b: float,
        fuzzy: bool = False,
        prefix: bool = False,
    ) -> Explanation:
        """Why a passage has its score. Raises NotFound for a key that is not in the index."""
        parts = self._clauses(query, fuzzy, prefix)
        for at, segment in enumerate(self.segments):
            row = int(segment.find(np.array([key]))[0])
            if row >= 0:
                return self._explained(parts, at, row, k1, b)
        raise NotFound(
            f"The word index has no passage {key:016x}.", "Rebuild the index of the knowledge base."
        )

    def matched_spans(
        self, query: Query, text: str, fuzzy: bool = False, prefix: bool = False
    ) -> list[tuple[int, int]]:
        """Where ``text`` has words that count for ``query``: character spans, apart, in order."""
        wanted = self.frequencies(query, fuzzy=fuzzy, prefix=prefix)
        return term_spans(self.analyzer, text, wanted)

    def save(self, folder: Path | str) -> None:
        """Writes the index into an existing, empty folder. Raises OSError."""
        place = Path(folder)
        for at, segment in enumerate(self.segments):
            (place / f"segment-{at}").mkdir()
            segment.save(place / f"segment-{at}")
        manifest = {
            "format": FORMAT,
            "analyzer": self.analyzer.name,
            "segments": len(self.segments),
        }
        (place / "lexical.json").write_text(json.dumps(manifest), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> LexicalIndex:
        """Reads what ``save`` wrote. Raises OSError or ValueError: missing, damaged, outdated."""
        place = Path(folder)
        manifest = json.loads((place / "lexical.json").read_text(encoding="utf-8"))
        if manifest.get("format") != FORMAT:
            raise ValueError(f"a word index of format {manifest.get('format')}, not {FORMAT}")
        names = (f"segment-{at}" for at in range(manifest["segments"]))
        segments = tuple(Segment.load(place / name) for name in names)
        return cls(analyzer(manifest["analyzer"]), segments)

    def terms(self, question: str) -> dict[str, float]:
        """The index terms of a question, by how often it has them."""
        return dict(Counter(self.analyzer.query_tokens(question)))

    def corrections(self, question: str) -> list[Correction]:
        """Words of a question that no passage has, each with the nearest that one has."""
        return corrections(question, self.analyzer, self.meant)

    def meant(self, term: str) -> Meant | None:
        """The nearest term of an unknown one; None where it is known, or nothing is near."""
        return nearest_term(term, self.segments)

    def _clauses(self, query: Query, fuzzy: bool, prefix: bool) -> list[Clause]:
        """What counts for a query, whatever k1 and b; of the last questions it is kept."""
        if not isinstance(query, str):
            return clauses(query, self.segments, fuzzy=fuzzy, prefix=prefix)
        known = self._asked.get((query, fuzzy, prefix))
        if known is None:
            known = clauses(self.terms(query), self.segments, fuzzy=fuzzy, prefix=prefix)
            if len(self._asked) >= REMEMBERED_QUERIES:
                self._asked.clear()
            self._asked[query, fuzzy, prefix] = known
        return known

    def _scored(
        self, query: Query, k1: float, b: float, fuzzy: bool, prefix: bool
    ) -> Iterator[tuple[Segment, Scores]]:
        parts = self._clauses(query, fuzzy, prefix)
        dampings = self._dampings(k1, b)
        for at, segment in enumerate(self.segments):
            yield segment, segment_scores(parts, segment, at, dampings[at])

    def _dampings(self, k1: float, b: float) -> list[Scores]:
        """k1 * (1 - b + b * length / average length) by segment and row; the last few are kept."""
        known = self._damping.get((k1, b))
        if known is None:
            average = self.average_length
            lengths = (segment.lengths.astype(np.float64) for segment in self.segments)
            known = [length_damping(length, average, k1, b) for length in lengths]
            if len(self._damping) >= REMEMBERED_PARAMETERS:
                self._damping.clear()
            self._damping[k1, b] = known
        return known

    def _explained(
        self, parts: Sequence[Clause], at: int, row: int, k1: float, b: float
    ) -> Explanation:
        segment = self.segments[at]
        damping = float(self._dampings(k1, b)[at][row])
        matches = [TermMatch.best(clause, segment, at, row, damping) for clause in parts]
        length = int(segment.lengths[row])
        return Explanation(
            key=int(segment.keys[row]),
            score=sum(match.contribution for match in matches if match),
            k1=k1,
            b=b,
            passages=len(self),
            length=length,
            average_length=self.average_length,
            length_factor=1 - b + b * length / self.average_length,
            matches=tuple(match for match in matches if match),
            unmatched=tuple(c.term for c, match in zip(parts, matches, strict=True) if not match),
        )


def _batches(items: Iterable[tuple[int, str]]) -> Iterator[dict[int, str]]:
    """Texts by key, in batches bounded by number and by characters."""
    batch: dict[int, str] = {}
    characters = 0
    for key, text in items:
        batch[key] = text
        characters += len(text)
        if len(batch) >= BATCH_PASSAGES or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = {}, 0
    if batch:
        yield batch


def _without(segments: Sequence[Segment], keys: Keys) -> list[Segment]:
    found = [(segment, segment.find(keys)) for segment in segments]
    return [
        segment.without(rows[rows >= 0]) if (rows >= 0).any() else segment
        for segment, rows in found
    ]


def _tidy(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Drops what is dead and merges neighbours, so that sizes fall from first to last."""
    groups: list[list[Segment]] = []
    for segment in segments:
        if not segment.size:
            continue
        group = [segment]
        while groups and _belong_together(_total(groups[-1]), _total(group)):
            group = groups.pop() + group
        groups.append(group)
    return tuple(
        group[0] if len(group) == 1 and not _is_stale(group[0]) else merged(group)
        for group in groups
    )


def _belong_together(before: int, new: int) -> bool:
    """Merging copies, so what is large stays as it is: that bounds the memory it takes."""
    return before <= max(new, SMALLEST_SEGMENT) and before + new <= LARGEST_MERGED


def _total(group: Sequence[Segment]) -> int:
    return sum(segment.size for segment in group)


def _is_stale(segment: Segment) -> bool:
    return segment.size < (1 - MOST_DEAD) * len(segment.keys)


def _restricted(segment: Segment, scores: Scores, allowed: Keys | None) -> Scores:
    """Scores of the passages that may be found; 0 for all others."""
    if allowed is None:
        return scores if segment.whole else np.where(segment.live, scores, 0.0)
    rows: npt.NDArray[np.int64] = segment.find(np.asarray(allowed, dtype=np.int64))
    rows = rows[rows >= 0]
    kept = np.zeros(len(scores))
    kept[rows] = scores[rows]
    return kept


def _best(keys: Keys, scores: Scores, k: int) -> tuple[Keys, Scores]:
    """The k highest scores above 0 with their keys, ties by key."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > k > 0:
        positive = scores[rows]
        rows = rows[positive >= np.partition(positive, len(rows) - k)[len(rows) - k]]
    order = rows[np.lexsort((keys[rows], -scores[rows]))][: max(k, 0)]
    return keys[order], scores[order]
