"""Cross-encoders from a folder: a tiny model, made here, whose every score is known."""

import math
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from rag import InvalidInput, InvalidRecipe, MissingDependency, Settings, providers
from rag.errors import ProviderMisbehaved
from rag.protocols import Reranker
from tests import cross_encoder

WORTH = {"leave": 2.0, "pump": -1.0}
QUESTION = "leave leave"
TEXTS = ["pump pump", "leave", "nothing here at all", "leave leave pump", ""]
SCORES = [-1.75, 2.25, 0.25, 3.25, 0.25]


def graph(outputs: int = 1, extra: str = "") -> onnx.ModelProto:
    return cross_encoder.graph(WORTH, outputs, extra)


def write(folder: Path, model: onnx.ModelProto, at: str = "model.onnx") -> str:
    return cross_encoder.write(folder, model, WORTH, at)


def reranker(name: str, batch: int = 2) -> Reranker:
    return providers.reranker(name, batch, Settings.from_env({}))


@pytest.mark.parametrize("batch", [1, 2, 16])
@pytest.mark.parametrize("at", ["model.onnx", "onnx/model.onnx"])
def test_scores_are_exact_in_every_batch(tmp_path, batch, at):
    model = reranker(f"onnx:{write(tmp_path, graph(), at)}", batch)
    scores = model.scores(QUESTION, TEXTS)
    assert scores.tolist() == SCORES
    assert [TEXTS[place] for place in np.argsort(-scores, kind="stable")] == [
        "leave leave pump",
        "leave",
        "nothing here at all",
        "",
        "pump pump",
    ]
    assert model.scores(QUESTION, []).tolist() == []


def test_of_two_outputs_the_second_counts_against_the_first(tmp_path):
    model = reranker(f"onnx:{write(tmp_path, graph(outputs=2))}")
    assert model.scores(QUESTION, TEXTS).tolist() == [-2 * score for score in SCORES]


def test_a_very_long_passage_and_question_are_cut(tmp_path):
    model = reranker(f"onnx:{write(tmp_path, graph())}")
    (score,) = model.scores("leave " * 2000, ["leave " * 2000])
    assert 0 < score <= 2.0 * 512


def test_a_folder_that_is_no_model_is_refused_with_words(tmp_path):
    with pytest.raises(InvalidInput, match=r"there is no tokenizer\.json"):
        reranker(f"onnx:{tmp_path}").scores("q", ["a"])
    write(tmp_path, graph())
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(InvalidInput, match="cannot be used"):
        reranker(f"onnx:{tmp_path}").scores("q", ["a"])
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InvalidInput, match=r"tokenizer\.json"):
        reranker(f"onnx:{tmp_path}").scores("q", ["a"])


def test_a_model_that_wants_something_else_is_refused(tmp_path):
    path = write(tmp_path, graph(extra="pixels"))
    with pytest.raises(InvalidInput, match="it wants pixels"):
        reranker(f"onnx:{path}").scores("q", ["a"])


@pytest.mark.parametrize(("worth", "outputs"), [(math.nan, 1), (math.inf, 1), (2.0, 3)])
def test_outputs_that_are_no_scores_are_refused(tmp_path, worth, outputs):
    worths = {"leave": worth}
    folder = cross_encoder.write(tmp_path, cross_encoder.graph(worths, outputs), worths)
    with pytest.raises(ProviderMisbehaved):
        reranker(f"onnx:{folder}").scores(QUESTION, TEXTS)


def test_the_extra_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependency) as caught:
        reranker(f"cross-encoder:{tmp_path}").scores("q", ["a"])
    file = caught.value.hint.rpartition(" ")[2]
    assert "sentence-transformers==" in (Path(__file__).parents[2] / file).read_text()


def test_an_unknown_reranker_is_refused_with_the_names():
    with pytest.raises(InvalidRecipe) as caught:
        reranker("magic")
    assert "onnx:PATH" in caught.value.hint
