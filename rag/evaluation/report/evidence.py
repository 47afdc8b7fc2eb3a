"""The lower part of a report: what was missed, how it was measured, how to repeat it."""

from __future__ import annotations

import shlex

from rag.evaluation.report.content import Expected, Miss, Retrieved, RunReport
from rag.evaluation.report.markup import Markup, columns, definitions, element, heading, section
from rag.evaluation.report.metric_titles import METRIC_DEFINITIONS, METRIC_TITLES, metric_title
from rag.evaluation.report.words import setting
from rag.recipe import Recipe
from rag.results import EDITED, EDITS, PROMPTS, RANKABLE


def misses(report: RunReport) -> Markup | None:
    """The worst questions with the evidence that was expected and what came instead."""
    if not report.misses:
        return None
    return section(
        "The worst questions",
        element(
            "p",
            f"Sorted by {metric_title(report.metric)}, lowest first: the expected "
            "evidence next to the first results.",
            class_="lead",
        ),
        *(_miss(miss, report) for miss in report.misses),
    )


def _miss(miss: Miss, report: RunReport) -> Markup:
    result, recipe = miss.result, report.run.recipe
    rank, found = result.first_relevant, result.found
    outcome = f"first relevant at rank {rank}"
    if rank is None and result.cut_rank is not None:
        outcome = f"first relevant at rank {result.cut_rank}, cut by the threshold"
    elif rank is None:
        outcome = "nothing relevant was returned"
    if recipe is not None:
        found = result.relevant_among(recipe.search.top_k)
        outcome += ", beyond top-k" * (rank is not None and rank > recipe.search.top_k)
        where = "returned"
    else:
        where = f"in the first {max(int(one.partition('@')[2] or 0) for one in result.metrics):,}"
    count = f"{found:,} of {result.relevant:,} relevant {where}"
    came = [_retrieved(retrieved) for retrieved in miss.retrieved]
    return element(
        "article",
        element("p", result.text, class_="question user", dir="auto"),
        element(
            "div",
            f"{metric_title(report.metric)} {result.metrics[report.metric]:.3f} · "
            f"{outcome} · {count}",
            class_="note",
        ),
        columns(
            element("div", element("h3", "Expected"), *map(_expected, miss.expected)),
            element(
                "div",
                element("h3", "Came first"),
                *(came or [element("p", "Nothing.", class_="note")]),
            ),
        ),
        class_="miss",
    )


def _expected(item: Expected) -> Markup:
    return element(
        "blockquote",
        element("span", item.document, class_="source user"),
        element("span", item.quote or "The whole document.", class_="user", dir="auto"),
        class_="right",
    )


def _retrieved(item: Retrieved) -> Markup:
    right = item.grade > 0
    return element(
        "blockquote",
        element(
            "span",
            f"{item.rank}. {item.document}",
            element("span", " ✓ relevant", class_="mark") if right else None,
            class_="source user",
        ),
        element("span", item.text, class_="user", dir="auto"),
        class_="right" if right else None,
    )


def method(report: RunReport) -> Markup:
    """Return the section on how metrics, intervals and comparisons are computed."""
    measured = {name.partition("@")[0] for name in report.run.metrics}
    terms = {
        METRIC_TITLES[name]: METRIC_DEFINITIONS[name].format(unit=report.unit)
        for name in METRIC_TITLES
        if name in measured
    }
    return section(
        "Method",
        element("p", _method(report)),
        definitions(terms),
    )


def _method(report: RunReport) -> str:
    relevance = (
        "A label names a document that answers; documents are ranked by their best passage."
        if report.unit == "document"
        else "A label is a span of a document. A passage is relevant if it shares at least "
        "half of the shorter of the two with a labelled span. If no passage does, the "
        "one that shares most is relevant."
    )
    return (
        "Every question was searched as in production, and the first "
        f"{report.cutoffs[-1] if report.cutoffs else 1:,} {report.unit}s above the "
        f"threshold were graded. {relevance} Metrics are means over all labelled "
        "questions, as trec_eval defines them. A question without results counts as 0. "
        "Intervals are 95% intervals of the mean over such questions: Gaffke's for "
        "means, which allows for the best and the worst question that was not asked, and "
        "Clopper and Pearson's for rates. Two runs are compared question by question "
        "with a randomisation test that treats a group of questions as one. A winner is "
        "named only if chance alone would show such a difference less than twice in a "
        "hundred times, corrected for everything that is shown together."
    )


def reproducing(report: RunReport) -> Markup:
    """Hashes, versions, the recipe and the command."""
    run = report.run
    facts = {
        "Run": f"{run.id}, {run.created:%Y-%m-%d %H:%M} UTC, {run.seconds:.1f} s",
        "Recipe": run.recipe_hash or "",
        "System": f"{run.system.label}, SHA-256 {run.system.hash}" if run.system else "",
        "Index build": run.build_hash,
        "Questions": f"{run.question_set}, version {run.set_version}",
        "Documents": f"{run.documents:,}, SHA-256 of their ids {run.documents_hash}",
        "Edits of passages": run.environment.get(EDITS, ""),
        "Tags": ", ".join(run.tags),
        "Code": run.code_version,
        "Prompts": run.prompts,
        "Answers": run.environment.get("answers", ""),
        "Machine": run.environment.get("machine", ""),
        "Packages": ", ".join(
            f"{name} {version}"
            for name, version in run.environment.items()
            if name not in ("touchstone", "machine", "answers", EDITS, EDITED, PROMPTS, RANKABLE)
        ),
    }
    terms = {name: element("code", value, class_="user") for name, value in facts.items() if value}
    if run.recipe is None:
        return section("What was measured, exactly", definitions(terms))
    return section(
        "Repeat it",
        element("p", "With the recipe below saved as recipe.json:"),
        element("pre", command(report)),
        definitions(terms),
        heading("Recipe"),
        _fields(run.recipe),
        element(
            "details",
            element("summary", "recipe.json"),
            element("pre", run.recipe.model_dump_json(indent=2)),
        ),
    )


def command(report: RunReport) -> str:
    """Return the command line that repeats the measurement."""
    cutoffs = ",".join(str(k) for k in report.cutoffs)
    parts = ["python", "-m", "rag", "evaluate", report.base, report.run.question_set]
    return shlex.join([*parts, "--recipe", "recipe.json", "--k", cutoffs])


def _fields(recipe: Recipe) -> Markup:
    fields = (
        element("div", element("dt", element("code", name)), element("dd", setting(value)))
        for name, value in recipe.fields().items()
    )
    return element("dl", *fields, class_="fields")


def closing(report: RunReport) -> Markup:
    """Return the footer with the origin of the page."""
    imprint = f"Made with Touchstone {report.run.code_version or '(unknown version)'}. "
    return element("footer", imprint, "This file needs no network and contains no script.")
