"""The wording of prompts on the settings page: changed, compared, brought back, reset."""

from streamlit.testing.v1 import AppTest

from pages.components.shell.text import plain
from rag import PROMPTS
from tests.handbook import texts, visit


def _written(app: AppTest, text: str) -> AppTest:
    area = next(each for each in app.text_area if each.label == "Text")
    area.set_value(text)
    app.button(key="prompt_save").click().run()
    assert not app.exception
    return app


def _shown(app: AppTest) -> str:
    return str(next(each.value for each in app.text_area if each.label == "Text"))


def _diffs(app: AppTest) -> list[str]:
    return [each.value for each in app.code if each.language == "diff"]


def test_a_prompt_is_changed_compared_and_reset(base):
    app = visit("settings.py", settings="Prompts")
    assert app.selectbox(key="prompt_name").value == "strict"
    came, version = PROMPTS["strict"].text, base.conversations.prompts.wording().version("strict")
    assert (_shown(app), _diffs(app)) == (came, [])
    assert f"In use: {plain(version)}" in texts(app)

    _written(app, f"{came.rstrip()}\nBe brief.\n")
    assert base.conversations.prompts.wording().text("strict").rstrip().endswith("Be brief.")
    edited = base.conversations.prompts.wording().version("strict")
    assert edited != version
    assert f"In use: {plain(edited)}" in texts(app)
    [diff] = _diffs(app)
    assert "\n+Be brief." in diff

    _written(app, f"{came.rstrip()}\nBe polite.\n")
    assert [
        each.text.rstrip().rpartition("\n")[2]
        for each in base.conversations.prompts.versions("strict")
    ] == [
        "Be polite.",
        "Be brief.",
    ]
    app.button(key="prompt_back_strict_1").click().run()
    assert base.conversations.prompts.wording().version("strict") == edited

    app.button(key="prompt_reset").click().run()
    assert base.conversations.prompts.wording().version("strict") == version
    assert (_shown(app), _diffs(app)) == (came, [])
    assert base.conversations.prompts.versions("strict")[0].text == ""


def test_a_prompt_without_its_fence_is_refused_and_nothing_changes(base):
    app = _written(visit("settings.py", settings="Prompts"), "Answer as you like.")
    assert len(app.error) == 1
    assert base.conversations.prompts.versions("strict") == []
