"""Cross-encoders on this machine, from a folder on disk: question and passage read as one text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rag.errors import InvalidInput, MissingDependency, ProviderMisbehaved
from rag.providers.tokens import encodable
from rag.types import Scores

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

MOST_TOKENS = 512
MODEL_FILES = ("model.onnx", "onnx/model.onnx")
TOKENIZER_FILE = "tokenizer.json"
_REQUIREMENTS = "requirements-rerank.txt"


class OnnxCrossEncoder:
    """A folder with ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``.

    The layout that sentence-transformers and optimum export. Loaded on first use; safe to share
    between threads.
    """

    def __init__(self, path: str, batch: int, threads: int = 2) -> None:
        self._folder = Path(path).expanduser()
        self._batch = batch
        self._threads = threads
        self._lock = Lock()

    def scores(self, question: str, texts: Sequence[str]) -> Scores:
        """The model's one output for each pair, shape (len(texts),).

        Of two outputs the second counts against the first (not relevant, relevant). Raises
        InvalidInput for a folder that is no such model, ProviderMisbehaved for outputs of another
        shape.
        """
        with self._lock:
            backend, session = self._backend, self._session
        encoded = encodable(question)
        parts = []
        for start in range(0, len(texts), self._batch):
            pairs = [(encoded, encodable(text)) for text in texts[start : start + self._batch]]
            parts.append(self._run(session, backend.encode_batch(pairs)))
        return np.concatenate(parts) if parts else np.empty(0)

    def _run(
        self, session: onnxruntime.InferenceSession, pairs: Sequence[tokenizers.Encoding]
    ) -> Scores:
        tensors = {
            "input_ids": [pair.ids for pair in pairs],
            "attention_mask": [pair.attention_mask for pair in pairs],
            "token_type_ids": [pair.type_ids for pair in pairs],
        }
        names = [model_input.name for model_input in session.get_inputs()]
        unknown = [name for name in names if name not in tensors]
        if unknown:
            raise self._unfit(f"it wants {', '.join(unknown)}")
        feed = {name: np.array(tensors[name], np.int64) for name in names}
        try:
            output = session.run(None, feed)[0]
        except Exception as error:  # onnxruntime raises what its C++ side names
            raise self._unfit(str(error).partition("\n")[0][:200]) from error
        return one_score_each(np.asarray(output), len(pairs), str(self._folder))

    @cached_property
    def _backend(self) -> tokenizers.Tokenizer:
        import tokenizers

        try:
            backend = tokenizers.Tokenizer.from_file(str(self._file((TOKENIZER_FILE,))))
        except Exception as error:  # tokenizers raises bare exceptions
            if isinstance(error, InvalidInput):
                raise
            raise self._unfit(f"{TOKENIZER_FILE}: {error}") from error
        backend.enable_truncation(MOST_TOKENS)
        names = ("[PAD]", "<pad>", "<|padding|>")
        numbers = (backend.token_to_id(name) for name in names)
        backend.enable_padding(pad_id=next((number for number in numbers if number is not None), 0))
        return backend

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        path = str(self._file(MODEL_FILES))
        try:
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises what its C++ side names
            raise self._unfit(str(error).partition("\n")[0][:200]) from error

    def _file(self, names: Sequence[str]) -> Path:
        for name in names:
            if (self._folder / name).is_file():
                return self._folder / name
        raise self._unfit(f"there is no {' or '.join(names)}")

    def _unfit(self, why: str) -> InvalidInput:
        return InvalidInput(
            f"The reranker {self._folder} cannot be used: {why}.",
            f"Name a folder with {MODEL_FILES[0]} and {TOKENIZER_FILE} of a cross-encoder.",
        )


class TorchCrossEncoder:
    """A sentence-transformers CrossEncoder from a folder. Loaded on first use, nothing is fetched.

    Safe to share between threads.
    """

    def __init__(self, path: str, batch: int) -> None:
        self._folder = Path(path).expanduser()
        self._batch = batch
        self._lock = Lock()

    def scores(self, question: str, texts: Sequence[str]) -> Scores:
        """Return the model's prediction for each pair, shape (len(texts),).

        Raises MissingDependency, naming the extra, and InvalidInput for an unsuitable folder.
        """
        pairs = [(question, text) for text in texts]
        with self._lock:
            model = self._model
            output = model.predict(pairs, batch_size=self._batch, show_progress_bar=False)
        return one_score_each(np.asarray(output), len(pairs), str(self._folder))

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise MissingDependency(
                "The package sentence-transformers is not installed.",
                f"Run: pip install -r {_REQUIREMENTS}",
            ) from error
        if not self._folder.is_dir():
            raise InvalidInput(
                f"There is no folder {self._folder}.", "Name the folder of a cross-encoder."
            )
        try:
            return CrossEncoder(str(self._folder), local_files_only=True)
        except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
            raise InvalidInput(
                f"The reranker {self._folder} cannot be used: {error}.",
                "Name the folder of a cross-encoder.",
            ) from error


def one_score_each(output: npt.NDArray[Any], count: int, name: str) -> Scores:
    """A model's output as scores, shape (count,). Raises ProviderMisbehaved."""
    rows = output.astype(np.float64).reshape(count, -1) if output.size else np.empty((count, 0))
    if rows.shape[1] not in (1, 2) or not np.isfinite(rows).all():
        raise ProviderMisbehaved(
            f"The reranker {name} gave no score for each passage (shape {output.shape}).",
            "A cross-encoder has one output, or two (not relevant, relevant).",
        )
    return rows[:, 0] if rows.shape[1] == 1 else rows[:, 1] - rows[:, 0]
