"""Ranking metrics as trec_eval defines them: of arrays, of lists, of scored runs.

A name is imported when it is first used: a scored run needs no NumPy.
"""

TYPE_CHECKING = False  # the name is enough for type checkers
if TYPE_CHECKING:
    from rag.evaluation.metrics.names import MEASURE_NAMES, Metric, parse_metric
    from rag.evaluation.metrics.ranked import (
        MEASURES,
        Ranked,
        RankStatistics,
        evaluate,
        evaluate_rankings,
    )
    from rag.evaluation.metrics.scored import evaluate_run

_WHERE = {
    "names": "MEASURE_NAMES Metric parse_metric",
    "ranked": "MEASURES Ranked Standing evaluate evaluate_rankings",
    "scored": "evaluate_run",
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = [
    "MEASURES",
    "MEASURE_NAMES",
    "Metric",
    "RankStatistics",
    "Ranked",
    "evaluate",
    "evaluate_rankings",
    "evaluate_run",
    "parse_metric",
]
