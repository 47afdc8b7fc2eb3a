"""The environment: defaults, values that make no sense, and that no secret shows."""

import os
import re

import pytest
from streamlit import config

from app import limit_uploads
from rag import InvalidInput, Settings
from rag.settings import PROJECT


@pytest.mark.sqlite("a file is the default")
def test_defaults():
    settings = Settings.from_env({})
    assert settings.home == PROJECT / "workspace"
    assert settings.database_url == f"sqlite:///{PROJECT / 'workspace' / 'touchstone.db'}"
    assert settings.allow_private_urls is False
    assert settings.metrics is False
    assert settings.variable("OPENAI_API_KEY") is None


def test_given_values(tmp_path):
    settings = Settings.from_env(
        {
            "TOUCHSTONE_HOME": f" {tmp_path} ",
            "TOUCHSTONE_DATABASE_URL": "postgresql://me:secret@db/kb",
            "TOUCHSTONE_ALLOW_PRIVATE_URLS": "Yes",
            "TOUCHSTONE_MAX_UPLOAD_MB": "50",
            "TOUCHSTONE_MAX_INDEX_MB": "300",
            "TOUCHSTONE_METRICS": "1",
            "GROQ_API_KEY": "gsk-secret",
            "MISTRAL_API_KEY": "  ",
            "UNRELATED": "x",
        }
    )
    assert settings.home == tmp_path
    assert settings.database_url == "postgresql://me:secret@db/kb"
    assert settings.allow_private_urls is True
    assert settings.max_upload_mb == 50
    assert settings.max_index_mb == 300
    assert settings.metrics is True
    assert dict(settings.provider_variables) == {"GROQ_API_KEY": "gsk-secret"}
    assert "secret" not in repr(settings)


def test_reads_the_process_environment(monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "from the process")
    assert Settings.from_env().variable("DEEPSEEK_API_KEY") == "from the process"
    assert Settings.from_env({}).variable("DEEPSEEK_API_KEY") is None
    assert os.environ["DEEPSEEK_API_KEY"] == "from the process"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOUCHSTONE_HOME", __file__),
        ("TOUCHSTONE_HOME", "~nobody-of-that-name/x"),
        ("TOUCHSTONE_DATABASE_URL", "me:secret@db"),
        ("TOUCHSTONE_ALLOW_PRIVATE_URLS", "maybe"),
        ("TOUCHSTONE_MAX_UPLOAD_MB", "0"),
        ("TOUCHSTONE_MAX_UPLOAD_MB", "-5"),
        ("TOUCHSTONE_MAX_UPLOAD_MB", "many"),
        ("TOUCHSTONE_MAX_INDEX_MB", "0"),
        ("TOUCHSTONE_MAX_UPLOAD_MB", "²"),
        ("TOUCHSTONE_METRICS", "perhaps"),
        ("OPENAI_BASE_URL", "api.example.com"),
        ("AZURE_OPENAI_ENDPOINT", "https://"),
        ("TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL", "ftp://secret@host"),
    ],
)
def test_bad_values_are_named_and_secrets_kept(name, value):
    with pytest.raises(InvalidInput, match=name) as caught:
        Settings.from_env({name: value})
    assert caught.value.hint or "path" in caught.value.message
    assert "secret" not in caught.value.message + caught.value.hint


def test_every_variable_that_a_provider_asks_for_is_read():
    from rag.providers import ROWS

    asked = {
        name
        for row in ROWS
        for name in (
            *(row.key_variable, row.base_url_variable, row.model_variable),
            row.rerank_url_variable,
        )
        if name
    }
    settings = Settings.from_env(dict.fromkeys(asked, "https://x"))
    assert {name for name in asked if settings.variable(name) != "https://x"} == set()


def test_a_misspelt_setting_is_told_once(caplog):
    given = {
        "TOUCHSTONE_KEEP_CONVERSATION_DAYS": "30",
        "TOUCHSTONE_KEEP_AUDIT_DAYS": "30",
        "TOUCHSTONE_PROVIDER_RATE": "openai=5",
        "TOUCHSTONE_VLLM_URL": "http://vllm.example",
        "TOUCHSTONE_TOOL_KEY": "s3cret",
        "TOUCHED": "1",
    }
    for _ in range(2):
        Settings.from_env(given)
    assert [record.getMessage() for record in caplog.records] == [
        "TOUCHSTONE_KEEP_CONVERSATION_DAYS is not a setting. "
        "Did you mean TOUCHSTONE_KEEP_CONVERSATIONS_DAYS?"
    ]


def test_a_setting_of_an_earlier_version_is_told_with_what_does_it_now(caplog):
    Settings.from_env({"TOUCHSTONE_CLUSTER": "tcp://host:8786"})
    (message,) = caplog.messages
    assert message.startswith("TOUCHSTONE_CLUSTER is not a setting. ")
    assert "workers" in message
    assert "PostgreSQL" in message


def test_every_setting_of_the_docs_is_one(caplog):
    page = (PROJECT / "docs" / "deployment.md").read_text("utf-8")
    rows = re.findall(r"^\| (`TOUCHSTONE_[^|]+) \|", page, re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`(TOUCHSTONE_\w+)`", row)}
    assert {"TOUCHSTONE_KEEP_AUDIT_DAYS", "TOUCHSTONE_TEI_URL"} <= names
    given = dict.fromkeys(names, "1") | {
        name: "http://host.example" for name in names if name.endswith("_URL")
    }
    given |= {
        "TOUCHSTONE_ADMINS": "ann@example.org",
        "TOUCHSTONE_SIGN_IN_ALLOWED": "@example.org",
        "TOUCHSTONE_PRICES": __file__,
        "TOUCHSTONE_PROVIDER_RATE": "openai=5",
        "TOUCHSTONE_PROVIDER_AT_ONCE": "openai=5",
    }
    Settings.from_env(given)
    assert caplog.records == []
    Settings.from_env({**given, "TOUCHSTONE_BANANA": "1"})
    assert [message.strip() for message in caplog.messages] == [
        "TOUCHSTONE_BANANA is not a setting."
    ]


def test_streamlit_takes_the_limit_of_the_settings(monkeypatch):
    before = config.get_option("server.maxUploadSize")
    monkeypatch.setenv("TOUCHSTONE_MAX_UPLOAD_MB", "700")
    try:
        limit_uploads()
        assert config.get_option("server.maxUploadSize") == 700
    finally:
        config.set_option("server.maxUploadSize", before)
