"""Search all on the tuning page: chosen on all questions, judged on those left out."""

import contextlib
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from pages.components.shell.text import plain
from rag import CAPTIONS, InvalidInput
from tests.pages.conftest import finished

OpenPage = Callable[..., AppTest]
RRF_K = CAPTIONS["search.rrf_k"]


def _said(app: AppTest, words: str) -> str:
    return next(one.value for one in [*app.caption, *app.markdown] if words in one.value)


def test_search_all_judges_by_all_questions_and_crowns_no_noise(labelled, open_page):
    app = open_page("tuning.py", threshold="0.9", cut="Set")
    app.button(key="tuning_search").click().run()
    assert finished(labelled, "search-all").status == "done"
    app.run()
    found = labelled.base("notes").tuning.searches.result("checks")
    assert found.selection.tried == 1  # with this threshold all 756 find nothing
    (look,) = labelled.base("notes").questions.tried("checks")
    assert (look.kind, look.metric, look.alternatives) == ("search", "ndcg@10", 1)
    assert (found.combinations, found.selection.tried) == (756, 1)
    best = next(table.value for table in app.dataframe if RRF_K in table.value)
    assert not best.duplicated().any()
    assert best.loc[best["Fusion"] == "weighted", RRF_K].isna().all()
    assert {"Mode", "Dense weight", "BM25 k1"} < set(best.columns)
    verdict = _said(app, plain("No reason to change: "))
    values = found.leaders[0].figure, found.selection.comparison.baseline
    assert values[0] < values[1]
    assert all(plain(f"{value:.3f}") in verdict for value in values)
    assert "baseline" not in verdict
    assert "the saved recipe" in verdict
    assert not any(button.key == "tuning_save" for button in app.button)
    assert "Nothing better" in _said(app, "Nothing better")


def test_badge_verdict_and_button_of_search_all_say_one_thing(labelled, open_page):
    base = labelled.base("notes")
    base.recipes.save(base.recipe().with_fields({"search.threshold": 1.0}))
    app = open_page("tuning.py", cut="Off")
    app.button(key="tuning_search").click().run()
    assert finished(labelled, "search-all").status == "done"
    app.run()
    found = base.tuning.searches.result("checks")
    comparison = found.selection.comparison
    assert (comparison.verdict, comparison.doubt) == ("undecided", "")
    assert comparison.difference > 0
    assert _said(app, "Within noise]")
    assert not any("Nothing better" in one.value for one in app.markdown)
    assert not any("Not decided" in one.value for one in app.markdown)


def test_search_all_on_a_split_reports_on_held_out_questions(labelled, open_page):
    app = open_page("tuning.py", threshold="0.9", cut="Set")
    app.toggle(key="tuning_on_split").set_value(True).run()
    app.button(key="tuning_search").click().run()
    assert finished(labelled, "search-all").status == "done"
    app.run()
    split = labelled.base("notes").questions.split("checks")
    assert f" {len(split.held_out)} held-out " in app.get_by_key("half").proto.help
    assert any("**" + plain("No reason to change: ") in one.value for one in app.markdown)
    assert any("on the tuning questions" in each.label for each in app.expander)
    best = next(table.value for table in app.dataframe if RRF_K in table.value)
    assert best.columns[0] == "nDCG@10 on the tuning questions"


def test_search_all_without_labels_to_choose_by_says_what_is_missing(labelled, open_page):
    base = labelled.base("notes")
    unanswerable = {each.id for each in base.questions.usable("checks") if not each.answerable}
    for each in base.questions.usable("checks"):  # a group stays on one side
        if each.answerable:
            base.questions.edit_question("checks", each.id, group="one")
    for share in (0.5, 0.4, 0.3, 0.2):
        with contextlib.suppress(InvalidInput):  # a part got no question at all
            base.questions.set_split("checks", 0, share)
        if unanswerable.issuperset(base.questions.split("checks").tuning):
            break
    app = open_page("tuning.py")
    assert not any(toggle.key == "tuning_on_split" for toggle in app.toggle)
    assert any(button.key == "tuning_search" for button in app.button)
    assert not app.error


def test_what_was_not_searched_is_not_called_found(labelled, open_page):
    base = labelled.base("notes")
    base.recipes.save(base.recipe().with_fields({"search.threshold": 1.0, "search.top_k": 3}))
    app = open_page("tuning.py", cut="Off", k="7")
    app.button(key="tuning_search").click().run()
    assert finished(labelled, "search-all").status == "done"
    app.run()
    assert "top-k" not in _said(app, "The best recipe found: ").partition(" Not searched, ")[0]
    assert _said(app, plain("top-k 3 → 7"))
    best = next(table.value for table in app.dataframe if RRF_K in table.value)
    found = base.tuning.searches.result("checks")
    assert len(best) <= found.selection.tried  # recipes that rank alike are one
