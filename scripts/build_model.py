"""Build the vendored embedding model, `model.onnx`, from the original weights: the same bytes on every run.

    python scripts/build_model.py model.safetensors model.onnx

Needs numpy, onnx and onnxruntime (the dependency group `model`), but no deep learning framework. In three steps:

1. The graph, node by node, from the weights. Attention, layer normalisation and GELU are ONNX Runtime's fused ones.
   Token types are always 0 for single texts, so their row is folded into the position table. A mean and a sum have the
   same direction, so pooling is mask x hidden, then L2 normalisation. The word table stays int8 in memory: only rows
   that are looked up become floats.
2. Dynamic int8 quantisation by ONNX Runtime: weights per output channel, in reduced range (7 bits: processors without
   VNNI saturate otherwise). SmoothQuant (Xiao et al. 2022, arXiv 2211.10438) moves outliers from activations into
   weights first.
3. The dynamic activation ranges, which would depend on everything in a batch, padding included, become the calibrated
   constants of `calib.npz`.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx  # type: ignore[import-not-found]  # not part of the environment that tests run in
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (  # type: ignore[import-untyped]  # has no type information
    QuantType,
    quantize_dynamic,
)

Array = NDArray[Any]

MODEL_DIR = Path(__file__).parent.parent / "src" / "mcp_knowledge" / "models" / "all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MODEL_SHA256 = "27f505d9e39463d9d37255ef8fe632c91fb2134aee44f8343f9b81c332351f67"

HIDDEN = 384
HEADS = 12
LAYERS = 6
EPSILON = 1e-12  # of every layer normalisation
SMOOTHING = 0.75  # SmoothQuant's alpha: how much of an outlier the weights take over
MICROSOFT = "com.microsoft"  # the domain of the fused operators
PRODUCER = "build_onnx.py"  # part of the file, hence of its hash


def read_safetensors(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file: 8 bytes of header length, a JSON header, then the data."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    types: dict[str, Any] = {"F32": np.float32, "I64": np.int64, "F16": np.float16}
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[start:end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


class Graph:
    """Collects the nodes and constants of the network, layer by layer."""

    def __init__(self, weights: Mapping[str, Array], smoothing: Mapping[str, Array]) -> None:
        self.weights = {name.removeprefix("bert."): value for name, value in weights.items()}
        self.smoothing = smoothing
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: Array) -> None:
        """Store a constant."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        """Append an operator with one output."""
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))

    def embeddings(self) -> None:
        """Words plus positions, normalised: `h0`. Words are int8 with a scale per row."""
        words = self.weights["embeddings.word_embeddings.weight"]
        positions = self.weights["embeddings.position_embeddings.weight"][:512]
        positions = positions + self.weights["embeddings.token_type_embeddings.weight"][0]
        scale = np.maximum(np.abs(words).max(1, keepdims=True), 1e-12) / 127
        self.constant("we_q", np.clip(np.rint(words / scale), -127, 127).astype(np.int8))
        self.constant("we_s", scale.astype(np.float32))
        self.node("Gather", ["we_q", "input_ids"], "g_q")
        self.node("Gather", ["we_s", "input_ids"], "g_s")
        self.node("Cast", ["g_q"], "g_f", to=TensorProto.FLOAT)
        self.node("Mul", ["g_f", "g_s"], "tok")
        self.constant("pe", positions)
        for name, value in (("i0", 0), ("i1", 1), ("i2", 2), ("ax0", 0)):
            self.constant(name, np.array([value], np.int64))
        self.node("Shape", ["input_ids"], "shp")
        self.node("Slice", ["shp", "i1", "i2", "ax0"], "S")
        self.node("Slice", ["pe", "i0", "S", "ax0"], "pos")
        self.node("Add", ["tok", "pos"], "e0")
        self.constant("eg", self.weights["embeddings.LayerNorm.weight"])
        self.constant("eb", self.weights["embeddings.LayerNorm.bias"])
        self.node("LayerNormalization", ["e0", "eg", "eb"], "h0", axis=-1, epsilon=EPSILON)
        self.node("Cast", ["attention_mask"], "m32", to=TensorProto.INT32)
        self.node("Cast", ["attention_mask"], "mf", to=TensorProto.FLOAT)

    def smoothed(self, name: str, activation: str, weight: Array) -> tuple[str, Array]:
        """SmoothQuant: the product stays, the activation's outliers shrink by as much as the weight's rows grow."""
        factor = self.smoothing[name].astype(np.float32)
        self.constant(f"{name}_inv", (1 / factor).astype(np.float32))
        self.node("Mul", [activation, f"{name}_inv"], f"{name}_x")
        return f"{name}_x", weight * factor[:, None]

    def matrix(self, name: str, weight: Array) -> None:
        """Store a weight matrix [inputs, outputs]."""
        self.constant(name, np.ascontiguousarray(weight, np.float32))

    def layer(self, number: int, hidden: str) -> str:
        """One transformer layer over `hidden`; the name of its output."""
        n = f"l{number}_"

        def weight(key: str) -> Array:
            return self.weights[f"encoder.layer.{number}.{key}"]

        names = ("query", "key", "value")
        joined = np.concatenate([weight(f"attention.self.{name}.weight").T for name in names], 1)
        bias = np.concatenate([weight(f"attention.self.{name}.bias") for name in names])
        activation, joined = self.smoothed(f"{n}qkv", hidden, joined)
        self.matrix(f"{n}wqkv", joined)
        self.constant(f"{n}bqkv", bias)
        inputs = [activation, f"{n}wqkv", f"{n}bqkv", "m32"]
        self.node("Attention", inputs, f"{n}ctx", name=f"{n}attn", domain=MICROSOFT, num_heads=HEADS)
        self.matrix(f"{n}wo", weight("attention.output.dense.weight").T)
        self.constant(f"{n}bo", weight("attention.output.dense.bias"))
        self.constant(f"{n}g1", weight("attention.output.LayerNorm.weight"))
        self.constant(f"{n}b1", weight("attention.output.LayerNorm.bias"))
        self.node("MatMul", [f"{n}ctx", f"{n}wo"], f"{n}ao", name=f"{n}mm_o")
        self.skip_normalise(f"{n}sln1", [f"{n}ao", hidden, f"{n}g1", f"{n}b1", f"{n}bo"], f"{n}h1")
        activation, inner = self.smoothed(f"{n}i", f"{n}h1", weight("intermediate.dense.weight").T)
        self.matrix(f"{n}wi", inner)
        self.constant(f"{n}bi", weight("intermediate.dense.bias"))
        self.node("MatMul", [activation, f"{n}wi"], f"{n}i0", name=f"{n}mm_i")
        self.node("BiasGelu", [f"{n}i0", f"{n}bi"], f"{n}i1", name=f"{n}gelu", domain=MICROSOFT)
        activation, outer = self.smoothed(f"{n}p", f"{n}i1", weight("output.dense.weight").T)
        self.matrix(f"{n}wp", outer)
        self.constant(f"{n}bp", weight("output.dense.bias"))
        self.constant(f"{n}g2", weight("output.LayerNorm.weight"))
        self.constant(f"{n}b2", weight("output.LayerNorm.bias"))
        self.node("MatMul", [activation, f"{n}wp"], f"{n}po", name=f"{n}mm_p")
        self.skip_normalise(f"{n}sln2", [f"{n}po", f"{n}h1", f"{n}g2", f"{n}b2", f"{n}bp"], f"{n}h2")
        return f"{n}h2"

    def skip_normalise(self, name: str, inputs: list[str], output: str) -> None:
        """Layer normalisation of a sum."""
        self.node("SkipLayerNormalization", inputs, output, name=name, domain=MICROSOFT, epsilon=EPSILON)

    def pooling(self, hidden: str) -> None:
        """The sum over the tokens of the mask, made a unit vector: `embedding`."""
        self.node("Unsqueeze", ["mf", "i1"], "mf1")
        self.node("MatMul", ["mf1", hidden], "pool1", name="pool_mm")
        self.node("Squeeze", ["pool1", "i1"], "pool")
        self.node("LpNormalization", ["pool"], "embedding", axis=-1, p=2)

    def model(self) -> onnx.ModelProto:
        """The whole network in 32-bit floats, but for the word table."""
        self.embeddings()
        hidden = "h0"
        for number in range(LAYERS):
            hidden = self.layer(number, hidden)
        self.pooling(hidden)
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"])
            for name in ("input_ids", "attention_mask")
        ]
        outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", HIDDEN])]
        graph = helper.make_graph(self.nodes, "all-MiniLM-L6-v2", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name=PRODUCER)


def smoothing_factors(weights: Mapping[str, Array], calibration: Mapping[str, Array]) -> dict[str, Array]:
    """SmoothQuant's factor per input channel of each product: |activation|^alpha / |weight|^(1 - alpha), mean 1."""
    factors = {}
    for number in range(LAYERS):
        prefix = f"encoder.layer.{number}."
        products = {
            "qkv": (
                "h0" if number == 0 else f"l{number - 1}_h2",
                ["attention.self." + n for n in ("query", "key", "value")],
            ),
            "i": (f"l{number}_h1", ["intermediate.dense"]),
            "p": (f"l{number}_i1", ["output.dense"]),
        }
        for kind, (activation, layers) in products.items():
            stacked = np.concatenate([weights[f"{prefix}{layer}.weight"] for layer in layers], 0)
            largest = calibration[f"a:{activation}"]
            factor = np.maximum(largest, 1e-3) ** SMOOTHING
            factor = factor / np.maximum(np.abs(stacked).max(0), 1e-4) ** (1 - SMOOTHING)
            factors[f"l{number}_{kind}"] = np.clip(factor / np.exp(np.log(factor).mean()), 1e-2, 1e2)
    return factors


def fix_ranges(model: onnx.ModelProto, calibration: Mapping[str, Array]) -> None:
    """Replace every range taken from the batch at hand by the calibrated constant (uint8, asymmetric)."""
    nodes = []
    for node in model.graph.node:
        if node.op_type != "DynamicQuantizeLinear":
            nodes.append(node)
            continue
        low, high = (float(value) for value in calibration[f"r:{node.input[0]}"])
        scale = (high - low) / 255
        zero = int(np.clip(round(-low / scale), 0, 255))
        model.graph.initializer.append(numpy_helper.from_array(np.array(scale, np.float32), node.output[1]))
        model.graph.initializer.append(numpy_helper.from_array(np.array(zero, np.uint8), node.output[2]))
        inputs = [node.input[0], node.output[1], node.output[2]]
        nodes.append(helper.make_node("QuantizeLinear", inputs, [node.output[0]]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.producer_name = PRODUCER


def build(weights_path: Path, calibration_path: Path, output: Path) -> None:
    """Read the weights, write the quantised model."""
    weights = read_safetensors(weights_path)
    calibration = dict(np.load(calibration_path))
    with tempfile.TemporaryDirectory() as folder:
        floats, dynamic = Path(folder) / "floats.onnx", Path(folder) / "dynamic.onnx"
        onnx.save(Graph(weights, smoothing_factors(weights, calibration)).model(), floats)
        quantize_dynamic(
            floats,
            dynamic,
            op_types_to_quantize=["MatMul", "Attention"],
            nodes_to_exclude=["pool_mm"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True, "DefaultTensorType": TensorProto.FLOAT},
        )
        model = onnx.load(dynamic)
        fix_ranges(model, calibration)
        onnx.save(model, output)


def sha256(path: Path) -> str:
    """The file's hash in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> int:
    """Build and compare hashes; 1 when the weights or the result are not the vendored ones."""
    parser = argparse.ArgumentParser(
        description="Build model.onnx from model.safetensors; every run gives the same bytes."
    )
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("output", type=Path, help="the file to write")
    parser.add_argument("--calibration", type=Path, default=MODEL_DIR / "calib.npz", help="activation ranges")
    arguments = parser.parse_args()
    if sha256(arguments.weights) != WEIGHTS_SHA256:
        print(f"{arguments.weights} is not the original: expected SHA-256 {WEIGHTS_SHA256}", file=sys.stderr)
        return 1
    build(arguments.weights, arguments.calibration, arguments.output)
    made = sha256(arguments.output)
    print(f"{made}  {arguments.output}")
    if made != MODEL_SHA256:
        print(f"The vendored file is {MODEL_SHA256}: other versions of numpy, onnx or onnxruntime?", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
