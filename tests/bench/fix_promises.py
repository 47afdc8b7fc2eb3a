"""The net gain that a diagnosis tells of its fixes, against the gain on questions it never saw.

``python -m rag bench --only fix_promises`` gives the diagnosis half of the questions of a
collection, 50 times. It chooses and measures fixes within that half. Printed are the mean gain that
it tells, the mean gain of the same fixes on the other half, the standard error of their
difference, and for comparison the mean gain on the questions that chose.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rag import SAMPLE, KnowledgeBase, Settings, Split, Workspace
from rag.evaluation.splits import split
from rag.experiments.tuning.diagnosis.case import scores
from rag.experiments.tuning.diagnosis.examining import Examination
from rag.experiments.tuning.diagnosis.fixes import (
    chosen,
    key_of,
    measure_changes,
    metric_depth,
    proposed,
)
from rag.library.questions.groups import groups_of
from rag.services.services import Services

COLLECTIONS = (SAMPLE, "cranfield", "xquad_en")
SPLITS = 50


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """Figures by ``"COLLECTION | COLUMN"``."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as home:
        settings = Settings.from_env({}, home=Path(home))
        workspace, services = Workspace(settings), Services.start(settings)
        for name in collections:
            figures |= _promises(services, _filled(workspace, folder, name))
        workspace.close()
    return figures


def _promises(services: Services, base: KnowledgeBase) -> dict[str, float]:
    sweeper = base.tuning.sweeper(base.name)
    examination = Examination(services, base.id, sweeper, base.recipe())
    failed = examination.failed(_silent)
    k = metric_depth(examination.recipe)
    measured = measure_changes(
        services, base.id, examination, proposed(examination, failed), _silent
    )
    before, ids = scores(examination.searched, k), [one.id for one in examination.questions]
    groups = groups_of(examination.questions)
    rows = []
    for seed in range(SPLITS):
        seen = split(ids, 0.5, seed, groups=groups)
        halves = split(seen.tuning, 0.5, seed + 1000, groups=groups)
        shown = [one for one in failed if one.id in set(seen.tuning)]
        proposals, parts = proposed(examination, shown), Split(halves.tuning, halves.held_out)
        unseen = np.isin(ids, seen.held_out)
        fixes = chosen(examination, proposals, measured, parts, groups, k).fixes
        gains = [
            (
                fix.comparison.difference,
                float((measured[key_of(fix.changes)] - before)[unseen].mean()),
                fix.tuning_gain,
            )
            for fix in fixes
        ]
        if gains:
            rows.append(np.mean(gains, axis=0))
    told, realised, tuning = np.array(rows).T
    differences = told - realised
    return {
        f"{base.name} | splits": len(rows),
        f"{base.name} | on tuning": float(tuning.mean()),
        f"{base.name} | told": float(told.mean()),
        f"{base.name} | realised": float(realised.mean()),
        f"{base.name} | difference": float(differences.mean()),
        f"{base.name} | std. error": float(differences.std(ddof=1) / np.sqrt(len(rows))),
    }


def _silent(_done: int, _total: int) -> None:
    """Nobody listens."""


def _filled(workspace: Workspace, folder: Path, name: str) -> KnowledgeBase:
    if name == SAMPLE:
        base, job = workspace.start_demo()
    else:
        base = workspace.create(name)
        job = base.documents.import_beir(folder / name, "test")
    workspace.jobs.run(job)
    return base
