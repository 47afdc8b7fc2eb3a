"""Logistic regression with a ridge, by which the shipped models are fitted."""

from __future__ import annotations

import numpy as np

from rag.types import Floats


def fit_logistic(
    rows: Floats, target: Floats, weight: Floats, ridge: float
) -> tuple[Floats, float]:
    """Return weights, shape (features,), and intercept for features as they are.

    ``rows`` has shape (n, features); ``target`` is 0 or 1 and ``weight`` how much each row counts,
    both of shape (n,). The ridge is on standardised features. A feature that does not vary gets no
    weight.
    """
    from scipy.optimize import minimize

    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 0, scale, np.inf)
    standard = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
    penalty = np.append(np.full(rows.shape[1], ridge), 0.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        logits = standard @ weights
        total = weight @ (np.logaddexp(0.0, logits) - logits * target)
        slope = standard.T @ (weight * (0.5 * (1.0 + np.tanh(0.5 * logits)) - target))
        return float(total + (penalty * weights**2).sum() / 2), slope + penalty * weights

    fit = minimize(loss, np.zeros(standard.shape[1]), jac=True, method="L-BFGS-B").x
    weights = fit[:-1] / scale
    return weights, float(fit[-1] - weights @ mean)
