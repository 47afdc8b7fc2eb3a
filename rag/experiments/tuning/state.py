"""The data that figures rest on: questions, documents, calibration, tags."""

from __future__ import annotations

import hashlib
from functools import cache, partial

from rag.library.questions.groups import QuestionSnapshot, read_questions
from rag.recipe import Recipe
from rag.retrieval.filters import filter_digest
from rag.services.services import Services
from rag.storage import Connection, bases, builds, documents, registries
from rag.storage import questions as question_rows
from rag.storage.questions import QuestionSet


def state(services: Services, base_id: int, set_name: str, recipe: Recipe) -> str:
    """Names all that figures depend on beside a recipe; it never comes back once it has changed.

    Tags count as far as this recipe or the saved one filters by them, builds as far as these use
    them. Raises NotFound.
    """
    with services.database.read() as connection:
        question_set = question_rows.get_question_set(connection, base_id, set_name)
        return _digest(connection, base_id, question_set, recipe)


def read_measured(
    services: Services, base_id: int, set_name: str, recipe: Recipe
) -> tuple[QuestionSnapshot, str]:
    """Read a question set and the ``state`` that goes with it, in one transaction.

    Raises NotFound.
    """
    with services.database.read() as connection:
        questions = read_questions(connection, base_id, set_name)
        return questions, _digest(connection, base_id, questions.question_set, recipe)


def _digest(connection: Connection, base_id: int, question_set: QuestionSet, recipe: Recipe) -> str:
    base = bases.by_id(connection, base_id)
    calibration = registries.calibration_of_build(connection, base_id, recipe.index.hash)
    traits = cache(partial(documents.traits, connection, base_id))
    sides = recipe, base.recipe
    filtered = [filter_digest(side.search, traits) for side in sides]
    held = [builds.held(connection, base_id, side.index.hash) for side in sides]
    searched = documents.state(connection, base_id), held
    parts = (base_id, searched, question_set, calibration and calibration.created, filtered)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
