#!/usr/bin/env python3
"""Writes the models of this folder: one operator of com.microsoft each, with onnxruntime's outputs.

usage: write_models.py        needs numpy, onnx, onnxruntime (1.32.0 wrote the files here)
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
MICROSOFT = "com.microsoft"
random = np.random.default_rng(7)


def floats(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def bytes_(dtype, *shape):
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, shape).astype(dtype)


def write(name, op, inputs, outputs=1, weights=(), domain=MICROSOFT, **attributes):
    """inputs: arrays, or None where absent; indices in `weights` become initialisers."""
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(inputs)]
    outs = outputs if isinstance(outputs, list) else [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, outs, name=name, domain=domain, **attributes)
    kind = helper.np_dtype_to_tensor_dtype
    given = [(n, v, k) for k, (n, v) in enumerate(zip(names, inputs)) if v is not None]
    graph = helper.make_graph(
        [node], name,
        [helper.make_tensor_value_info(n, kind(v.dtype), v.shape)
         for n, v, k in given if k not in weights],
        [helper.make_empty_tensor_value_info(o) for o in outs if o],
        [numpy_helper.from_array(v, n) for n, v, k in given if k in weights])
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])
    print(name)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    results = session.run(None, {n: v for n, v, k in given if k not in weights})
    del graph.output[:]
    for o, value in zip([o for o in outs if o], results):
        graph.output.append(helper.make_tensor_value_info(o, kind(value.dtype), value.shape))
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])
    data = HERE / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (HERE / name / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    for k, (n, v) in enumerate([(n, v) for n, v, i in given if i not in weights]):
        (data / f"input_{k}.pb").write_bytes(numpy_helper.from_array(v, n).SerializeToString())
    for k, v in enumerate(results):
        proto = numpy_helper.from_array(v, f"o{k}")
        (data / f"output_{k}.pb").write_bytes(proto.SerializeToString())

def scale_of(*shape):
    return random.uniform(0.02, 0.1, shape).astype(np.float32)


def main():
    x = floats(2, 3, 8)
    gamma, beta, bias = floats(8), floats(8), floats(8)
    write("skip_layer_norm", "SkipLayerNormalization", [x, floats(2, 3, 8), gamma, beta, bias],
          ["o0", "", "", "o3"], epsilon=1e-5)
    write("skip_layer_norm_row", "SkipLayerNormalization", [x, floats(3, 8), gamma, beta])
    write("skip_simplified_layer_norm", "SkipSimplifiedLayerNormalization",
          [x, floats(2, 3, 8), gamma], ["o0", "", "", "o3"])
    write("simplified_layer_norm", "SimplifiedLayerNormalization", [x, gamma], domain="")
    ids = random.integers(0, 9, (2, 3)).astype(np.int32)
    write("embed_layer_norm", "EmbedLayerNormalization",
          [ids, np.array([[0, 1, 1], [0, 0, 1]], np.int32), floats(9, 8), floats(5, 8),
           floats(2, 8), gamma, beta, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], 2)
    write("bias_gelu", "BiasGelu", [x, bias])
    write("fast_gelu", "FastGelu", [x, bias])
    write("quick_gelu", "QuickGelu", [x])
    write("gelu", "Gelu", [x])
    write("fused_matmul", "FusedMatMul", [floats(2, 4, 3), floats(2, 5, 4)],
          transA=1, transB=1, alpha=0.5)
    write("fused_matmul_batch", "FusedMatMul", [floats(3, 2, 4), floats(2, 4, 5)], transBatchA=1)
    write("fused_gemm", "FusedGemm", [floats(3, 4), floats(4, 5), floats(5)],
          activation="LeakyRelu", activation_alpha=0.2)

    width = 24
    w, b = floats(8, width, scale=0.4), floats(width)
    write("attention", "Attention", [x, w, b], num_heads=2)
    write("attention_mask", "Attention",
          [x, w, b, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], num_heads=2)
    write("attention_lengths", "Attention", [x, w, b, np.array([2, 3], np.int32)], num_heads=2)
    write("attention_causal", "Attention", [x, w, b], num_heads=2, unidirectional=1)
    write("attention_past", "Attention", [x, w, b, None, floats(2, 2, 2, 4, 4)], 2, num_heads=2,
          unidirectional=1)
    write("multi_head_attention", "MultiHeadAttention",
          [x, floats(2, 5, 8), floats(2, 5, 8)], num_heads=2)
    write("multi_head_attention_bias", "MultiHeadAttention",
          [x, floats(2, 3, 8), floats(2, 3, 8), floats(24), None, floats(1, 2, 3, 3)], num_heads=2)
    positions = np.array([[0, 1, 2], [4, 2, 1]], np.int64)
    write("rotary_embedding", "RotaryEmbedding",
          [x, positions, floats(6, 2), floats(6, 2)], num_heads=2)
    write("rotary_embedding_interleaved", "RotaryEmbedding",
          [floats(2, 2, 3, 4), np.array([1], np.int64), floats(6, 2), floats(6, 2)], interleaved=1)

    zero8, zero_i8 = np.array(120, np.uint8), np.array(-3, np.int8)
    one = lambda: scale_of()
    write("qlinear_add", "QLinearAdd",
          [bytes_(np.uint8, 2, 5), one(), zero8, bytes_(np.uint8, 5), one(),
           np.array(130, np.uint8), one(), zero8])
    write("qlinear_mul", "QLinearMul",
          [bytes_(np.int8, 2, 5), one(), zero_i8, bytes_(np.int8, 2, 5), one(),
           zero_i8, np.array(0.2, np.float32), zero_i8])
    write("qlinear_sigmoid", "QLinearSigmoid",
          [bytes_(np.uint8, 3, 4), one(), zero8, np.array(1 / 256, np.float32),
           np.array(0, np.uint8)],
          weights=(1, 2, 3, 4))
    write("qlinear_leaky_relu", "QLinearLeakyRelu",
          [bytes_(np.uint8, 3, 4), one(), zero8, one(), zero8],
          weights=(1, 2, 3, 4), alpha=0.1)
    write("qlinear_concat", "QLinearConcat",
          [one(), zero8, bytes_(np.uint8, 2, 3), one(), zero8,
           bytes_(np.uint8, 2, 2), one(), zero8], axis=1)
    write("qlinear_global_average_pool", "QLinearGlobalAveragePool",
          [bytes_(np.uint8, 1, 3, 4, 4), one(), zero8, one(), zero8], weights=(1, 2, 3, 4))
    write("qgemm", "QGemm",
          [bytes_(np.uint8, 3, 4), one(), zero8, bytes_(np.int8, 5, 4), scale_of(5),
           np.zeros(5, np.int8), None, np.array(0.5, np.float32), zero8],
          transB=1, weights=(3, 4, 5))
    write("qgemm_float", "QGemm",
          [bytes_(np.uint8, 3, 4), one(), zero8, bytes_(np.int8, 4, 5), one(),
           zero_i8, random.integers(-99, 99, 5).astype(np.int32)], weights=(3, 4, 5))
    write("dynamic_quantize_matmul", "DynamicQuantizeMatMul",
          [floats(3, 4), bytes_(np.uint8, 4, 5), scale_of(5), bytes_(np.uint8, 5), floats(5)],
          weights=(1, 2, 3, 4))
    write("matmul_integer_to_float", "MatMulIntegerToFloat",
          [bytes_(np.uint8, 3, 4), bytes_(np.int8, 4, 5), one(), scale_of(5), zero8, None,
           floats(5)], weights=(1, 3))
    for bits, name in ((4, "matmul_4_bits"), (8, "matmul_8_bits")):
        columns, rows, block = 40, 6, 16
        blocks = -(-columns // block)
        write(name, "MatMulNBits",
              [floats(3, columns), bytes_(np.uint8, rows, blocks, block * bits // 8),
               scale_of(rows, blocks)], weights=(1, 2),
              K=columns, N=rows, bits=bits, block_size=block)
    write("matmul_4_bits_zero_points", "MatMulNBits",
          [floats(3, 40), bytes_(np.uint8, 6, 3, 8), scale_of(6, 3), bytes_(np.uint8, 6, 2)],
          weights=(1, 2, 3), K=40, N=6, bits=4, block_size=16)


if __name__ == "__main__":
    main()
