"""What every embedder promises, checked on each that runs on this machine."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import Settings, providers
from rag.protocols import Embedder
from rag.providers.e5 import MultilingualE5
from rag.providers.minilm import MiniLM
from rag.providers.runtimes import OnnxRuntime, OpenVino

LOCAL = {
    name: providers.embedder(name, Settings.from_env({}))
    for name in ("minilm", "minilm-fast", "multilingual-e5", "wordllama", "fake")
}
RUNTIMES: dict[str, Embedder] = {
    "minilm, OpenVINO": MiniLM(OpenVino),
    "minilm, onnxruntime": MiniLM(OnnxRuntime),
    "multilingual-e5, OpenVINO": MultilingualE5(lambda graph: OpenVino(graph=graph)),
    "multilingual-e5, onnxruntime": MultilingualE5(lambda graph: OnnxRuntime(graph=graph)),
}
TEXTS = [
    "Up to eight days of unused leave may be carried over.",
    "The centrifuge stops when the lid is opened.",
    "",
    "日本語 한국어 😀 naïve",
    " ".join(["word"] * 600),
    "\ud800 a lone surrogate",
]


@pytest.fixture(params=[*RUNTIMES, "minilm-fast", "wordllama", "fake"])
def model(request: pytest.FixtureRequest) -> Embedder:
    return (LOCAL | RUNTIMES)[request.param]


def test_rows_are_finite_unit_float32(model):
    vectors = model.embed(TEXTS, "document")
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), model.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_texts(model):
    assert model.embed([], "query").shape == (0, model.dimension)


def test_a_text_has_the_same_bits_in_any_company(model):
    """An index that grew document by document must equal one that was built in one go."""
    together = model.embed(TEXTS, "document")
    reversed_order = model.embed(TEXTS[::-1], "document")[::-1]
    alone = np.concatenate([model.embed([text], "document") for text in TEXTS])
    np.testing.assert_array_equal(reversed_order, together)
    np.testing.assert_array_equal(alone, together)


def test_the_runtimes_share_a_space():
    for name in ("minilm", "multilingual-e5"):
        ours, theirs = (
            RUNTIMES[f"{name}, {runtime}"].embed(TEXTS, "document")
            for runtime in ("OpenVINO", "onnxruntime")
        )
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-6)


def test_minilm_fast_is_close_to_minilm_in_a_space_of_its_own():
    """Where a processor has no bfloat16 the vectors are the same; .9997 was seen where it has."""
    fast, exact = (LOCAL[name] for name in ("minilm-fast", "minilm"))
    assert fast.id != exact.id
    vectors = (model.embed(TEXTS, "document") for model in (fast, exact))
    np.testing.assert_array_less(0.999, np.einsum("ij,ij->i", *vectors))


def test_the_number_of_processors_changes_no_bit():
    one, three = (MiniLM(lambda n=n: OpenVino(n)) for n in (1, 3))
    np.testing.assert_array_equal(one.embed(TEXTS, "document"), three.embed(TEXTS, "document"))


def test_many_threads_share_one_model():
    """Sessions of one server: each gets the bits that it would get alone."""
    model = RUNTIMES["minilm, OpenVINO"]
    alone = model.embed(TEXTS, "query")
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: model.embed([text], "query")[0], TEXTS * 4))
    np.testing.assert_array_equal(np.array(found), np.tile(alone, (4, 1)))


def test_empty_text_is_embedded_like_a_space(model):
    empty, space = model.embed(["", " "], "document")
    assert np.isfinite(empty).all()
    if model is not LOCAL["wordllama"]:  # to Llama's tokenizer a space is a word
        np.testing.assert_array_equal(empty, space)


def test_closer_in_meaning_is_closer_in_angle(model):
    question, leave, machine = model.embed(
        ["How many days of unused leave may be carried over?", TEXTS[0], TEXTS[1]], "query"
    )
    assert question @ leave > 0.5
    # Cosines of E5 lie close together.
    squeezed = isinstance(model, MultilingualE5)
    assert question @ leave > question @ machine + (0.05 if squeezed else 0.2)


def test_a_question_meets_its_answer_in_another_language():
    model = LOCAL["multilingual-e5"]
    question = model.embed(["Wie viele Tage Urlaub verfallen nicht?"], "query")
    leave, machine = (question @ model.embed(TEXTS[:2], "document").T)[0].tolist()
    assert leave > machine + 0.05


def test_a_text_beyond_the_window_is_the_mean_of_its_windows():
    """No word is lost, unlike with MiniLM: each window counts by its tokens."""
    model = LOCAL["multilingual-e5"]
    assert isinstance(model, MultilingualE5)
    long, longer = model.embed(["word " * 600, "word " * 600 + "and a different end"], "document")
    assert 0.9 < long @ longer < 0.99999


@given(st.text(max_size=60))
@settings(max_examples=30)
def test_token_offsets_lie_in_order_within_the_text(text):
    for embedder in LOCAL.values():
        spans = embedder.tokenizer.offsets(text)
        assert len(spans) == embedder.tokenizer.count(text)
        flat = spans.reshape(-1).tolist()
        assert flat == sorted(flat)
        assert not flat or (flat[0] >= 0 and flat[-1] <= len(text))


def test_wordpiece_spans_are_the_words():
    text = "Naïve centrifuges, twice"
    spans = LOCAL["minilm"].tokenizer.offsets(text).tolist()
    assert [text[a:b] for a, b in spans] == ["Naïve", "cent", "ri", "fu", "ges", ",", "twice"]


def test_special_tokens_in_a_text_are_plain_words():
    """A document that contains "[SEP]" must not end the input."""
    assert LOCAL["minilm"].tokenizer.count("[SEP]") > 1


def test_words_beyond_the_limit_do_not_count():
    words = " ".join(f"word{i}" for i in range(400))
    a, b = LOCAL["minilm"].embed([words, words + " and something else entirely"], "document")
    np.testing.assert_array_equal(a, b)
