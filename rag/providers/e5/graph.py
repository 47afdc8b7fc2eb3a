"""The transformer of multilingual-e5-small as a graph, in float32.

Its input are the sums of word and position vectors, so that the word vectors need not be expanded.
The program of the package rounds what flows between the layers to 8 bits; the graph does not. A
text's vectors have a cosine of more than .9998 to each other.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rag.providers.e5.onnx_writer import OnnxWriter
from rag.providers.e5.weights import Weights
from rag.providers.runtimes import Graph
from rag.providers.runtimes.runtime import TokenIds
from rag.types import Vectors

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
