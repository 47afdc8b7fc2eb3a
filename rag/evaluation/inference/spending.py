"""Alpha spending: significance levels that share the risk of a false winner on one question set.

The first look at a set has the level that any winner needs, 0.02. All later looks share another
0.03, however many there are: the n-th look has 0.03 / (n (n - 1)), and these levels add up to 0.03.
Repeated attempts therefore call an equal recipe a winner in at most 5 of 100 sets, whatever the
looks have in common (Foster and Stine, Alpha-Investing, JRSS B 2008, section 2: alpha spending).
"""

from __future__ import annotations

from rag.evaluation.comparison import CROWNING_P

LATER = 0.03
"""What all looks after the first share."""


def level(number: int) -> float:
    """The p-value that a winner of the ``number``-th look needs, counted from 1."""
    return CROWNING_P if number < 2 else LATER / (number * (number - 1))
