"""The sample knowledge base: labels hold, every kind of question is there, rebuilds repeat."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rag.lexical import analyzer
from rag.readers import read

DATA = Path(__file__).resolve().parents[2] / "data"
SAMPLE = DATA / "sample"
QUESTIONS = [
    json.loads(line)
    for line in (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
EVIDENCE = [(question, label) for question in QUESTIONS for label in question["evidence"]]


def _squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("name", sorted({label["document"] for _, label in EVIDENCE}))
def test_every_quote_occurs_once_in_its_document(name):
    text = _squeezed(read(SAMPLE / name, name).text)
    quotes = {label["quote"] for _, label in EVIDENCE if label["document"] == name}
    found = {quote: text.count(_squeezed(quote)) for quote in quotes}
    assert found == dict.fromkeys(quotes, 1)


def test_ids_and_texts_are_unique():
    assert max(Counter(question["id"] for question in QUESTIONS).values()) == 1
    assert max(Counter(question["text"] for question in QUESTIONS).values()) == 1


def test_there_are_enough_questions_of_each_kind():
    counts = Counter(tag for question in QUESTIONS for tag in question["tags"])
    assert len(QUESTIONS) >= 80
    assert counts["unanswerable"] >= 15
    assert counts["suggested"] == 6
    assert min(counts[tag] for tag in ("plain", "paraphrase", "code", "table")) >= 15
    assert min(counts[tag] for tag in ("version", "two-passage")) >= 10


def test_answerable_says_whether_there_is_evidence():
    for question in QUESTIONS:
        assert question["answerable"] == bool(question["evidence"]), question["id"]
        assert question["answerable"] != ("unanswerable" in question["tags"]), question["id"]


def test_each_answerable_question_has_a_full_answer():
    best = {q["id"]: max(label["grade"] for label in q["evidence"]) for q, _ in EVIDENCE}
    assert set(best.values()) == {3}
    assert {label["grade"] for _, label in EVIDENCE} == {1, 2, 3}


def test_paraphrases_share_no_content_word_with_their_quotes():
    words = analyzer("english").query_tokens
    shared = [
        (question["id"], label["quote"], common)
        for question, label in EVIDENCE
        if "paraphrase" in question["tags"]
        if (common := set(words(question["text"])) & set(words(label["quote"])))
    ]
    assert shared == []


def test_the_current_leave_policy_answers_how_long_leave_is_carried_over():
    (question,) = (
        q for q in QUESTIONS if q["text"] == "How long may unused leave be carried over?"
    )
    grades = {label["document"]: 0 for label in question["evidence"]}
    for label in question["evidence"]:
        grades[label["document"]] = max(grades[label["document"]], label["grade"])
    assert grades["leave-policy-2026.pdf"] == 3
    assert grades["leave-policy-2024.pdf"] == 1


@pytest.mark.slow
@pytest.mark.thorough
def test_a_rebuild_gives_the_same_bytes(tmp_path):
    command = [sys.executable, "data/build_sample.py", "--output", str(tmp_path)]
    subprocess.run(command, cwd=DATA.parent, check=True, capture_output=True)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert built == {name: (SAMPLE / name).read_bytes() for name in built}
    assert len([name for name in built if name.endswith(".pdf")]) > 30
