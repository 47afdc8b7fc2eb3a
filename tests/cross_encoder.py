"""A tiny cross-encoder, made on the spot: it adds up what the words of a passage are worth."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SPECIAL: Mapping[str, float] = {"[UNK]": 0.0, "[CLS]": 50.0, "[SEP]": 0.25, "[PAD]": 900.0}
"""Words of the question count nothing, and padding would count most."""


def graph(worth: Mapping[str, float], outputs: int = 1, extra: str = "") -> onnx.ModelProto:
    """Return a model that scores a passage by the worth of its words."""
    values = {**SPECIAL, **worth}
    names = ["input_ids", "attention_mask", "token_type_ids", *([extra] if extra else [])]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "t"]) for n in names]
    table = np.array([[w, -w, w][:outputs] for w in values.values()], np.float32).ravel()
    shape = [len(values), outputs]
    nodes = [
        helper.make_node("Gather", ["worth", "input_ids"], ["worths"]),
        helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["counts"]),
        helper.make_node("Cast", ["counts"], ["flat"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["flat", "last"], ["mask"]),
        helper.make_node("Mul", ["worths", "mask"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "tokens"], ["logits"], keepdims=0),
    ]
    tensors = [
        helper.make_tensor("worth", TensorProto.FLOAT, shape, table),
        helper.make_tensor("last", TensorProto.INT64, [1], [2]),
        helper.make_tensor("tokens", TensorProto.INT64, [1], [1]),
    ]
    result = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", outputs])
    made = helper.make_graph(nodes, "worth", inputs, [result], tensors)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(made, opset_imports=opset, ir_version=9)


def write(
    folder: Path, model: onnx.ModelProto, worth: Mapping[str, float], at: str = "model.onnx"
) -> str:
    """Write a model with its tokenizer; return the folder."""
    vocabulary = {word: number for number, word in enumerate({**SPECIAL, **worth})}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    (folder / at).parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    onnx.save(model, str(folder / at))
    return str(folder)
