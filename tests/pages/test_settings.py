"""The Settings page: providers, places, deleting a knowledge base; never a key."""

import re
from collections.abc import Callable

import pytest
from streamlit import config
from streamlit.runtime.secrets import Secrets
from streamlit.testing.v1 import AppTest

from pages.components.shell import session
from pages.components.shell.text import shown_database
from rag import VERSION
from tests.servers import Reply, scripted

OpenPage = Callable[..., AppTest]


def _words(app: AppTest) -> str:
    kinds = ("markdown", "caption", "success", "error")
    return "\n".join(one.value for kind in kinds for one in app.get(kind))


def _test(app: AppTest, provider: str) -> None:
    app.selectbox(key="settings_provider").set_value(provider)
    app.button(key="settings_test").click().run()


def test_a_key_is_found_but_never_shown(filled, open_page, monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", "very-secret-figures")
    app = open_page("settings.py")
    states = app.dataframe[0].value.set_index("Name")["State"]
    assert states["mistral"] == "ready, key found"
    assert states["groq"] == "needs GROQ_API_KEY"
    for name, can_be_tested in (("mistral", True), ("groq", False)):
        app.selectbox(key="settings_provider").set_value(name).run()
        assert f"key in {name.upper()}_API_KEY" in _words(app).replace("\\", "")
        keys = [button.key for button in app.button]
        assert ("settings_test" in keys) is can_be_tested
    assert "very-secret" not in _words(app).replace("\\", "") + app.dataframe[0].value.to_json()
    assert f"Touchstone {VERSION}" in [one.value for one in app.caption]


def test_a_key_in_the_secrets_of_streamlit_is_found_and_shown_nowhere(
    filled, open_page, tmp_path, monkeypatch
):
    file = tmp_path / "secrets.toml"
    file.write_text('MISTRAL_API_KEY = "very-secret-figures"\n', "utf-8")
    # Set and taken away, so that what the server puts there ends with the test.
    monkeypatch.setenv("MISTRAL_API_KEY", "")
    monkeypatch.delenv("MISTRAL_API_KEY")
    held = Secrets()
    before = config.get_option("secrets.files")
    config.set_option("secrets.files", [str(file)])
    try:
        assert held.load_if_toml_exists()  # as the server does when it starts
    finally:
        config.set_option("secrets.files", before)
    app = open_page("settings.py")
    table = app.dataframe[0].value
    assert table.set_index("Name")["State"]["mistral"] == "ready, key found"
    assert "very-secret" not in _words(app).replace("\\", "") + table.to_json()
    assert all(
        b"very-secret" not in kept.read_bytes()
        for kept in filled.settings.home.rglob("*")
        if kept.is_file()
    )


@pytest.mark.parametrize(
    ("keys", "provider", "tones", "named"),
    [
        ((), "extractive", ["green", "orange"], ""),
        (("MISTRAL_API_KEY",), "extractive", ["green", "green"], "Mistral"),
        (("GROQ_API_KEY",), "groq", ["green", "green"], "Groq"),
        (("GROQ_API_KEY",), "mistral", ["green", "red"], "Mistral"),
    ],
    ids=["quotes", "another is ready", "a model", "its key is missing"],
)
def test_the_first_line_says_what_works(
    filled, open_page, monkeypatch, keys, provider, tones, named
):
    for key in keys:
        monkeypatch.setenv(key, "secret")
    base = filled.base("notes")
    base.recipes.save(base.recipe().with_fields({"answer.provider": provider}))
    said = next(one.value for one in open_page("settings.py").markdown if "#####" in one.value)
    assert (re.findall(r":(\w+)\[", said), named in said) == (tones, True)


def test_a_provider_is_really_called(filled, open_page):
    app = open_page("settings.py")
    _test(app, "minilm")
    assert app.success[0].value.startswith("minilm embeds into 384 dimensions")
    assert "fake" not in set(app.dataframe[0].value["Name"])  # is for trials


def test_a_provider_that_does_not_answer_says_what_to_do(filled, open_page, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("TOUCHSTONE_FIND_MODELS", "1")
    app = open_page("settings.py")
    assert app.dataframe[0].value.set_index("Name")["State"]["ollama"] == "not running"
    _test(app, "ollama")
    message, _, hint = app.error[0].value.partition("  \n")
    assert message.startswith("**")
    assert hint


@pytest.mark.sqlite("a file is the default")
def test_it_says_where_the_data_is(filled, home, open_page):
    words = _words(open_page("settings.py", settings="Storage")).replace("\\", "")
    assert f"**{home}**" in words
    assert f"**{home / 'touchstone.db'}**" in words


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////data/touchstone.db", "/data/touchstone.db"),
        ("sqlite:///touchstone.db", "touchstone.db"),
        ("postgresql+psycopg://me:secret@db:5433/touch", "postgresql on db:5433/touch"),
        ("postgresql:///touch", "postgresql on this machine/touch"),
    ],
)
def test_a_database_is_shown_without_its_password(url, shown):
    assert shown_database(url) == shown


def test_it_says_how_often_a_search_was_known(filled, open_page):
    app = open_page("settings.py", settings="Storage")
    assert "no lookups yet" in _words(app)
    base = session.workspace().base("notes")
    for _ in range(4):
        base.search("What may a hotel cost?", base.recipe())
    words = _words(app.run())
    assert "**75% of 4 from the cache**" in words
    assert "1 cached value, kept for up to an hour" in words


def test_a_reranking_service_is_listed_and_really_called(filled, open_page, monkeypatch):
    body = '{"results": [{"index": 1, "relevance_score": 1}, {"index": 0, "relevance_score": 0}]}'
    with scripted(Reply(body=body)) as server:
        monkeypatch.setenv("TOUCHSTONE_RERANK_URL", server.url)
        app = open_page("settings.py")
        assert app.dataframe[0].value.set_index("Name")["For"]["service"] == "reranks"
        _test(app, "service")
        assert "Annual leave is 29 days" in app.success[0].value


def test_a_token_is_made_shown_once_and_revoked(filled, open_page):
    app = open_page("settings.py", settings="Access")
    assert "No tokens yet." in _words(app)
    app.text_input(key="tokens_name_0").set_value("reports")
    assert app.checkbox(key="tokens_scope_read_0").value
    assert app.checkbox(key="tokens_scope_ask_0").label.startswith("**ask**: get answers")
    app.checkbox(key="tokens_scope_ask_0").set_value(True)
    made = next(each for each in app.button if each.label == "Make a token")
    made.click().run()
    ((secret, held),) = [
        (each.value, filled.access.tokens.holder(each.value))
        for each in app.code
        if each.value.startswith("touchstone_")
    ]
    assert (held.name, held.scopes) == ("reports", ("read", "ask"))
    app.run()
    assert secret not in str([each.value for each in app.code])
    app.button(key=f"tokens_revoke_{held.id}").click().run()
    assert filled.access.tokens.holder(secret) is not None
    app.button(key="tokens_revoke_really").click().run()
    assert filled.access.tokens.holder(secret) is None
