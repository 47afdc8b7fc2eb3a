"""The threshold as a promise: what passes, what is lost, and whether probabilities come true."""

from __future__ import annotations

import math
from functools import partial

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button
from pages.components.shell.charts import draw_chart, reliability_diagram
from pages.components.shell.session import offered
from pages.components.shell.text import ago, plain
from pages.components.tuning.bench import Bench, Key, cached, shares, topics
from rag import (
    FEWEST_FOR_REFUSAL,
    FittedCalibration,
    InvalidInput,
    ThresholdPoint,
    ThresholdPromise,
    counted,
)

_LEAST_PRECISION = 0.05  # that a threshold can be asked to promise
_USUAL_PRECISION = 0.5


def threshold_panel(bench: Bench) -> None:
    """The section of the page."""
    st.header("Threshold from labels", divider="gray")
    fitted = bench.base.tuning.calibrator.fitted(bench.recipe.index)
    left, right = st.columns(2, gap="large")
    with left:
        _promise(bench)
        _refusal(bench)
    with right:
        if fitted is not None:
            _reliability(fitted)
        else:
            st.markdown(
                "**Probabilities instead of cosines.** Labels can teach how likely a passage "
                "is relevant, so that a threshold of 80% means 8 in 10."
            )
        _calibrate(bench, fitted)


def _promise(bench: Bench) -> None:
    """Draw the effects of the recipe and its threshold, and a threshold for a wanted precision."""
    half = ", on the tuning half" if bench.part == "tuning" else ""
    st.markdown(f"**Now{half}:** {', '.join(shares(bench))}.")
    rest = bench.without("threshold", "top_k", "dense_weight", "fusion", "rrf_k", "bm25_pivot")
    curve = cached(partial(bench.tuner.threshold_curve, bench.recipe), "promise", rest)
    present = curve.at(-math.inf if bench.threshold is None else bench.threshold)
    if bench.threshold is None:
        st.markdown("**Threshold off:** the highest ranks are returned.")
    promised = _promised(bench, rest)
    # Rounded down: what reached the threshold still does.
    value = int(promised.point.threshold * 1000) / 1000 if promised and promised.point else None
    use = partial(working_recipe.change, bench.base, {"search.threshold": value})
    label = "Use this threshold"
    with st.container(horizontal=True, vertical_alignment="center"):
        action_button(label, "tuning_use_floor", "check", use, disabled=value is None)
        if value is not None:
            _cost(curve.at(value), present)
    lower = None if value is None else curve.lowest_as_good(curve.at(value))
    if lower is not None:
        st.caption(
            f"On the questions of the curve above, threshold {lower.threshold:.3f} is as good: it "
            f"{plain(lower.sentence)}. It bears no promise."
        )


def _cost(promised: ThresholdPoint, now: ThresholdPoint) -> None:
    """Say what a threshold does to questions, beside the button that sets it."""
    sentence, loses = promised.instead_of(now)
    if loses:
        st.warning(f"{sentence} It loses more than it gains.", icon=":material/trending_down:")
    else:
        st.caption(sentence)


def _promised(bench: Bench, rest: Key) -> ThresholdPromise | None:
    """Draw the threshold that promises a precision, and its test on other questions."""
    measure = partial(bench.tuner.promise_curves, bench.recipe)
    try:
        curves = cached(measure, "promise_curves", rest)
    except InvalidInput as error:
        st.markdown(plain(f"{error.message} {error.hint}"))
        return None

    def promise(share: float) -> ThresholdPromise:
        return cached(partial(curves.promise, share), "promised", (*rest, share))

    possible = promise(_LEAST_PRECISION).possible or 0.0
    # No slider where the labels are too few to promise any precision: the sentence says so.
    promised = promise(_precision() if possible >= _LEAST_PRECISION else _USUAL_PRECISION)
    st.markdown(f"**{plain(promised.headline)}**")
    if promised.point is not None:
        st.caption(
            "A promise is a lower bound for other questions, before top-k: the precision that the "
            "curve above measures may be higher already."
        )
    with st.expander("How it was tested", icon=":material/science:"):
        st.markdown(plain(f"{promised.method} {promised.check}".strip()))
    return promised


def _precision() -> float:
    """Draw the slider for the precision to promise; return it."""
    return st.slider(
        "Wanted precision above the threshold",
        _LEAST_PRECISION,
        0.99,
        _USUAL_PRECISION,
        0.01,
        key="precision",
        bind="query-params",
        help="The relevant share of all candidates above the threshold, before top-k. The promise "
        "is for questions that did not choose the threshold, and is kept 9 times in 10.",
    )


def _refusal(bench: Bench) -> None:
    """Draw the effect of refusing off-topic questions, and the limit that the labels suggest."""
    probabilities = topics(bench)
    if probabilities is None:
        return
    refuse = bench.recipe.search.refuse
    limit = probabilities.limit(refuse)
    how = "off" if limit is None else f"{limit:.3f}"
    st.markdown(
        f"**Off-topic limit now {how}:** by itself, it {probabilities.refused(limit).sentence}."
    )
    st.caption(
        "The limit is a probability between 0 and 1: a question is refused if the probability "
        "that the documents cover it is lower. A higher limit refuses more questions."
    )
    if not probabilities.can_choose:
        st.caption(
            f"It takes {FEWEST_FOR_REFUSAL} answerable questions to choose a limit by labels."
        )
        return
    cost = st.slider(
        "Answerable questions that may be refused",
        0.0,
        0.3,
        0.05,
        0.01,
        format="percent",
        key="refusal_cost",
        bind="query-params",
        help="The limit is the greatest that refuses no more of the questions that choose it.",
    )
    choice = probabilities.chosen(cost)
    if choice is None:
        return
    st.markdown(f"**Off-topic limit by the labels {choice.limit:.3f}:** {choice.sentence}.")
    if not choice.better_than(probabilities.refused(limit)):
        st.caption(
            "No reason to change: it refuses no more questions without an answer than the present "
            "limit, and no fewer answerable ones."
        )
        return
    use = partial(working_recipe.change, bench.base, {"search.refuse": choice.limit})
    action_button("Use this limit", "tuning_use_refusal", "check", use)


def _calibrate(bench: Bench, fitted: FittedCalibration | None) -> None:
    """Learn probabilities, or say why there is not enough to learn from."""
    job = bench.base.tuning.fits.latest(bench.set_name, bench.recipe)
    if job is not None and job.active:
        job_progress.follow(job.id, "fit")
    else:
        label = "Fit again" if fitted else "Fit on the labels"
        start = partial(bench.base.tuning.fits.start, bench.set_name, bench.recipe)
        explained = "Learns how likely a passage is relevant, from the tuning questions."
        options = offered(bench.base, "tuning.fits.start", help=explained)
        action_button(label, "tuning_fit", "model_training", start, **options)
    if job is not None and job.status == "failed":
        st.info(plain(job.message), icon=":material/label:")
    if fitted is not None:
        st.caption(
            f"Fitted {ago(fitted.created)} on {counted(fitted.questions, 'question')} of "
            f"{plain(fitted.question_set)}. The sliders can compare the threshold with it."
        )


def _reliability(fitted: FittedCalibration) -> None:
    summary = _takeaway(fitted)
    st.caption(summary)
    alt = f"Reliability: observed shares against predicted probabilities. {summary}"
    draw_chart(reliability_diagram(fitted.bins), "tuning_reliability", alt)


def _takeaway(fitted: FittedCalibration) -> str:
    inside = sum(point.agrees for point in fitted.bins)
    return (
        f"{inside} of {len(fitted.bins)} points agree with the diagonal. {fitted.quality.sentence}"
    )
