"""Results as JSON for scripts and as text for people. The JSON shapes are a contract."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import Any

from pydantic import BaseModel

from rag import (
    Answer,
    AnswerData,
    Chunk,
    Citation,
    Decision,
    Evaluation,
    Hit,
    Interval,
    JobItem,
    JobRow,
    Jobs,
    KnowledgeBase,
    Label,
    MeasuredData,
    Plan,
    ReceiptData,
    ResultData,
    Run,
    Schema,
    TagFigures,
    TouchstoneError,
    Trace,
    TraceData,
    UnjudgedShare,
    answer_and_more,
    counted,
    failure_words,
    metric_title,
    money,
    page_name,
    precision_ceiling,
    surroundings,
    visible,
)

_EVERY_SECONDS = 10.0
_CONTROLS = {*range(0x20), *range(0x7F, 0xA0)}
_OBEYED = dict.fromkeys(_CONTROLS - set(map(ord, "\n\t")), "\N{REPLACEMENT CHARACTER}")


@dataclass(frozen=True, slots=True)
class Output:
    """One result: the object for ``--json``, and the same for a reader.

    ``passed`` is False where a check failed, or work is left; the command then ends with exit code
    1, or with ``failing`` where a verb has several ways to fail. ``problem`` (message, hint) is
    what kept it from its purpose, for standard error; one that passed else ends with exit code 2.
    A ``silent`` one was printed already, by what served standard output.
    """

    data: Schema | Mapping[str, Any]
    text: str
    passed: bool = True
    failing: int = 1
    problem: tuple[str, str] | None = None
    silent: bool = False


def follow(jobs: Jobs, job_id: int) -> None:
    """Do a job, or wait for it, with its progress on standard error. Raises if it failed."""
    started = time.monotonic()

    def on_progress(_done: int, _total: int, message: str) -> None:
        _PROGRESS.show(f"{time.monotonic() - started:5.0f} s  {snippet(message, 100)}")

    job = jobs.run(job_id, on_progress)
    jobs.take_up(job.base_id, job.kind, on_progress)  # what an earlier command was killed at
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if job.status != "done":
        raise TouchstoneError(f"{job.title}: {job.message or job.status}")


def encodable(value: Any) -> Any:
    """Return a part of a result as what ``json`` encodes, with parts that may need this again."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(value) if isinstance(value, Mapping) else list(value)


def paused(
    data: Schema | Mapping[str, Any], jobs: Sequence[JobRow], lines: Sequence[str] = ()
) -> Output:
    """The outcome of a verb whose work paused: exit code 1, with the reason on standard error."""
    reason = " ".join(job.message for job in jobs if job.paused)
    return Output(data, "\n".join(lines), passed=False, problem=(reason, ""))


def unread(jobs: Jobs, base: KnowledgeBase) -> None:
    """Say on standard error that a base is still to read documents, which cannot answer yet."""
    for job in jobs.recent(base.id):
        if job.active and job.kind in ("ingest", "import-beir", "import-store", "duplicate"):
            print(
                f"Note: {job.title!r} in {base.name!r} is not finished. Searches do not "
                "cover what it has not read yet. An open dashboard continues the job.",
                file=sys.stderr,
            )


def by_words(names: Sequence[str]) -> None:
    """Say on standard error that the vectors of documents are on their way."""
    print(
        f"Note: only lexical search finds {counted(len(names), 'document')} so far: "
        "another process is still embedding them.",
        file=sys.stderr,
    )


def working(done: int, total: int, message: str) -> None:
    """The progress of an import, on standard error."""
    _PROGRESS.show(f"{done:,} of {total:,} {snippet(message, 80)}")


def progress(done: int, total: int) -> None:
    """The progress of an evaluation, on standard error."""
    if done % 10 == 0 or done == total:
        _PROGRESS.show(f"{done} of {counted(total, 'question')}")


def harmless(text: str) -> str:
    """Text for a terminal, which would obey what names and texts of documents may hold.

    Those are control characters, such as those that begin colours, and marks that turn the
    direction of writing around.
    """
    return visible(text).translate(_OBEYED)


class _Progress:
    """Lines about work that takes long, on standard error."""

    def __init__(self) -> None:
        self._told: float | None = None

    def show(self, message: str) -> None:
        """Write over the last line on a terminal; elsewhere a line now and then."""
        message, now = harmless(message), time.monotonic()
        if sys.stderr.isatty():
            print(f"\r\033[K{message}", end="", file=sys.stderr, flush=True)
        elif self._told is None:
            self._told = now
        elif now - self._told > _EVERY_SECONDS:
            print(message, file=sys.stderr, flush=True)
            self._told = now


_PROGRESS = _Progress()


def ingested(base: KnowledgeBase, items: Sequence[JobItem]) -> Output:
    lines = [
        f"{item.status:10} {item.name}"
        + (f"  {counted(item.chunks, 'passage')}" if item.chunks else "")
        + (f"  {item.reason} {item.hint}".rstrip() if item.reason else "")
        for item in items
    ]
    failed = all(item.status == "failed" for item in items)
    problem = ("No document could be read.", "The reasons are listed above.") if failed else None
    infos = base.documents.documents(base.recipe().index)
    receipts = {key: info.receipt for info in infos for key in (info.source, info.name)}
    rows = [
        {
            "name": item.name,
            "status": item.status,
            "reason": item.reason,
            "chunks": item.chunks,
            "receipt": receipt and ReceiptData.of(receipt),
        }
        for item in items
        for receipt in [None if item.status == "failed" else receipts.get(item.name)]
    ]
    data = {"knowledge_base": base.name, "documents": rows}
    return Output(data, "\n".join(lines), problem=problem)


def exported(content: str, path: Path | None) -> Output:
    where = str(path) if path else None
    data = {"file": where, "content": None if path else content}
    return Output(data, where or content.rstrip())


def trace(search_trace: Trace) -> Output:
    refused = search_trace.stage("refuse")
    lines = [_hit_line(hit) for hit in search_trace.hits] or ["Nothing relevant was found."]
    if refused is not None and refused.dropped:
        lines += [refused.note]
    if merge := search_trace.stage("merge"):
        tool_stage = search_trace.stage("tool")
        lines += [
            "",
            *([f"tools: {tool_stage.note}"] if tool_stage else []),
            f"merged {merge.note}",
        ]
    language = search_trace.stage("language")
    lines += [*filter(None, [search_trace.read_as]), *([language.note] if language else [])]
    lines += _left_out(search_trace)
    funnel = " → ".join(f"{stage.name} {stage.given}" for stage in search_trace.stages[1:])
    return Output(
        TraceData.of(search_trace),
        "\n".join([*lines, "", f"{counted(search_trace.passages, 'passage')} → {funnel}"]),
    )


def _left_out(search_trace: Trace) -> list[str]:
    """Steps that failed, besides those that are printed anyway."""
    reported = ("merge", "tool")
    failed = (stage for stage in search_trace.failures if stage.name not in reported)
    return [f"{failure_words(stage)}: {stage.note}" for stage in failed]


def _hit_line(hit: Hit) -> str:
    relevance = "found by words" if "by_words" in hit.parts else f"relevance {hit.relevance:.3f}"
    lines = [f"{hit.rank:3}  {relevance}  {_source(hit)}"]
    lines += [f"     {snippet(hit.chunk.text, 160)}", *indexed_with(hit.chunk, 160)]
    return "\n".join(lines)


def indexed_with(chunk: Chunk, length: int) -> list[str]:
    """The line that says what is indexed beside the text of a passage, if anything is."""
    around = " · ".join(chunk.context.splitlines())
    return [f"     indexed with: {snippet(around, length)}"] if around else []


def _source(hit: Hit, cited: Citation | None = None) -> str:
    """Return the location of a hit: its knowledge base if there are several, document and page."""
    page, label = (cited.page, cited.page_label) if cited else (None, "")
    return (f"{hit.base}: " if hit.base else "") + located(hit.document, hit.chunk, page, label)


def located(document: str, chunk: Chunk, page: int | None = None, label: str = "") -> str:
    """Return the location of a passage, or of its words on ``page``: document and page, if any."""
    return document + page_name(document, page or chunk.page, chunk.heading, ", ", label)


def snippet(text: str, length: int) -> str:
    """The beginning of a text, on one line, with an ellipsis where it goes on."""
    words = " ".join(text.split())
    return words if len(words) <= length else f"{words[: length - 1].rstrip()}…"


def answer(answer_: Answer, error: TouchstoneError | None) -> Output:
    """``error`` is what stopped the answer; text that came before is one all the same."""
    text, more = answer_and_more(answer_.text, [one.n for one in answer_.citations if one.answers])
    lines = [*state(answer_), text, ""]
    lines += ["More from the documents:", "", more, ""] if more else []
    why = (
        (error.message, error.hint) if error else (answer_.note, "Ask again, or use another model.")
    )
    problem = why if answer_.status == "failed" else None
    text = "\n".join([*lines, *below_answer(answer_)])
    return Output(AnswerData.of(answer_), text, problem=problem)


def _around(answer_: Answer) -> list[str]:
    """Return what stands around the first quote in its passage."""
    disagrees = answer_.assessment is not None and answer_.assessment.state == "conflicting"
    if answer_.mode != "quotes" or disagrees or not answer_.citations:
        return []
    first = answer_.citations[0]
    before, after = surroundings(first.hit.chunk.text, first.quote, answer_.text)
    if not before and not after:
        return []
    return [" ".join(filter(None, ["In its passage:", before, f"[{first.n}]", after])), ""]


def below_answer(answer_: Answer) -> list[str]:
    """The lines below the text of an answer: its sources, and how it came about."""
    lines = _around(answer_)
    lines += [f"[{citation.n}] {_source(citation.hit, citation)}" for citation in answer_.citations]
    alone = answer_.mode == "quotes" and not answer_.written
    lines.append("(quotes, no language model)" if alone else _made(answer_))
    lines += [*([answer_.note] if answer_.note else []), *map(_decision, answer_.decisions)]
    lines += [
        f"- example: {snippet(example.question, 80)} (cosine {example.similarity:.2f})"
        for example in answer_.examples
    ]
    lines += [
        f"Not supported: {snippet(answer_.text[check.start : check.end], 80)} "
        f"({'; '.join(check.reasons)})"
        for check in answer_.sentences
        if not check.borne_out
    ]
    if answer_.written:
        lines.append(f"What the model wrote: {answer_.written}")
    if answer_.quotes:
        lines += ["", "What the passages say:"]
        lines += [f"- “{quote.quote}” ({_source(quote.hit, quote)})" for quote in answer_.quotes]
    return [*lines, *_left_out(answer_.trace)]


def state(answer: Answer) -> list[str]:
    """The state of an answer with its reason; nothing where it was not assessed."""
    if answer.assessment is None:
        return []
    title, reason = answer.title, answer.assessment.reason
    return [f"{title}. {reason}" if answer.assessment.state != "refused" else f"{title}.", ""]


def _made(answer: Answer) -> str:
    """The mode of a model's answer, and what it took."""
    cost = money(answer.cost.amount, answer.cost.currency) if answer.cost else "cost unknown"
    return f"({answer.mode}; {answer.usage.tokens:,} tokens, {cost})"


def _decision(decision: Decision) -> str:
    failed = " (failed)" if decision.failed else ""
    return f"- {decision.step}: {decision.chosen}{failed}" + (
        f"; {decision.why}" if decision.why else ""
    )


def evaluation(
    measured: Evaluation,
    intervals: Mapping[str, Interval],
    open_hits: UnjudgedShare | None,
    tags: Sequence[TagFigures],
    lost: Lost,
    plan: Plan,
) -> Output:
    data = MeasuredData.of(measured.run).extend(
        plan=plan,
        intervals=dict(intervals),
        unjudged=open_hits,
        by_tag=tags,
        lost_labels=lost_data(lost),
        per_question=list(map(ResultData.of, measured.results)),
        seconds=measured.run.seconds,
    )
    ceiling = precision_ceiling(measured.results, 5)
    doubts = _doubts(measured.run, intervals, open_hits, ceiling)
    lines = [headline(measured.run), *metric_table(measured.run.metrics), *doubts]
    lines += measured.run.cautions
    lines += [f"prompts: {measured.run.prompts}"] if measured.run.prompts else []
    lines += [plan.sentence] if plan.questions else []
    return Output(data, "\n".join([*lines, *map(_tagged, tags), *lost_lines(lost)]))


def headline(run: Run) -> str:
    """Return a one-line summary that identifies a run."""
    tokens = "" if run.context_tokens is None else f", {run.context_tokens:,.0f} context tokens"
    return f"run {run.id}, {run.source}, {counted(run.questions, 'question')}{tokens}"


def _tagged(tag_figures: TagFigures) -> str:
    figures = ", ".join(f"{name} {value:.4f}" for name, value in tag_figures.means.items())
    return f"tag {tag_figures.tag}: {counted(tag_figures.questions, 'question')}, {figures}"


def _doubts(
    run: Run,
    intervals: Mapping[str, Interval],
    open_hits: UnjudgedShare | None,
    ceiling: float | None,
) -> Iterator[str]:
    """Yield the uncertainty of the main metrics, from sampling and from unjudged passages."""
    for name in ("ndcg@10", "recall@10", "correct_refusal"):
        if name in intervals:
            low, high = intervals[name]
            yield f"{name}: {run.metrics[name]:.4f}, sampling {low:.4f} to {high:.4f} (95%)"
    if open_hits and open_hits.unjudged:
        yield open_hits.sentence("hit")
    if ceiling is not None and "precision@5" in run.metrics:
        yield f"precision@5: {run.metrics['precision@5']:.4f} of at most {ceiling:.4f}"
    if failed := run.environment.get("fallbacks"):
        yield f"the metrics include steps that failed: {failed}"


def metric_table(metrics: Mapping[str, float]) -> list[str]:
    """Measures down, cutoffs across; figures without a cutoff below."""
    by_name = {name.partition("@")[::2]: value for name, value in metrics.items()}
    measures = list(dict.fromkeys(name for name, k in by_name if k))
    cutoffs = list(dict.fromkeys(k for _, k in by_name if k))
    lines = [" " * 15 + "".join(f"{'@' + k:>8}" for k in cutoffs)] if cutoffs else []
    lines += [
        f"{measure:15}" + "".join(f"{by_name[measure, k]:8.4f}" for k in cutoffs)
        for measure in measures
    ]
    lines += [
        f"{name}: {value:.4f} ({metric_title(name)})"
        for (name, k), value in by_name.items()
        if not k
    ]
    return lines


Lost = Sequence[tuple[str, Label]]
"""(question id, label) of labels that no present document holds."""


def lost_data(lost: Lost) -> list[dict[str, Any]]:
    return [
        {
            "question": question,
            "document": label.document_name,
            "page": label.page,
            "quote": label.quote,
        }
        for question, label in lost
    ]


def lost_lines(lost: Lost) -> Iterator[str]:
    """Names labels that no document here has the text of."""
    if lost:
        yield f"{counted(len(lost), 'label')} whose text is in no document:"
    for question, label in lost:
        where = label.document_name + (f", page {label.page}" if label.page else "")
        quote = f" “{shorten(label.quote, 80, placeholder='…')}”" if label.quote else ""
        yield f"  {question}: {where}{quote}"
