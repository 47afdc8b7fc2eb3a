"""How files for others are told: reports, bundles, and what became of a bundle."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rag import Reproduction
from rag.cli.printing import Output

_SHOWN = 20  # figures that differ, printed one by one


def written(path: Path, **about: str) -> Output:
    size = path.stat().st_size
    data = {**about, "file": str(path), "bytes": size}
    return Output(data, f"{path}, {size / 1000:,.0f} kB")


def reproduction(found: Reproduction) -> Output:
    data = {
        "knowledge_base": found.base,
        "set": found.question_set,
        "run": found.run,
        "reproduced": found.exact,
        "figures": found.figures,
        "deviations": [asdict(each) for each in found.deviations],
        "rankings": found.rankings,
        "rankings_changed": found.rankings_changed,
        "largest_score_gap": found.largest_score_gap,
        "missing": list(found.missing),
        "read_differently": list(found.read_differently),
        "environment": {name: list(pair) for name, pair in found.environment.items()},
    }
    lines = [f"run {found.run} in {found.base!r}: {found.sentence}"]
    lines += [f"missing: {name}" for name in found.missing]
    lines += [f"read differently: {name}" for name in found.read_differently]
    lines += [
        f"{each.question or 'mean'} {each.metric}: {each.expected} there, {each.found} here"
        for each in found.deviations[:_SHOWN]
    ]
    lines += [
        f"{name}: {a or '-'} there, {b or '-'} here" for name, (a, b) in found.environment.items()
    ]
    return Output(data, "\n".join(lines), found.exact)
