"""The questions of a knowledge base: one part, with one module for each purpose."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rag.errors import AlreadyExists, InvalidInput
from rag.evaluation.generation import MODEL_KINDS, OFFLINE_KINDS, Kind, sample
from rag.evaluation.report.words import counted
from rag.library.questions.edits import QuestionEdits
from rag.library.questions.exchange import Exchange
from rag.library.questions.generate_job import Generate
from rag.library.questions.judging_queue import JudgingQueue
from rag.library.questions.label_edits import LabelEdits
from rag.library.questions.passage_labels import PassageLabels
from rag.library.questions.passports import Passports
from rag.library.questions.sets import QuestionSets, StoredQuestions, checked_name, counted_edit
from rag.operation import operation
from rag.recipe import Recipe
from rag.services.jobs import Jobs
from rag.services.services import Services
from rag.storage import builds, documents, passages
from rag.storage import questions as rows
from rag.storage.questions import LabelledQuestion, State

_MOST = 500
_STATES: dict[bool, tuple[State, ...]] = {False: ("proposed",), True: ("rejected",)}


class Proposals(StoredQuestions):
    """Generated questions of one knowledge base; none counts before someone accepts it."""

    _services: Services
    _jobs: Jobs

    @operation("labeller", audit="labels")
    def request_proposals(
        self, set_name: str, kinds: Sequence[Kind], number: int, recipe: Recipe, seed: int = 0
    ) -> int:
        """Queue the making of questions for a set, which is made if there is none; the job.

        Passages are those of ``recipe.index``, the model that of ``recipe.answer``. Another seed
        takes other passages. Raises InvalidInput: for kinds that need a model where the recipe has
        none, and where there is no passage.
        """
        self._check(kinds, number, recipe)
        name = checked_name(set_name)
        with self._database.write() as connection:
            cut_id = builds.cut_id(connection, self._base_id, recipe.index.cut)
            ids = sorted(documents.ids_by_name(connection, self._base_id).values())
            spans = passages.spans(connection, self._base_id, cut_id, ids)
            keys = sample(spans, number, seed)
            if not keys:
                raise InvalidInput(
                    "There is no passage to make questions from.",
                    "Add documents, or build the index of this recipe first.",
                )
            rows.ensure(connection, self._base_id, name)
            items = [
                (f"{kind} question", {"kind": kind, "key": key})
                for kind, key in _assigned(kinds, keys, number)
            ]
            title = f"Making {counted(len(items), 'question')} for {name}"
            request = Generate(set=name, seed=seed, recipe=recipe)
            job = request.queue(connection, self._base_id, title, items)
        self._jobs.wake()
        return job

    def _check(self, kinds: Sequence[Kind], number: int, recipe: Recipe) -> None:
        unknown = [kind for kind in kinds if kind not in (*MODEL_KINDS, *OFFLINE_KINDS)]
        if unknown or not kinds:
            named = ", ".join((*MODEL_KINDS, *OFFLINE_KINDS))
            raise InvalidInput("Choose the kinds of questions.", f"There are: {named}.")
        if not 1 <= number <= _MOST:
            raise InvalidInput(f"Ask for 1 to {_MOST} questions at a time.")
        chat = self._services.models.chat(recipe.answer.provider, recipe.answer.model)
        if chat is None and any(kind in MODEL_KINDS for kind in kinds):
            raise InvalidInput(
                "These questions need a language model, and the recipe has none.",
                f"Choose a provider, or a kind that needs no model: {', '.join(OFFLINE_KINDS)}.",
            )

    @operation("viewer")
    def proposals(self, set_name: str, *, rejected: bool = False) -> list[LabelledQuestion]:
        """Proposals that wait for a decision, or those that were rejected. Raises NotFound."""
        with self._database.read() as connection:
            question_set = rows.get_question_set(connection, self._base_id, set_name)
            return rows.list_labelled_questions(connection, question_set.id, _STATES[rejected])

    @operation("labeller", audit="labels")
    def accept_proposals(self, set_name: str, question_ids: Collection[str]) -> None:
        """Make proposals, also rejected ones, questions that count. Raises NotFound."""
        with counted_edit(self._database, self._base_id, set_name) as (connection, set_id):
            for question_id in question_ids:
                rows.change(connection, set_id, question_id, {"state": "accepted"})

    @operation("labeller", audit="labels")
    def reject_proposals(self, set_name: str, question_ids: Collection[str]) -> None:
        """Reject proposals; they are kept, and not made again. Raises NotFound.

        Raises AlreadyExists for a question that was accepted: that one can be deleted.
        """
        with self._database.write() as connection:
            set_id = rows.get_question_set(connection, self._base_id, set_name).id
            accepted = {item.id for item in rows.list_labelled_questions(connection, set_id)}
            if accepted.intersection(question_ids):
                raise AlreadyExists("It has been accepted.", "Delete it from the set instead.")
            for question_id in question_ids:
                rows.change(connection, set_id, question_id, {"state": "rejected"})


def _assigned(kinds: Sequence[Kind], keys: Sequence[int], number: int) -> list[tuple[Kind, int]]:
    """Kinds in turn over the passages; a passage comes again only with another kind."""
    chosen = list(dict.fromkeys(kinds))
    places = range(min(number, len(keys) * len(chosen)))
    turns = ((place % len(keys), place // len(keys)) for place in places)
    return [(chosen[(row + turn) % len(chosen)], keys[row]) for row, turn in turns]


class Questions(
    QuestionSets,
    QuestionEdits,
    LabelEdits,
    PassageLabels,
    JudgingQueue,
    Exchange,
    Proposals,
    Passports,
):
    """The question sets of one knowledge base, with their labels and proposals."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        super().__init__(services.database, base_id)
        self._services = services
        self._jobs = jobs
