"""Guided tours: stops from real states, what guests read, and what suggestions leave out."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest

from rag import (
    AnswerBasis,
    Assessment,
    Document,
    InvalidInput,
    KnowledgeBase,
    NotAllowed,
    NotFound,
    Principal,
    ScopedWorkspace,
    Table,
    TourQuote,
    TourStop,
    TourValue,
    Turn,
    also_quoted,
    answer_stops,
    answered_anew,
    comparison_stop,
    explanation_stop,
    run_stop,
    share_path,
    tour_html,
)
from rag.readers import read_text
from tests.answers import asked
from tests.runs import SET, VECTORS, WORDS, handbook

QUESTION = "May unused leave be carried over?"


def _stop(title: str = "One") -> TourStop:
    quote = TourQuote("a.txt, page 3", "text", "before ", " after")
    value = TourValue("nDCG@10", "0.812", "0.740 to 0.870")
    return TourStop("page", title, "Words.", (quote,), (value,), ("A point.",), "A note.")


def test_the_text_around_a_page_is_cut_between_words(base):
    turn = asked(base, QUESTION)
    first = turn.citations[0]
    length = first.end - first.start
    text = "earlier words " * 200 + "x" * length + " later words" * 200
    cited = replace(first, start=14 * 200, end=14 * 200 + length)
    turn = replace(turn, citations=(cited,))
    (_, page) = answer_stops(turn, {first.document_id: read_text(text, first.document)})
    quote = page.quotes[0]
    assert quote.text == "x" * length
    assert quote.before.split()[:2] in (["…", "earlier"], ["…", "words"])
    assert quote.after.split()[-2:] in (["later", "…"], ["words", "…"])
    (_, page) = answer_stops(
        replace(turn, citations=(replace(first, start=6, end=10),)),
        {first.document_id: read_text("Short text here.", first.document)},
    )
    assert (page.quotes[0].before, page.quotes[0].after) == ("Short ", " here.")


def test_what_is_no_tour_is_refused(base):
    for title in ("", "  ", "x" * 81, "a\0b"):
        with pytest.raises(InvalidInput, match="title of a tour"):
            base.conversations.tours.create(title)
    for act in (base.conversations.tours.get, base.conversations.tours.delete):
        with pytest.raises(NotFound):
            act(1)
    with pytest.raises(NotFound):
        base.conversations.tours.add(1, [_stop()])
    tour_id = base.conversations.tours.create("Board")
    with pytest.raises(InvalidInput, match="at most 50 stops"):
        base.conversations.tours.add(tour_id, [_stop()] * 51)
    with pytest.raises(InvalidInput, match="2,000 characters"):
        base.conversations.tours.add(tour_id, [_stop().with_note("x" * 2001)])
    with pytest.raises(InvalidInput, match="lone surrogate"):
        base.conversations.tours.add(tour_id, [_stop().with_note("\ud800")])
    assert base.conversations.tours.get(tour_id).stops == ()


def test_text_that_is_none_is_mended_in_what_was_found(base):
    tour_id = base.conversations.tours.create("Board")
    stop = TourStop("answer", "A\0 question", "half \ud800")
    (stored,) = base.conversations.tours.add(tour_id, [stop]).stops
    assert (stored.title, stored.text) == ("A question", "half ?")


def test_a_citation_in_a_tour_has_all_that_the_answer_quotes_of_it(home):
    base = handbook(home)[1]
    turn = asked(base, QUESTION, WORDS)
    cited = turn.citations[0]
    assert turn.mode == "quotes"
    first = f"{cited.quote} … ¹ On Fridays by noon."
    answer = f"“{first}” [1]\n\nSick leave: “It is “reported” first.” [1]"
    beside = ["¹ On Fridays by noon.", "It is “reported” first."]
    assert also_quoted(replace(turn, answer=answer), cited) == beside
    stops = answer_stops(replace(turn, answer=answer), {})
    assert stops[0].quotes[0].text == f"{first}\n\nIt is “reported” first."
    assert stops[0].text == ""
    led = f"It is so: … {first}"
    stops = answer_stops(replace(turn, answer=f"“{led}” [1]", note="Read with care."), {})
    assert stops[0].quotes[0].text == led
    assert stops[0].points[-1] == "Read with care."


def test_the_page_of_a_tour_is_that_of_the_quote_with_the_words_of_the_question(home):
    base = handbook(home)[1]
    turn = asked(base, QUESTION, WORDS)
    document = base.documents.document(turn.citations[0].document_id)
    start = document.text.index("Sick leave")
    first = replace(turn.citations[0], quote="defines illness", checked=False, answers=False)
    second = replace(
        turn.citations[0],
        n=2,
        start=start,
        end=len(document.text),
        quote="Sick leave is reported",
        checked=True,
        answers=False,
    )
    turn = replace(turn, citations=(first, second))
    (quote,) = answer_stops(turn, {document.id: document})[1].quotes
    assert (quote.text, quote.before[-5:], quote.after[:5]) == (
        "Sick leave is reported",
        document.text[:start][-5:],
        " befo",
    )
    answering = replace(turn, citations=(second, replace(first, answers=True)))
    answer, page = answer_stops(answering, {document.id: document})
    assert [one.text for one in answer.quotes] == ["defines illness", "Sick leave is reported"]
    assert "More from the documents" in answer.quotes[1].source
    assert page.quotes[0].text != "Sick leave is reported"
    turn = replace(turn, citations=(first,))
    (quote,) = answer_stops(turn, {document.id: document})[1].quotes
    assert quote.text == document.text[first.start : first.end]  # no such words: its passage


def test_an_explanation_names_every_stage(base):
    trace = base.search(QUESTION, VECTORS)
    standing = base.explanations.explain(QUESTION, VECTORS).standing(trace.hits[0].chunk.key)
    document = base.documents.document(standing.chunk.document_id)
    stop = explanation_stop(QUESTION, standing, document)
    assert stop.quotes[0].text == trace.hits[0].chunk.text
    assert len(stop.points) == len(standing.steps)
    assert standing.steps[0].words in stop.points[0]


def test_rows_amid_prose_have_the_names_of_their_columns(base):
    rows = "City\tRent\nBern\t1\nOslo\t2"
    text = f"Intro line.\n{rows}\nAfter it.\nThe end."
    table = Table(text.index("City"), text.index("\nAfter"), ("City", "Rent"))
    document = Document("id", "desks.txt", "", "text/plain", text, tables=(table,))
    turn = asked(base, QUESTION, WORDS)
    cited = replace(turn.citations[0], document_id="id", document="desks.txt", quote="")

    def shown(first: str, last: str) -> TourQuote:
        start, end = text.index(first), text.index(last) + len(last)
        citation = replace(cited, start=start, end=end, text=text[start:end], page=None)
        answer, page = answer_stops(replace(turn, citations=(citation,)), {"id": document})
        assert answer.quotes[0].text == page.quotes[0].text
        return page.quotes[0]

    quote = shown("Intro", "Bern\t1")
    assert quote.text == "Intro line.\nCity: Bern · Rent: 1"
    assert (quote.before, quote.after) == ("", "\nCity: Oslo · Rent: 2")
    quote = shown("Oslo", "After it.")
    assert quote.text == "City: Oslo · Rent: 2\nAfter it."
    assert (quote.before, quote.after) == ("City: Bern · Rent: 1\n", "\nThe end.")


def test_a_run_and_a_comparison_show_their_values(base):
    first, second = (base.runs.evaluate(SET, recipe).run for recipe in (WORDS, VECTORS))
    stop = run_stop(first, "Words", base.runs.intervals(first.id), base.runs.results(first.id))
    value = stop.values[0]
    assert (value.label, value.value) == ("nDCG@10", f"{first.metrics['ndcg@10']:.3f}")
    (compared,) = base.runs.compare([second.id], first.id, "ndcg@10", None)
    names = {first.id: "Words", second.id: "Vectors"}
    stop = comparison_stop(compared, names, WORDS)
    assert stop.text.startswith(compared.figures.headline)  # what it rests on comes last
    assert stop.tested.startswith(compared.figures.evidence)
    assert not any("interval" in point for point in stop.points)
    printed = tour_html(base.conversations.tours.get(_tour_of(base, stop)), base.name)
    assert "interval" in printed[printed.index("<details>") : printed.index("</details>")]
    assert "search by meaning instead of words" in stop.points[0]  # no names of modes
    assert [row.value for row in stop.values[:2]] == [
        f"{run.metrics['ndcg@10']:.3f}" for run in (second, first)
    ]
    apart = replace(compared, figures=replace(compared.figures, obstacle="the labels differ"))
    stop = comparison_stop(apart, names, WORDS)
    assert "the labels differ" in stop.text
    assert [row.label for row in stop.values] == ["nDCG@10, Vectors", "nDCG@10, Words"]


def _tour_of(base: KnowledgeBase, stop: TourStop) -> int:
    return base.conversations.tours.create("Board", [stop])


def test_two_runs_with_one_name_are_told_apart_by_what_differs(base):
    first, second, again = (
        base.runs.evaluate(SET, recipe).run for recipe in (WORDS, VECTORS, WORDS)
    )
    other, same = base.runs.compare([second.id, again.id], first.id, "ndcg@10", None)
    names = dict.fromkeys((first.id, second.id, again.id), "A search")
    stop = comparison_stop(other, names, WORDS)
    assert [row.label for row in stop.values[:2]] == [
        "nDCG@10, A search, search by meaning",
        "nDCG@10, A search, search by words",
    ]
    labels = [row.label for row in comparison_stop(same, names, WORDS).values[:2]]
    assert all(label.endswith("UTC") for label in labels)


def test_a_title_names_only_what_two_runs_differ_by(base):
    changes = ({"search.threshold": "auto"}, {"search.threshold": 0.52})
    changes += ({"search.threshold": 0.52, "search.top_k": 8},)
    runs = [base.runs.evaluate(SET, WORDS.with_fields(fields)).run for fields in changes]
    described = {run.id: base.runs.recipe_name(run.recipe) for run in runs}
    alike = {run.id: f"Same, {number}" for number, run in enumerate(runs)}
    own = {run.id: "Strict" if run == runs[1] else "As shipped" for run in runs}
    table = base.runs.compare([runs[1].id, runs[2].id], runs[0].id, "ndcg@10", None)
    by_run = {compared.run.id: compared for compared in table}
    titles = [
        comparison_stop(by_run[runs[place].id], names, WORDS).title.removeprefix("Is it better? ")
        for place, names in ((1, described), (2, described), (1, alike), (1, own))
    ]
    for place in (1, 2):
        points = comparison_stop(by_run[runs[place].id], own, WORDS).points
        assert any("threshold" in point for point in points)
    assert titles == [
        "threshold 0.52 against automatic",
        "top 8, threshold 0.52 against top 5",
        "1 against 0",
        "Strict against As shipped",
    ]


def test_a_run_with_answers_shows_which_were_wrong(base):
    asked = [question.id for question in base.questions.usable(SET) if question.answerable]
    beside = {
        name: {
            "answer_containment": float(number > 0),
            "correct_decision": float(number != 1),
            "false_doubt": float(number == 1),
        }
        for number, name in enumerate(asked)
    }
    run = base.runs.evaluate(SET, WORDS, beside=beside).run
    stop = run_stop(run, "Words", base.runs.intervals(run.id), base.runs.results(run.id))
    assert [(row.label, row.value) for row in stop.values[-2:]] == [
        ("Expected answer found", "75%"),
        ("Correct decisions", "75%"),
    ]
    assert stop.values[-1].detail.endswith("%")
    left = "1 of 4 answerable questions got a refusal or a doubtful answer."
    assert re.match(rf"(Good|Fair|Weak)\. A right result .*\. {left} Measured on", stop.text)
    assert stop.points[-2] == "Expected answer found: Answers that contain the expected one."
    page = base.runs.report(run.id)
    assert 'Expected answer found</div><div class="figure">75%' in page
    assert left in page


def test_a_printed_tour_escapes_all_text(base):
    tour_id = base.conversations.tours.create("A <b>")
    tour = base.conversations.tours.add(
        tour_id, [TourStop("answer", "<script>", "1 < 2", note="a & b")]
    )
    page = tour_html(tour, "hand<book>")
    assert "<script>" not in page
    assert "<h1>A &lt;b&gt;</h1>" in page
    assert "1. &lt;script&gt;" in page
    assert "1 &lt; 2" in page
    assert "a &amp; b" in page
    assert "hand&lt;book&gt;" in page
    quoted = base.conversations.tours.add(tour_id, [_stop("Page")])
    printed = tour_html(quoted, "b")
    assert '<p class="user indented">before <mark>text</mark> after</p>' in printed
    coded = TourStop("page", "Code", quotes=(TourQuote("a.md", "x", after="\n```\n <b>\n```"),))
    assert "<pre> &lt;b&gt;</pre>" in tour_html(base.conversations.tours.add(tour_id, [coded]), "b")
    valued = TourStop("metrics", "Run", values=(TourValue("nDCG@10", "0.8"),))
    assert "<th>Measure</th><th>Value</th><th>Details</th>" in tour_html(
        base.conversations.tours.add(tour_id, [valued]), "b"
    )


def test_a_page_whose_note_has_no_other_place_stays_and_says_that_it_is_not_cited():
    old = AnswerBasis(QUESTION, datetime(2026, 5, 4, tzinfo=UTC), "documents", "recipe")
    new = replace(old, answered=datetime(2026, 6, 5, tzinfo=UTC), documents="others")
    answer = TourStop("answer", QUESTION, "Until 30 June.", basis=old)
    page = TourStop("page", "Where it says so", note="n" * 1_500, basis=old)
    newer = replace(answer, text="Until 31 March.", basis=new)
    kept = replace(page, points=("The answer of 2026-06-05 does not cite this page.",), basis=new)
    assert answered_anew([page], old, [newer]) == [kept]
    assert answered_anew([page.with_note("")], old, [newer]) == []
    short, long = answer.with_note("a" * 498), answer.with_note("a" * 499)
    joined = newer.with_note("a" * 498 + "\n\n" + "n" * 1_500)
    assert answered_anew([short, page], old, [newer]) == [joined]
    assert answered_anew([long, page], old, [newer]) == [newer.with_note("a" * 499), kept]
    assert answered_anew([newer, kept], new, [newer, replace(page, basis=new, note="")]) == [
        newer,
        replace(page, basis=new),
    ]


def test_a_cited_document_that_was_deleted_after_the_answer_is_a_change(home):
    _, base = handbook(home)
    turn = asked(base, QUESTION, WORDS)
    assert turn.created is not None
    cited = {citation.document_id for citation in turn.citations}
    basis = base.conversations.tours.basis(turn.complete, turn.created, turn.recipe, cited)
    assert (basis.documents, base.conversations.tours.changes(basis)) == (base.documents.hash(), ())
    base.documents.delete_documents([turn.citations[0].document_id])
    late = base.conversations.tours.basis(turn.complete, turn.created, turn.recipe, cited)
    assert (late.documents, base.conversations.tours.changes(late)) == ("", ("documents",))


def test_a_link_to_a_tour_shows_this_tour_alone(home):
    workspace, base = handbook(home)
    board, others = (
        base.conversations.tours.create(title, [_stop()]) for title in ("Board", "Others")
    )
    _, every = base.access.create_link("all")
    secret, row = base.access.create_link("board", tour_id=board)
    assert share_path(secret, row.tour_id) == f"/share/{secret}/tour/{board}"
    link = workspace.access.link(secret)
    assert link == row
    guest = ScopedWorkspace(workspace, Principal(link=link)).base(base.name)
    assert [tour.title for tour in guest.conversations.tours.list_tours()] == ["Board"]
    assert guest.conversations.tours.get(board).title == "Board"
    with pytest.raises(NotFound):
        guest.conversations.tours.get(others)
    assert guest.search("How many days?", guest.recipe()).hits
    for read in (guest.runs.list_all, guest.runs.has_runs, partial(guest.runs.get, "some")):
        with pytest.raises(NotAllowed, match="one tour, no runs"):
            read()
    with pytest.raises(NotAllowed, match="one tour, no runs"):
        guest.runs.intervals("some")
    guest = ScopedWorkspace(workspace, Principal(link=every)).base(base.name)
    assert guest.runs.list_all() == []
    assert {tour.title for tour in guest.conversations.tours.list_tours()} == {"Board", "Others"}
    with pytest.raises(NotFound, match="no tour 99"):
        base.access.create_link("none", tour_id=99)
    with pytest.raises(NotFound, match="no tour"):
        base.access.create_link("large", tour_id=2**70)


def test_a_link_to_a_deleted_tour_shows_no_other_one(home):
    workspace, base = handbook(home)
    first, tour = base.conversations.tours.create("First"), base.conversations.tours.create("Board")
    _, other = base.access.create_link("first", tour_id=first)
    secret, row = base.access.create_link("board", tour_id=tour)
    base.conversations.tours.delete(tour)
    base.conversations.tours.create("Newer")  # SQLite gives it the id of the deleted one
    link = workspace.access.link(secret)
    assert link == replace(row, tour_id=0)
    guest = ScopedWorkspace(workspace, Principal(link=link)).base(base.name)
    assert guest.conversations.tours.list_tours() == []
    with pytest.raises(NotFound):
        guest.conversations.tours.get(tour)
    assert base.access.links()[1] == other


def _doubtful(turn: Turn) -> Turn:
    assessment = Assessment("doubtful", "No passage has RX-77.", 0.1, ("RX-77",))
    return replace(turn, details=replace(turn.details, assessment=assessment))


def test_a_tour_of_a_doubtful_answer_begins_with_its_state(home):
    base = handbook(home)[1]
    turn = _doubtful(asked(base, QUESTION, WORDS))
    document = base.documents.document(turn.citations[0].document_id)
    answer, page = answer_stops(turn, {document.id: document})
    assert answer.points == (
        "Doubtful: perhaps not answered here. No passage has RX-77.",
        "The quotes are the nearest passages, probably not the answer.",
    )
    assert page.title == f"The nearest passage: {document.name}"
    tour = base.conversations.tours.get(base.conversations.tours.create("Leave", [answer, page]))
    printed = tour_html(tour, base.name)
    assert printed.index("Doubtful: perhaps not answered here.") < printed.index(
        turn.citations[0].quote
    )


@pytest.mark.parametrize(("probability", "title"), [(0.5, "The quoted"), (0.9, "Where it says")])
def test_a_page_says_so_only_where_the_answer_is_sure(home, probability, title):
    base = handbook(home)[1]
    turn = asked(base, QUESTION, WORDS)
    assessment = Assessment("answered", "", probability)
    turn = replace(turn, details=replace(turn.details, assessment=assessment))
    document = base.documents.document(turn.citations[0].document_id)
    (_, page) = answer_stops(turn, {document.id: document})
    assert page.title.startswith(title)


def test_a_long_question_is_shortened_for_the_title_of_a_tour():
    assert _stop("One").heading == "One"
    heading = _stop("How long may unused leave be carried over? " * 4).heading
    assert len(heading) <= 60
    assert _stop("假期结转" * 30).heading == f"{('假期结转' * 30)[:58]} …"
    assert heading.endswith(" …")


def test_guests_of_a_tour_learn_what_the_newest_runs_fail(home):
    workspace, base = handbook(home)
    board = base.conversations.tours.create("Board", [TourStop("answer", "Why?", "Because.")])
    secret, _ = base.access.create_link("board", tour_id=board)
    guest = ScopedWorkspace(workspace, Principal(link=workspace.access.link(secret)))
    suggestions = guest.base(base.name).runs
    assert suggestions.newest_runs() == {}
    decisions = {f"q{n}": {"correct_decision": 1.0, "false_doubt": 0.0} for n in range(1, 5)}
    decisions["q2"] = {"correct_decision": 0.0, "false_doubt": 1.0}
    scored = base.runs.evaluate(SET, WORDS, beside=decisions).run
    strict = WORDS.with_fields({"search.threshold": 1.0})
    newest = base.runs.evaluate(SET, strict).run
    assert suggestions.newest_runs() == {SET: (newest.id, scored.id)}
    assert "q2" in suggestions.failing_questions([scored.id])
    assert suggestions.failing_questions([newest.id, scored.id]) >= {"q1", "q2", "q3", "q4"}
    assert suggestions.failing_questions([]) == frozenset()
