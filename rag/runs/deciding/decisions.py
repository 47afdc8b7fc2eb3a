"""Decide which of two runs is better, by judging only hits that can change the verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rag.errors import InvalidInput, NotFound, TouchstoneError
from rag.evaluation.deciding.design import MEASURES, DrawnHit, drawn_hits
from rag.evaluation.deciding.verdict import decide
from rag.evaluation.judge_next import Pair
from rag.evaluation.relevance import Passage, best_grades, relevant_chunks
from rag.evaluation.unjudged import judged_passages
from rag.lexical.analyzers import Analyzer, analyzer
from rag.lexical.explain import term_spans
from rag.operation import operation
from rag.questions.judging_queue import origin_of
from rag.questions.label_edits import label_span, store_label
from rag.questions.sets import counted_edit
from rag.recipe import IndexRecipe
from rag.results import FOREIGN, Run
from rag.runs.deciding.state import DecisionEntry, HitToJudge, RunDecision
from rag.runs.loaded import Loaded
from rag.runs.stored import StoredRuns
from rag.storage import Connection, builds, documents, passages, runs
from rag.storage import questions as rows
from rag.storage.quality import decisions, judgements
from rag.storage.quality.decisions import StoredDecision, StoredHit
from rag.types import Question

EQUAL_MARGIN = 0.05
_SHOWN = 1500  # characters of a document that is judged whole
_MOST_K = 100
_AGAIN = "Measure both runs again, and decide between the new runs."


class Decisions(StoredRuns):
    """Decisions between runs of one knowledge base.

    A decision fixes its hits, their order and their probabilities when it starts. Labels that come
    later, from whomever, are read in that order, so that the interval stays valid.
    """

    @operation("labeller", audit="labels")
    def start_decision(self, run_id: str, other_id: str, metric: str) -> None:
        """Draw the hits to judge for two runs; does nothing if the two have a decision.

        ``metric`` is precision@k or dcg@k. Raises NotFound, and InvalidInput for another metric,
        for runs of different question sets, and for runs of deleted documents.
        """
        measure, k = _cutoff(metric)
        with self._database.write() as connection:
            if decisions.of_runs(connection, self._base_id, (run_id, other_id), metric):
                return
            pair = self._pair(connection, run_id, other_id, k)
            questions = self._questions(connection, pair[0].run.question_set)
            rankings = _rankings(pair, questions, k)
            places = self._spans_of_hits(connection, pair, rankings)
            grades = self._grades(
                connection, [item.run for item in pair], questions, places.values()
            )
            seed = _seed(run_id, other_id, metric)
            verdicts = _verdicts(connection, run_id, other_id)
            drawn = drawn_hits(rankings, grades, measure, k, seed, verdicts)
            hits = [_stored(hit, places, grades) for hit in drawn]
            ids = (run_id, other_id)
            decisions.add(connection, self._base_id, ids, metric, seed, len(rankings), hits)

    @operation("viewer")
    def decision(
        self, run_id: str, other_id: str, metric: str, margin: float = EQUAL_MARGIN, most: int = 10
    ) -> RunDecision:
        """Return the verdict by the labels of today, and at most ``most`` hits to judge next.

        The interval does not depend on ``margin``, within which the runs are equal. Raises NotFound
        where nothing was started, and InvalidInput for a margin that is not between 0 and 1 and for
        deleted questions, documents or earlier labels.
        """
        if not 0.0 < margin < 1.0:
            raise InvalidInput(f"The margin {margin:g} is not between 0 and 1.", "Write 0.05.")
        with self._database.read() as connection:
            return self._state(connection, (run_id, other_id), metric, margin, most)

    @operation("viewer")
    def started_decisions(self, question_set: str) -> list[tuple[str, str, str]]:
        """The two runs and the metric of each decision of a question set, newest first."""
        with self._database.read() as connection:
            return [
                (stored.run_id, stored.other_id, stored.metric)
                for stored in decisions.of_base(connection, self._base_id, question_set)
            ]

    @operation("viewer")
    def decisions(
        self, *run_ids: str, question_set: str | None = None, margin: float = EQUAL_MARGIN
    ) -> list[DecisionEntry]:
        """Decisions by the labels of today, newest first, without hits to judge.

        With ``run_ids``, only those in which all of them take part, seen from the first of them;
        with ``question_set``, only those between runs of that set.
        """
        with self._database.read() as connection:
            return [
                self._entry(connection, stored, run_ids, margin)
                for stored in decisions.of_base(connection, self._base_id, question_set)
                if {stored.run_id, stored.other_id}.issuperset(run_ids)
            ]

    def _entry(
        self,
        connection: Connection,
        stored: StoredDecision,
        run_ids: Sequence[str],
        margin: float,
    ) -> DecisionEntry:
        pair = stored.run_id, stored.other_id
        if run_ids and run_ids[0] == stored.other_id:
            pair = pair[::-1]
        try:
            state, obstacle = self._state(connection, pair, stored.metric, margin, 0), ""
        except TouchstoneError as error:  # what it was drawn from is gone
            state, obstacle = None, str(error)
        return DecisionEntry(*pair, stored.metric, stored.created, state, obstacle)

    def _state(
        self,
        connection: Connection,
        run_ids: tuple[str, str],
        metric: str,
        margin: float,
        most: int,
    ) -> RunDecision:
        stored, hits = self._stored(connection, *run_ids, metric)
        pair = [runs.get(connection, self._base_id, name) for name in run_ids]
        questions = self._questions(connection, pair[0].question_set, answerable=False)
        grades = self._grades(connection, pair, questions, hits)
        before, drawn, relevance = _judged(hits, grades)
        state = decide(before, [_drawn(hit) for hit in drawn], relevance, margin)
        left = [hit for hit in drawn if hit.item not in grades.get(hit.question_id, ())]
        shown = left[:most] if state.verdict == "open" else []
        recipes = [run.recipe.index for run in pair if run.recipe] or [IndexRecipe()]
        words = analyzer(recipes[0].analyzer)
        return RunDecision(
            *run_ids,
            metric,
            pair[0].question_set,
            stored.questions,
            len(before),
            state,
            tuple(self._to_judge(connection, hit, questions, words) for hit in shown),
        )

    @operation("labeller", audit="labels")
    def judge_decision(
        self,
        run_id: str,
        other_id: str,
        metric: str,
        grades: Sequence[tuple[str, str, int]],
        *,
        replace_labels: bool = True,
    ) -> list[int | None]:
        """Label hits of a decision: question id, passage or document id, and grade of each.

        Returns the id of the label of each. All labels are stored, or none. Without
        ``replace_labels``, a hit that somebody judged meanwhile keeps its label, and its id is
        None. Raises NotFound, and InvalidInput for a grade or a hit that is not there.
        """
        with self._database.read() as connection:
            _, hits = self._stored(connection, run_id, other_id, metric)
            pair = [runs.get(connection, self._base_id, name) for name in (run_id, other_id)]
        question_set = pair[0].question_set
        stored: list[int | None] = []
        places = {(hit.question_id, hit.item): hit for hit in hits}
        origin = origin_of((run_id, other_id))
        with counted_edit(self._database, self._base_id, question_set) as (connection, set_id):
            for question_id, item, grade in grades:
                hit = places.get((question_id, item))
                if hit is None:
                    raise InvalidInput(
                        f"Passage {item!r} of question {question_id!r} is no hit of this decision.",
                        "Use the ids of the hits to judge next.",
                    )
                if not replace_labels and self._is_judged(connection, pair, hit):
                    stored.append(None)
                    continue
                span = label_span(
                    connection, self._base_id, hit.document_id, hit.start, hit.end, grade
                )
                label = replace(span, origin=origin)
                stored.append(store_label(connection, set_id, question_id, label))
        return stored

    def _is_judged(self, connection: Connection, pair: Sequence[Run], hit: StoredHit) -> bool:
        questions = self._questions(connection, pair[0].question_set, answerable=False)
        grades = self._grades(connection, pair, questions, [hit])
        return hit.item in grades.get(hit.question_id, ())

    def _stored(
        self, connection: Connection, run_id: str, other_id: str, metric: str
    ) -> tuple[StoredDecision, list[StoredHit]]:
        """The decision and its hits, seen from ``run_id``."""
        stored = decisions.of_runs(connection, self._base_id, (run_id, other_id), metric)
        if stored is None:
            raise NotFound(
                f"There is no decision between runs {run_id} and {other_id} in {metric}.",
                "`python -m rag decide KB RUN --against RUN` starts one.",
            )
        hits = decisions.hits(connection, stored.id)
        return stored, hits if stored.run_id == run_id else [_turned(hit) for hit in hits]

    def _pair(
        self, connection: Connection, run_id: str, other_id: str, k: int
    ) -> tuple[Loaded, Loaded]:
        run, other = (
            Loaded.read(connection, self._base_id, name, k) for name in (run_id, other_id)
        )
        if run_id == other_id:
            raise InvalidInput("A run cannot be compared with itself.", "Name another run.")
        if run.run.question_set != other.run.question_set:
            raise InvalidInput(
                "The two runs measured different question sets.",
                "Compare runs of one question set.",
            )
        for loaded in (run, other):
            depths = [int(name[5:]) for name in loaded.run.metrics if name.startswith("ndcg@")]
            if depths and max(depths) < k:
                raise InvalidInput(
                    f"Run {loaded.run.id} was measured down to rank {max(depths)}.",
                    "Choose a smaller cutoff, or evaluate again with --k.",
                )
        return run, other

    def _questions(
        self, connection: Connection, set_name: str, *, answerable: bool = True
    ) -> dict[str, Question]:
        """The questions of a set by id; only those not known to be unanswerable if asked for."""
        question_set = rows.get_question_set(connection, self._base_id, set_name)
        usable = rows.usable(connection, self._base_id, question_set.id)
        return {item.id: item for item in usable if item.answerable or not answerable}

    def _spans_of_hits(
        self, connection: Connection, pair: Sequence[Loaded], rankings: Mapping[str, Pair]
    ) -> dict[tuple[str, str], StoredHit]:
        """The spans of ranked passages and documents, by question and id. Raises InvalidInput."""
        present = set(documents.ids_by_name(connection, self._base_id).values())
        spans: dict[str, tuple[str, int, int | None]] = {}
        for number, loaded in enumerate(pair):
            ids = {item for both in rankings.values() for item in both[number]}
            if any(item.startswith(FOREIGN) for item in ids):
                raise InvalidInput(
                    f"Run {loaded.run.id} has texts that are in no document, so they cannot be "
                    "labelled.",
                    "Add the documents that the system searches, and evaluate it again.",
                )
            cut = loaded.run.cut
            chunks = passages.passages_by_id(connection, self._base_id, cut, ids)
            spans |= {
                name: (chunk.document_id, chunk.start, chunk.end) for name, chunk in chunks.items()
            }
            spans |= {name: (name, 0, None) for name in ids & present}
            if ids - spans.keys():
                raise InvalidInput(
                    f"Passages of run {loaded.run.id} no longer exist: documents changed.", _AGAIN
                )
        return {
            (name, item): StoredHit(name, item, *spans[item], None, None, 0.0, 0.0, 0.0, 1.0, False)
            for name, both in rankings.items()
            for item in {*both[0], *both[1]}
        }

    def _grades(
        self,
        connection: Connection,
        pair: Sequence[Run],
        questions: Mapping[str, Question],
        hits: Iterable[StoredHit],
    ) -> dict[str, dict[str, int]]:
        """Grades of the judged ones among some hits, by question and id."""
        by_question: dict[str, list[StoredHit]] = {}
        for hit in hits:
            by_question.setdefault(hit.question_id, []).append(hit)
        labelled = sorted(
            {
                item.document_id
                for name in by_question
                if name in questions
                for item in questions[name].evidence
            }
        )
        spans: dict[str, set[tuple[int, int, int]]] = {}
        for cut in {run.cut for run in pair}:
            cut_id = builds.cut_id(connection, self._base_id, cut)
            spans_of_cut = passages.spans(connection, self._base_id, cut_id, labelled)
            for name, triples in spans_of_cut.items():
                spans.setdefault(name, set()).update(triples)
        return {
            name: _graded(questions[name], mine, spans)
            for name, mine in by_question.items()
            if name in questions
        }

    def _to_judge(
        self,
        connection: Connection,
        hit: StoredHit,
        questions: Mapping[str, Question],
        words: Analyzer,
    ) -> HitToJudge:
        if documents.exists(connection, self._base_id, hit.document_id) is None:
            raise InvalidInput("The document of a hit to judge no longer exists.", _AGAIN)
        outline = documents.outline(connection, self._base_id, hit.document_id)
        end = _SHOWN if hit.end is None else hit.end
        text = documents.stretch(connection, self._base_id, hit.document_id, hit.start, end)
        question = questions[hit.question_id].text
        return HitToJudge(
            question_id=hit.question_id,
            question=question,
            item=hit.item,
            document_id=hit.document_id,
            document=outline.name,
            page=outline.page_at(hit.start),
            start=hit.start,
            end=hit.end,
            text=text,
            ranks=(hit.rank, hit.other_rank),
            matches=tuple(term_spans(words, text, set(words.query_tokens(question)))),
        )


def _cutoff(metric: str) -> tuple[str, int]:
    measure, _, cutoff = metric.partition("@")
    if measure not in MEASURES or not cutoff.isascii() or not cutoff.isdigit():
        raise InvalidInput(
            f"{metric} cannot be decided by single labels.", "Use precision@10 or dcg@10."
        )
    if len(cutoff) > 3 or not 1 <= int(cutoff) <= _MOST_K or cutoff != str(int(cutoff)):
        raise InvalidInput(f"The cutoff of {metric} is not from 1 to {_MOST_K}.", "Use dcg@10.")
    return measure, int(cutoff)


def _seed(run_id: str, other_id: str, metric: str) -> int:
    """Return the seed of a decision, independent of the order of its runs."""
    text = "\0".join([*sorted((run_id, other_id)), metric])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def _rankings(pair: Sequence[Loaded], questions: Mapping[str, Question], k: int) -> dict[str, Pair]:
    first, second = (
        {name: [key for key, *_ in item.ranking[:k]] for name, item in loaded.results.items()}
        for loaded in pair
    )
    shared = [name for name in first if name in second and name in questions]
    if not shared:
        raise InvalidInput("The two runs share no question of the set.", _AGAIN)
    return {name: (first[name], second[name]) for name in shared}


def _verdicts(connection: Connection, *run_ids: str) -> dict[tuple[str, str], bool]:
    """The majority of the grades that models gave to hits, by question and id."""
    votes: dict[tuple[str, str], list[bool]] = {}
    for run_id in run_ids:
        for judgement in judgements.of_run(connection, run_id):
            votes.setdefault((judgement.question_id, judgement.item), []).append(
                judgement.grade > 0
            )
    return {hit: 2 * sum(given) > len(given) for hit, given in votes.items()}


def _graded(
    question: Question, hits: Sequence[StoredHit], spans: Mapping[str, set[tuple[int, int, int]]]
) -> dict[str, int]:
    """Grades of the judged ones among the hits of a question, by id.

    Its passages count beside those of today's cuts, since a document may have been cut again.
    """
    if not question.answerable:
        return dict.fromkeys((hit.item for hit in hits), 0)
    whole = best_grades(question)
    grades = {hit.item: whole[hit.item] for hit in hits if hit.end is None and hit.item in whole}
    cut = {
        (key, name, start, end)
        for name in {item.document_id for item in question.evidence}
        for key, start, end in spans.get(name, ())
    }
    own = [
        (int(hit.item, 16), hit.document_id, hit.start, hit.end)
        for hit in hits
        if hit.end is not None
    ]
    rows: list[Passage] = sorted(cut | set(own))
    # A relevant document does not say which of its passages are relevant.
    telling = [item for item in question.evidence if item.end is not None or item.grade <= 0]
    judged = judged_passages(replace(question, evidence=tuple(telling)), rows)
    relevant = relevant_chunks(telling, rows)
    return grades | {f"{key:016x}": relevant.get(key, 0) for key, *_ in own if key in judged}


def _stored(
    hit: DrawnHit,
    places: Mapping[tuple[str, str], StoredHit],
    grades: Mapping[str, Mapping[str, int]],
) -> StoredHit:
    return replace(
        places[hit.question_id, hit.item],
        rank=hit.ranks[0],
        other_rank=hit.ranks[1],
        weight=hit.weight,
        chance=hit.chance,
        size=hit.size,
        probability=hit.probability,
        labelled=hit.item in grades.get(hit.question_id, ()),
    )


def _turned(hit: StoredHit) -> StoredHit:
    return replace(hit, weight=-hit.weight, rank=hit.other_rank, other_rank=hit.rank)


def _drawn(hit: StoredHit) -> DrawnHit:
    return DrawnHit(
        hit.question_id,
        hit.item,
        (hit.rank, hit.other_rank),
        hit.weight,
        hit.chance,
        hit.size,
        hit.probability,
    )


def _judged(
    hits: Sequence[StoredHit], grades: Mapping[str, Mapping[str, int]]
) -> tuple[list[tuple[DrawnHit, float]], list[StoredHit], list[float]]:
    """Hits with earlier labels, the drawn ones, and the relevance of their judged beginning.

    Labels further down count once the hits before them are judged: those were drawn first.
    """
    before, drawn = [], []
    for hit in hits:
        if hit.question_id not in grades:
            raise InvalidInput(f"Question {hit.question_id!r} no longer exists.", _AGAIN)
        if not hit.labelled:
            drawn.append(hit)
        elif hit.item in grades[hit.question_id]:
            before.append((_drawn(hit), float(grades[hit.question_id][hit.item] > 0)))
        else:
            raise InvalidInput(
                f"An earlier label of question {hit.question_id!r} no longer exists.",
                "Judge that passage again, or measure both runs again.",
            )
    relevance: list[float] = []
    for hit in drawn:
        if hit.item not in grades[hit.question_id]:
            break
        relevance.append(float(grades[hit.question_id][hit.item] > 0))
    return before, drawn, relevance
