"""The name of what figures rest on: questions, documents, calibration, tags."""

from __future__ import annotations

import hashlib

from rag.recipe import Recipe
from rag.search.corpus import filter_digest
from rag.search.threshold import fitted
from rag.services import Services
from rag.storage import bases
from rag.storage import questions as question_rows


def state(services: Services, base_id: int, set_name: str, recipe: Recipe) -> str:
    """Names all that figures depend on beside a recipe; it never comes back once it has changed.

    Tags count as far as this recipe or the saved one filters by them. Raises NotFound.
    """
    calibration = fitted(services, base_id, recipe.index)
    with services.database.read() as connection:
        base = bases.by_id(connection, base_id)
        question_set = question_rows.get_question_set(connection, base_id, set_name)
        filtered = [
            filter_digest(connection, base_id, side.search) for side in (recipe, base.recipe)
        ]
    parts = (base_id, base.version, question_set, calibration and calibration.created, filtered)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
