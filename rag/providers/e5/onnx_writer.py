"""A writer of the format ONNX, for graphs that are made from weights in another format.

The field numbers are those of ``onnx.proto3``. The package onnx itself would be a large dependency
for a few messages.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
