"""The passport of a question set: its makers, its coverage, and what is wrong with it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rag.evaluation.formats.question_files import folded
from rag.evaluation.report.words import counted
from rag.input_rules import storable
from rag.languages import language_name, languages
from rag.library.questions.groups import SAME_WORDS, similar_sets
from rag.library.questions.sets import StoredQuestions
from rag.operation import operation
from rag.storage import documents, labels
from rag.storage import questions as rows
from rag.storage.labels import BY_HAND, FROM_FILE, FROM_USERS, PROPOSED, SAMPLED
from rag.storage.questions import LabelledQuestion
from rag.types import percent
from rag.types.schema import Schema, Timestamp

_WORD = re.compile(r"\w+")
_SHOWN = 5
_MAKERS = {
    "": "not recorded",
    BY_HAND: "people",
    FROM_FILE: "a file",
    FROM_USERS: "users of the chat",
    PROPOSED: "with a generated question",
}


class PassportData(Schema):
    """The passport of a question set: its makers, its coverage and its problems.

    ``questions_by`` and ``labels_by`` count by maker: people, a file, users, or a model with the
    version that answered. ``first_label`` and ``last_label`` are None where no date is stored.
    ``duplicates`` are groups of ids with the same words, ``near_duplicates`` share four fifths of
    their words, and ``contradictions`` are those of ``duplicates`` that are answered in one place
    and not in another. ``languages`` count the questions. ``uncovered`` names the documents
    without a relevant label. ``problems`` are sentences on what makes figures of the set wrong.
    """

    set: str
    version: int
    changed: Timestamp
    licence: str
    questions: int
    unanswerable: int
    unlabelled: tuple[str, ...]
    lost_labels: int
    questions_by: Mapping[str, int]
    labels_by: Mapping[str, int]
    first_label: Timestamp | None
    last_label: Timestamp | None
    duplicates: tuple[tuple[str, ...], ...]
    near_duplicates: tuple[tuple[str, ...], ...]
    contradictions: tuple[tuple[str, ...], ...]
    languages: Mapping[str, int]
    covered: int
    uncovered: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The passport in words, a line for each fact."""
        documents_in_all = self.covered + len(self.uncovered)
        dates = (
            f", from {self.first_label:%Y-%m-%d} to {self.last_label:%Y-%m-%d}"
            if self.first_label and self.last_label
            else ""
        )
        near = (
            (f"{_listed(self.near_duplicates)} nearly the same words.",)
            if self.near_duplicates
            else ()
        )
        languages = {language_name(code): count for code, count in self.languages.items()}
        return (
            f"Version {self.version}, changed {self.changed:%Y-%m-%d}. "
            f"Licence: {self.licence or 'not stated'}.",
            f"{counted(self.questions, 'question')}, "
            f"{percent(self.unanswerable / max(self.questions, 1))} without an answer. "
            f"Made by: {_counts(self.questions_by)}.",
            f"Labels by: {_counts(self.labels_by)}{dates}.",
            f"Languages: {_counts(languages)}.",
            f"Documents with a relevant label: {self.covered:,} of {documents_in_all:,}.",
            *near,
        )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "nobody"


def _listed(items: Sequence[str | tuple[str, ...]]) -> str:
    names = [item if isinstance(item, str) else " = ".join(item) for item in items]
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}:"


class Passports(StoredQuestions):
    """The passports of the question sets of one knowledge base."""

    @operation("viewer")
    def check(self, name: str) -> PassportData:
        """Return the passport of a set. Raises NotFound."""
        with self._database.read() as connection:
            question_set = rows.get_question_set(connection, self._base_id, name)
            questions = rows.list_labelled_questions(connection, question_set.id)
            names = documents.ids_by_name(connection, self._base_id)
            lost = labels.lost(connection, self._base_id, question_set.id)
        all_labels = [label for item in questions for label in item.labels]
        dates = sorted(label.created for label in all_labels if label.created)
        labelled = {label.document_id for label in all_labels if label.grade > 0}
        by_words = defaultdict[str, list[LabelledQuestion]](list)
        for item in questions:
            by_words[folded(item.text)].append(item)
        repeated = [group for group in by_words.values() if len(group) > 1]
        firsts = [group[0] for group in by_words.values()]
        chains = similar_sets(
            [frozenset(_WORD.findall(item.text.casefold())) for item in firsts], SAME_WORDS
        )
        near = defaultdict[int, list[LabelledQuestion]](list)
        for item, chain in zip(firsts, chains.tolist(), strict=True):
            near[chain].append(item)
        unlabelled = tuple(
            item.id
            for item in questions
            if item.answerable and not (item.answer or any(one.grade > 0 for one in item.labels))
        )
        duplicates = _ids(repeated)
        contradictions = _ids(
            group for group in repeated if len({item.answerable for item in group}) > 1
        )
        checks = (
            (duplicates, "ask the same in the same words, so they count more than others"),
            (contradictions, "have the same words, and only some of them an answer"),
            (unlabelled, "count as answerable and have no label and no expected answer"),
        )
        problems = [f"{_listed(items)} {what}." for items, what in checks if items]
        if lost:
            problems.append(f"{counted(len(lost), 'label')} of no present document.")
        return PassportData(
            set=name,
            version=question_set.version,
            changed=question_set.changed,
            licence=question_set.licence,
            questions=len(questions),
            unanswerable=sum(not item.answerable for item in questions),
            unlabelled=unlabelled,
            lost_labels=len(lost),
            questions_by=_by_maker(item.origin for item in questions),
            labels_by=_by_maker(label.origin for label in all_labels),
            first_label=dates[0] if dates else None,
            last_label=dates[-1] if dates else None,
            duplicates=duplicates,
            near_duplicates=_ids(group for group in near.values() if len(group) > 1),
            contradictions=contradictions,
            languages=dict(Counter(languages([item.text for item in questions])).most_common()),
            covered=sum(document_id in labelled for document_id in names.values()),
            uncovered=tuple(sorted(name for name, key in names.items() if key not in labelled)),
            problems=tuple(problems),
        )

    @operation("labeller", audit="labels")
    def set_licence(self, name: str, licence: str) -> None:
        """State the licence of a set; no version is counted. Raises NotFound."""
        with self._database.write() as connection:
            question_set = rows.get_question_set(connection, self._base_id, name)
            rows.set_licence(connection, question_set.id, storable(licence.strip())[:200])


def _ids(groups: Iterable[Sequence[LabelledQuestion]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(item.id for item in group) for group in groups)


def _by_maker(origins: Iterable[str]) -> dict[str, int]:
    """Count by maker; an origin that is no kind of person names a generator or a model."""
    return dict(
        Counter(
            "people who judged runs"
            if origin.startswith(("runs ", SAMPLED))
            else _MAKERS.get(origin, origin)
            for origin in origins
        ).most_common()
    )
