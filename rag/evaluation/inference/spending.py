"""How the risk of a false winner is shared by all that is tried on one question set.

The first look at a set has the level that any winner needs, 0.02. All that follow share another
0.03, however many they will be: the n-th has 0.03 / (n (n - 1)), and these add up to 0.03. So
whoever tries and tries again calls an equal recipe a winner in at most 5 of 100 sets, whatever the
looks have in common (Foster and Stine, Alpha-Investing, JRSS B 2008, section 2: alpha spending).
"""

from __future__ import annotations

from rag.evaluation.comparison import CROWNING_P

LATER = 0.03
"""What all looks after the first share."""


def level(number: int) -> float:
    """The p-value that a winner of the ``number``-th look needs, counted from 1."""
    return CROWNING_P if number < 2 else LATER / (number * (number - 1))
