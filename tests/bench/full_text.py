"""Words in PostgreSQL's full text beside BM25 in this process.

``python -m rag bench --only full_text`` runs it, on a server of its own with the settings of the
tests. The 50,000 passages are four sentences each, drawn from four collections, so words are as
frequent as in real texts; 100 of SciFact's questions are asked. Milliseconds are those of a search
for 100 passages of one connection; both are asked each question in turn, so the ratio can be read
on any machine. A passage matches that has any word of the question, as with BM25, and ``ts_rank``
orders what matches; ``every_word`` is PostgreSQL's own reading of a question, in which all of them
must be there. The quality is nDCG@10 on SciFact's documents, by both with their English stemmers.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import psycopg

from rag.lexical import LexicalIndex
from tests.measures import figures
from tests.postgres import serving

COLLECTIONS = ("scifact", "cranfield", "xquad_en", "anthropic_docs")
PASSAGES, SENTENCES, QUESTIONS, K = 50_000, 4, 100, 100
BM25 = {"k1": 1.2, "b": 0.75, "fuzzy": False, "prefix": False}
TABLE = """CREATE TABLE passage (key bigint PRIMARY KEY, text text,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED)"""
ANY_WORD = "replace(plainto_tsquery('english', %(text)s)::text, ' & ', ' | ')::tsquery"
EVERY_WORD = "plainto_tsquery('english', %(text)s)"
RANKS = {  # the normalisation divides by 1 + the logarithm of a passage's length
    "any_word": (ANY_WORD, "ts_rank(words, query, 1)"),
    "any_word_cover_density": (ANY_WORD, "ts_rank_cd(words, query, 1)"),
    "every_word": (EVERY_WORD, "ts_rank(words, query, 1)"),
}
Texts = Sequence[tuple[int, str]]
Search = Callable[[str], list[int]]


def measure(folder: Path) -> dict[str, float]:
    """Milliseconds at the median and the 95th percentile, megabytes, seconds, and nDCG@10."""
    documents = [_text(row) for row in _rows(folder / "scifact" / "corpus.jsonl")]
    sentences = [
        sentence
        for name in COLLECTIONS
        for row in _rows(folder / name / "corpus.jsonl")
        for sentence in re.split(r"(?<=[.!?])\s+", _text(row))
    ]
    drawn = np.random.default_rng(10).choice(sentences, (PASSAGES, SENTENCES))
    qrels = _judged(folder / "scifact" / "qrels" / "test.tsv")
    texts = {row["_id"]: row["text"] for row in _rows(folder / "scifact" / "queries.jsonl")}
    asked = {name: texts[name] for name in qrels}
    names = [row["_id"] for row in _rows(folder / "scifact" / "corpus.jsonl")]
    with serving() as server:
        quality = _quality(_conninfo(server.url(server.create())), documents, names, asked, qrels)
        speed = _speeds(
            _conninfo(server.url(server.create())),
            list(enumerate(map(" ".join, drawn.tolist()))),
            list(asked.values())[:QUESTIONS],
        )
    return speed | quality


def _speeds(conninfo: str, passages: Texts, questions: Sequence[str]) -> dict[str, float]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        began = time.perf_counter()
        index = LexicalIndex.empty("english").added(passages)
        built = time.perf_counter()
        _fill(connection, passages)
        filled = time.perf_counter()
        sizes = connection.execute(
            "SELECT pg_total_relation_size('passage'), pg_relation_size('passage_words'),"
            " sum(pg_column_size(words)) FROM passage"
        ).fetchone()
        assert sizes is not None
        searches = _searches(connection, index)
        times: dict[str, list[float]] = {name: [] for name in searches}
        for question in questions:
            for name, search in searches.items():
                started = time.perf_counter()
                search(question)
                times[name].append(1000 * (time.perf_counter() - started))
    found = {
        "bm25_mb_in_each_process": index.bytes / 1e6,
        "bm25_load_s": _loading(index),
        "bm25_build_s": built - began,
        "table_mb": sizes[0] / 1e6,
        "words_and_their_index_mb": (sizes[1] + float(sizes[2])) / 1e6,
        "table_build_s": filled - built,
    }
    for name, milliseconds in times.items():
        found[f"{name}_p50_ms"] = float(np.median(milliseconds))
        found[f"{name}_p95_ms"] = float(np.percentile(milliseconds, 95))
        found[f"{name}_times_bm25"] = float(
            np.median(np.array(milliseconds) / np.array(times["bm25"]))
        )
    return found


def _quality(
    conninfo: str,
    documents: Sequence[str],
    names: Sequence[str],
    asked: Mapping[str, str],
    qrels: Mapping[str, Mapping[str, int]],
) -> dict[str, float]:
    passages = list(enumerate(documents))
    index = LexicalIndex.empty("english").added(passages)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        _fill(connection, passages)
        found = {}
        for by, search in _searches(connection, index).items():
            rankings = {key: [names[at] for at in search(text)] for key, text in asked.items()}
            found[f"{by}_ndcg_10"] = float(
                np.mean(figures(qrels, rankings, ["ndcg@10"])["ndcg@10"])
            )
    return found


def _fill(connection: psycopg.Connection, passages: Texts) -> None:
    connection.execute(TABLE)
    with connection.cursor().copy("COPY passage (key, text) FROM STDIN") as copy:
        for row in passages:
            copy.write_row(row)
    connection.execute("CREATE INDEX passage_words ON passage USING gin (words)")
    connection.execute("VACUUM ANALYZE passage")


def _searches(connection: psycopg.Connection, index: LexicalIndex) -> dict[str, Search]:
    """Keys of the best, by name of what searches."""

    def in_process(text: str) -> list[int]:
        return index.search(text, K, **BM25)[0].tolist()

    def in_server(query: str, rank: str) -> Search:
        statement = (
            f"SELECT key FROM passage, (SELECT {query} AS query) AS asked WHERE words @@ query"
            f" ORDER BY {rank} DESC, key LIMIT {K}"
        )
        return lambda text: [row[0] for row in connection.execute(statement, {"text": text})]

    return {"bm25": in_process} | {name: in_server(*how) for name, how in RANKS.items()}


def _loading(index: LexicalIndex) -> float:
    """Seconds of reading a snapshot, as every process does when it starts."""
    with tempfile.TemporaryDirectory() as place:
        index.save(place)
        began = time.perf_counter()
        LexicalIndex.load(place)
        return time.perf_counter() - began


def _rows(path: Path) -> Iterable[Mapping[str, str]]:
    return map(json.loads, path.read_text("utf-8").splitlines())


def _text(row: Mapping[str, str]) -> str:
    return f"{row['title']}\n\n{row['text']}".strip().replace("\0", "")


def _judged(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in path.read_text("utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        qrels.setdefault(question, {})[document] = int(grade)
    return qrels


def _conninfo(url: str) -> str:
    return url.replace("+psycopg", "")
