"""Each rule of answers without a model switched off alone: what it finds, and what it keeps back.

``python -m rag bench --only answer_rules`` asks the questions of ``answer_states`` with all rules,
and again without each of ``RULES``. A row counts questions of collections that no rule was made on,
whose first quote is right only ``with`` or only ``without`` the rule, and those with a wrong answer
in the state *answered* only without it (``kept back``) or only with it (``let through``).
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from rag import SAMPLE
from rag.answering import PassageReader, extractive, quote_candidates
from rag.answering.assessing import evidence
from rag.answering.assessing.evidence import answer_model
from rag.answering.statements import sentences
from tests.bench import answer_states as states

_NEVER = re.compile(r"(?!)")
MADE_ON = (SAMPLE, states.NEAR_MISSES, states.NAMED_THINGS)
RULES: Mapping[str, Sequence[tuple[object, str, object]]] = {
    "kind of value": [(evidence, "asked_value", lambda _question: None)],
    "word beside a row": [(evidence, "beside_unknown", lambda *_: ())],
    "names in two rows": [(evidence, "apart", lambda *_: ()), (evidence, "parted", lambda *_: ())],
    "exact value": [(evidence, "_gap", lambda *_: "")],
    "restriction": [(evidence.EvidenceReader, "_unqualified", lambda *_: "")],
    "another day or range": [
        (quote_candidates, "restrictions", lambda _question: []),
        (evidence, "restrictions", lambda _question: []),
    ],
    "topic alone": [(evidence.EvidenceReader, "_unsaid", lambda *_: ())],
    "name of a row": [(extractive, "NAMED_BONUS", 0.0)],
    "rare words": [(extractive, "CHECKED_BONUS", 0.0)],
    "cut sentences": [(PassageReader, "is_cut", lambda *_: False)],
    "leaning sentence": [(sentences, "LEANS", _NEVER)],
    "abbreviations": [(sentences, "_ABBREVIATION", _NEVER)],
}
"""By its name the attributes that a rule consists of, and what stands in their place without it."""


def measure(
    folder: Path,
    *,
    collections: Sequence[str] = states.COLLECTIONS,
    rules: Sequence[str] = tuple(RULES),
) -> dict[str, float]:
    """Counts by ``"RULE | COLUMN"``."""
    figures, model = dict[str, float](), answer_model("minilm")
    with tempfile.TemporaryDirectory() as home:
        workspace, services = states.opened(Path(home))

        def outcomes() -> list[tuple[bool, bool]]:
            """Of each question whether its first quote is right, and whether it is surely wrong."""
            asked = states.asked(workspace, services, folder, collections)
            rows = [row for name, own in asked.items() if name not in MADE_ON for row in own]
            right = [row.kind == "answerable" and states.first_is_right(row) for row in rows]
            sure = [not states.is_flagged(row, model) for row in rows]
            return [(good, certain and not good) for good, certain in zip(right, sure, strict=True)]

        whole = outcomes()
        for rule in rules:
            with ExitStack() as stack:
                for owner, attribute, stand_in in RULES[rule]:
                    stack.enter_context(patch.object(owner, attribute, stand_in))
                pairs = list(zip(whole, outcomes(), strict=True))
            columns = (("with", "without"), ("let through", "kept back"))
            for column, (only_with, only_without) in enumerate(columns):
                only = [one[column] - other[column] for one, other in pairs]
                figures |= {f"{rule} | {only_with}": only.count(1)}
                figures |= {f"{rule} | {only_without}": only.count(-1)}
        workspace.close()
    return figures
