"""Questions that rise and fall together: one cluster counts as one observation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from rag.types import Floats, Order

CONSIDERABLE = 1.2
"""A design effect that is worth a sentence."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """``codes`` has the cluster of each question, counted from 0, shape (questions,)."""

    codes: Order

    @classmethod
    def of(cls, names: Sequence[Hashable]) -> Clusters:
        """Questions of one name are one cluster."""
        places: dict[Hashable, int] = {}
        codes = [places.setdefault(name, len(places)) for name in names]
        return cls(np.array(codes, np.intp))

    @classmethod
    def single(cls, questions: int) -> Clusters:
        """Every question by itself."""
        return cls(np.arange(questions))

    def __len__(self) -> int:
        """Number of clusters."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0

    @property
    def sizes(self) -> Floats:
        """Questions of each cluster."""
        return np.bincount(self.codes, minlength=len(self)).astype(np.float64)

    def sums(self, rows: Floats) -> Floats:
        """Sums by cluster: shape (rows, questions) to (rows, clusters)."""
        if len(self) == rows.shape[1]:  # a question each
            return np.asarray(rows[:, np.argsort(self.codes)], np.float64)
        sums = [np.bincount(self.codes, weights=row, minlength=len(self)) for row in rows]
        return np.array(sums, np.float64).reshape(len(rows), len(self))

    @staticmethod
    def pseudo_values(totals: Floats, sizes: Floats) -> Floats:
        """Return pseudo-values of clusters for the mean over questions, shape (rows, clusters).

        Their plain mean is that mean, and their spread is its spread, to first order (the
        linearised ratio of Cochran, Sampling Techniques, 1977, chapter 6). The pseudo-value of a
        cluster of one question is the question's value.
        """
        if (sizes == 1.0).all():
            return totals
        means = totals.sum(axis=1, keepdims=True) / sizes.sum()
        return np.asarray(means + (totals - means * sizes) * (len(sizes) / sizes.sum()))

    def moving_together(self, rows: Floats) -> Floats:
        """Return the share of a mean cluster that moves with one of its questions, shape (rows,).

        The share is 1 if the questions of a cluster move as one, and if each cluster is one
        question.
        """
        per_question = len(self) / len(self.codes)
        if per_question == 1.0:
            return np.ones(len(rows))
        effects = [self.design_effect(row) if np.ptp(row) > 1e-12 else np.inf for row in rows]
        return np.clip(np.array(effects) * per_question, per_question, 1.0)

    def design_effect(self, values: Floats) -> float:
        """Return the ratio of the variance of the mean to that of as many independent questions.

        Kish: Survey Sampling, 1965. The ratio is 1 without variation or with fewer than two
        clusters.
        """
        questions, clusters = len(self.codes), len(self)
        alone = float(values.var(ddof=1)) / questions if questions > 1 else 0.0
        if clusters < 2 or clusters == questions or alone <= 1e-12:
            return 1.0
        pseudo = self.pseudo_values(self.sums(values[None]), self.sizes)[0]
        return float(pseudo.var(ddof=1)) / clusters / alone
