"""The index: an immutable value made of segments, searched with BM25.

A passage also has a share of a question's words, by their rarity.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from rag.errors import NotFound
from rag.lexical.analyzers import Analyzer, analyzer
from rag.lexical.clauses import (
    Bm25Options,
    Clause,
    Query,
    Variants,
    clauses,
    find_term,
    inverse_document_frequency,
    length_damping,
    row_scores,
    segment_scores,
)
from rag.lexical.explain import Explanation, TermMatch, term_spans
from rag.lexical.passage_rows import tidy, total, without
from rag.lexical.postings import Postings, laid_out
from rag.lexical.segment import Segment, build, merge_segments
from rag.lexical.spelling import Correction, Meant, corrections, nearest_term
from rag.types import Keys, Scores

BATCH_PASSAGES = 4096
BATCH_CHARACTERS = 4_000_000
REMEMBERED_PARAMETERS = 8
REMEMBERED_QUERIES = 1024
REMEMBERED_TEXTS, REMEMBERED_CHARACTERS = 4096, 500
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
    _parsed: dict[tuple[str, bool, bool], list[Clause]] = field(default_factory=dict, repr=False)
    _counts: dict[str, Mapping[str, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls, analyzer_name: str) -> LexicalIndex:
        """An index without passages. Raises InvalidRecipe for an unknown analyzer."""
        return cls(analyzer(analyzer_name))

    def __len__(self) -> int:
        """Number of passages that can be found."""
        return total(self.segments)

    @property
    def average_length(self) -> float:
        """Terms per passage; 1 where there are none, so that it can divide."""
        tokens = sum(segment.tokens for segment in self.segments)
        return tokens / len(self) if tokens else 1.0

    @property
    def bytes(self) -> int:
        """About how much memory it takes; segments that other indexes share count too."""
        return sum(segment.bytes for segment in self.segments)

    def added(self, items: Iterable[tuple[int, str]]) -> LexicalIndex:
        """An index that also holds ``items``: (key, text). A key that is present is replaced.

        ``items`` is read as a stream; a later text of the same key wins.
        """
        segments = self.segments
        for batch in _batches(items):
            keys, texts = list(batch), list(batch.values())
            remaining = without(segments, np.array(keys, dtype=np.int64))
            segments = tidy([*remaining, *self._built(keys, texts)], merge_segments)
        return LexicalIndex(self.analyzer, segments)

    def _built(self, keys: Sequence[int], texts: Sequence[str]) -> list[Segment]:
        """Passages as segments, one for each analyzer that cuts some of them."""
        parts: dict[Analyzer, list[int]] = {}
        for at, text in enumerate(texts):
            parts.setdefault(self.analyzer.of(text), []).append(at)
        return [
            build(cut, [keys[at] for at in places], [texts[at] for at in places])
            for cut, places in parts.items()
        ]

    @property
    def is_complete(self) -> bool:
        """Whether it has words as passages write them; an earlier version did not save them."""
        return all(segment.surfaces is not None for segment in self.segments)

    @property
    def analyzers(self) -> set[str]:
        """The names of those that cut its passages."""
        return set[str]().union(*(segment.analyzers for segment in self.segments))

    def removed(self, keys: Keys) -> LexicalIndex:
        """An index without ``keys``; unknown ones are ignored."""
        key_array = np.asarray(keys, dtype=np.int64)
        return LexicalIndex(self.analyzer, tidy(without(self.segments, key_array), merge_segments))

    def search(
        self, query: Query, k: int, *, allowed: Keys | None = None, **options: Unpack[Bm25Options]
    ) -> tuple[Keys, Scores]:
        """The ``k`` best passages with a score above 0, best first; ties break by key.

        ``allowed`` restricts the result, not the statistics.
        """
        parts, dampings = self._weighed(query, **options)
        segment_results = []
        for at, segment in enumerate(self.segments):
            scores = segment_scores(parts, segment, at, dampings[at])
            if allowed is not None or not segment.is_complete:
                scores = np.where(segment.usable(allowed), scores, 0.0)
            segment_results.append(_best(segment.keys, scores, k))
        if not segment_results:
            return np.empty(0, dtype=np.int64), np.empty(0)
        if len(segment_results) == 1:
            return segment_results[0]
        keys, scores = (np.concatenate(column) for column in zip(*segment_results, strict=True))
        return _best(keys, scores, k)

    def scores(self, query: Query, keys: Keys, **options: Unpack[Bm25Options]) -> Scores:
        """Return the scores that ``search`` gives to ``keys``, in their order.

        The score of a passage that does not match is 0.
        """
        key_array = np.asarray(keys, dtype=np.int64)
        result = np.zeros(len(key_array))
        parts, dampings = self._weighed(query, **options)
        postings = sum(_frequencies(parts).values())
        for at, segment in enumerate(self.segments):
            rows = segment.find(key_array)
            here = rows >= 0
            if postings + len(segment.keys) < FEW_POSTINGS:
                result[here] = segment_scores(parts, segment, at, dampings[at])[rows[here]]
            else:
                result[here] = row_scores(parts, segment, at, dampings[at], rows[here])
        return result

    def frequencies(self, query: Query, **variants: Unpack[Variants]) -> dict[str, int]:
        """The index terms that count for a query, by how many passages hold each."""
        return _frequencies(self._clauses(query, **variants))

    def postings(
        self,
        queries: Sequence[Query],
        beside: Sequence[Keys],
        *,
        allowed: Keys | None = None,
        **variants: Unpack[Variants],
    ) -> Postings:
        """All that queries match, to be scored with any k1 and b.

        ``beside`` has passages of each query that are to be there in any case; ``allowed``
        restricts what matches, as in ``search``.
        """
        parts = [self._clauses(query, **variants) for query in queries]
        return laid_out(parts, beside, self.segments, allowed, self.average_length)

    def explain(self, query: Query, key: int, **options: Unpack[Bm25Options]) -> Explanation:
        """Explain the score of a passage. Raises NotFound for a key that is not in the index."""
        parts, _ = self._weighed(query, **options)
        for at, segment in enumerate(self.segments):
            row = int(segment.find(np.array([key]))[0])
            if row >= 0:
                score = self._explained(parts, at, row, options["k1"], options["b"])
                return replace(score, unmatched=self._without_other_readings(query, score))
        raise NotFound(
            f"The word index has no passage {key:016x}.", "Rebuild the index of the knowledge base."
        )

    def matched_spans(
        self, query: Query, text: str, **variants: Unpack[Variants]
    ) -> list[tuple[int, int]]:
        """Return the character spans of the words of ``text`` that match ``query``.

        The spans are disjoint and in order.
        """
        return term_spans(self.analyzer, text, self.frequencies(query, **variants))

    def save(self, folder: Path | str) -> None:
        """Write the index into an existing, empty folder. Raises OSError."""
        place = Path(folder)
        for at, segment in enumerate(self.segments):
            (place / f"segment-{at}").mkdir()
            segment.save(place / f"segment-{at}")
        manifest = {
            "format": FORMAT,
            "analyzer": self.analyzer.name,
            "segments": len(self.segments),
            "analyzers": [sorted(segment.analyzers) for segment in self.segments],
        }
        (place / "lexical.json").write_text(json.dumps(manifest), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> LexicalIndex:
        """Read what ``save`` wrote. Raises OSError or ValueError: missing, damaged, outdated."""
        place = Path(folder)
        manifest = json.loads((place / "lexical.json").read_text(encoding="utf-8"))
        if manifest.get("format") != FORMAT:
            raise ValueError(f"a word index of format {manifest.get('format')}, not {FORMAT}")
        names = (f"segment-{at}" for at in range(manifest["segments"]))
        cut = manifest.get("analyzers") or [[manifest["analyzer"]]] * manifest["segments"]
        segments = tuple(
            replace(Segment.load(place / name), analyzers=frozenset(by))
            for name, by in zip(names, cut, strict=True)
        )
        return cls(analyzer(manifest["analyzer"]), segments)

    def terms(self, question: str) -> Mapping[str, float]:
        """The index terms of a question, by how often it has them.

        Those of short texts are remembered: the sentences of a passage are cut for each answer.
        """
        counts = self._counts.get(question)
        if counts is None:
            counts = Counter(self.analyzer.question_tokens(question, self.analyzers))
            if len(question) <= REMEMBERED_CHARACTERS:
                if len(self._counts) >= REMEMBERED_TEXTS:
                    self._counts.clear()
                self._counts[question] = counts
        return counts

    def readings(self, word: str) -> list[frozenset[str]]:
        """The index terms of a word by the analyzer of each language that passages have."""
        if not self.analyzers:
            return [frozenset(self.terms(word))]
        names = sorted(self.analyzers)
        return [frozenset(self.analyzer.question_tokens(word, (name,))) for name in names]

    def other_readings(
        self, question: str, absent: Sequence[str], present: Collection[str]
    ) -> frozenset[str]:
        """The ``absent`` terms of a question without which each word keeps one term.

        A word that a term of ``present`` reads needs no other one, and any other word needs one.
        """
        others = set[str]()
        for word in self.analyzer.words(question) if len(self.analyzers) > 1 else ():
            readings = self.readings(word)
            if any(len(reading) > 1 for reading in readings):
                continue  # a code, or a run of a script without spaces: each term is one of its own
            terms = frozenset().union(*readings)
            own = [term for term in absent if term in terms]
            others.update(own if not terms.isdisjoint(present) else own[1:])
        return frozenset(others)

    def spellings(self, text: str) -> dict[str, str]:
        """The index terms of a text, each as the word that it was first made of there."""
        words = dict[str, str]()
        for term, start, end in self.analyzer.spans(text):
            words.setdefault(term, text[start:end])
        for word in self.analyzer.words(text) if len(self.analyzers) > 1 else ():
            for term in frozenset[str]().union(*self.readings(word)):
                words.setdefault(term, word)
        return words

    def corrections(self, question: str) -> list[Correction]:
        """Words of a question that no passage has, each with the nearest that one has."""
        return corrections(question, self.analyzer, self.meant)

    def meant(self, term: str) -> Meant | None:
        """The nearest term of an unknown one; None where it is known, or nothing is near."""
        return nearest_term(term, self.segments)

    def similar_words(self, word: str) -> dict[str, int]:
        """Words within one edit of a word, and itself, by how many passages hold its term."""
        by_word: dict[str, set[str]] = {}
        for segment in self.segments:
            if segment.surfaces is not None:
                for similar, place in segment.surfaces.similar(word):
                    by_word.setdefault(similar, set()).add(segment.terms[place])
        passages = {
            similar: sum(find_term(term, self.segments)[1] for term in terms)
            for similar, terms in by_word.items()
        }
        return {similar: count for similar, count in passages.items() if count}

    def _clauses(self, query: Query, fuzzy: bool = False, prefix: bool = False) -> list[Clause]:
        """Return the clauses of a query, which are the same for all values of k1 and b.

        The clauses of recent questions are cached.
        """
        if not isinstance(query, str):
            return clauses(query, self.segments, fuzzy=fuzzy, prefix=prefix)
        cached = self._parsed.get((query, fuzzy, prefix))
        if cached is None:
            cached = clauses(self.terms(query), self.segments, fuzzy=fuzzy, prefix=prefix)
            if len(self._parsed) >= REMEMBERED_QUERIES:
                self._parsed.clear()
            self._parsed[query, fuzzy, prefix] = cached
        return cached

    def _weighed(
        self, query: Query, k1: float, b: float, fuzzy: bool = False, prefix: bool = False
    ) -> tuple[list[Clause], list[Scores]]:
        return self._clauses(query, fuzzy, prefix), self._dampings(k1, b)

    def _dampings(self, k1: float, b: float) -> list[Scores]:
        """k1 * (1 - b + b * length / average length) by segment and row; the last few are kept."""
        cached = self._damping.get((k1, b))
        if cached is None:
            average = self.average_length
            lengths = (segment.lengths.astype(np.float64) for segment in self.segments)
            cached = [length_damping(length, average, k1, b) for length in lengths]
            if len(self._damping) >= REMEMBERED_PARAMETERS:
                self._damping.clear()
            self._damping[k1, b] = cached
        return cached

    def _without_other_readings(self, query: Query, score: Explanation) -> tuple[str, ...]:
        """Return a term for each word of a question that a passage lacks by all analyzers."""
        if not isinstance(query, str):
            return score.unmatched
        matched = {match.term for match in score.matches}
        others = self.other_readings(query, score.unmatched, matched)
        return tuple(term for term in score.unmatched if term not in others)

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


def _frequencies(parts: Iterable[Clause]) -> dict[str, int]:
    return {
        candidate.term: candidate.passages for clause in parts for candidate in clause.candidates
    }


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


def _best(keys: Keys, scores: Scores, k: int) -> tuple[Keys, Scores]:
    """The k highest scores above 0 with their keys, ties by key."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > k > 0:
        positive = scores[rows]
        rows = rows[positive >= np.partition(positive, len(rows) - k)[len(rows) - k]]
    order = rows[np.lexsort((keys[rows], -scores[rows]))][: max(k, 0)]
    return keys[order], scores[order]


IDF_MASS: Bm25Options = {"k1": 0.0, "b": 0.0, "fuzzy": False, "prefix": False}
"""With k1 = 0, a BM25 score is the sum of the idf of the words that a passage holds."""


def term_weights(words: str, lexical: LexicalIndex, passages: int) -> dict[str, float]:
    """Return the idf of each index term of a question among ``passages``.

    Terms that no passage has are included: they have the greatest idf. Where passages are in
    several languages, a word counts once.
    """
    terms = dict.fromkeys(lexical.terms(words), 1.0)
    frequencies = lexical.frequencies(terms, fuzzy=False, prefix=False)
    unknown = [term for term in terms if term not in frequencies]
    for term in lexical.other_readings(words, unknown, frequencies):
        del terms[term]
    return {term: inverse_document_frequency(frequencies.get(term, 0), passages) for term in terms}


def word_shares(weights: Mapping[str, float], keys: Keys, lexical: LexicalIndex) -> Scores:
    """Return the share of the total of ``weights`` that each passage holds, shape (n,), 0 to 1."""
    terms = dict.fromkeys(weights, 1.0)
    return lexical.scores(terms, keys, **IDF_MASS) / (sum(weights.values()) or 1.0)
