"""Writes the node tests of the installed onnx package to OUT/node/NAME: model.onnx and
test_data_set_0/*.pb.

usage: python write_node_tests.py OUT        (same layout as libonnx-testdata; needs onnx and numpy)
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_node_model_tests


def to_proto(value, type_proto, name):
    if isinstance(value, onnx.TensorProto):
        return value
    if type_proto.HasField("sequence_type"):
        return numpy_helper.from_list(value, name)
    if type_proto.HasField("optional_type"):
        elem = type_proto.optional_type.elem_type
        if value is None:  # from_optional cannot tell the element kind of an empty optional
            kind = 2 if elem.HasField("sequence_type") else 1
            return onnx.OptionalProto(name=name, elem_type=kind)
        return numpy_helper.from_optional(value, name)
    return numpy_helper.from_array(np.asarray(value), name)


def main(out):
    root = pathlib.Path(out) / "node"
    for case in load_node_model_tests():
        folder = root / case.name
        (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString(deterministic=True))
        graph = case.model.graph
        (inputs, outputs), = case.data_sets
        for kind, values, infos in (
            ("input", inputs, graph.input),
            ("output", outputs, graph.output),
        ):
            assert len(values) == len(infos), case.name
            for i, (value, info) in enumerate(zip(values, infos)):
                proto = to_proto(value, info.type, info.name)
                path = folder / "test_data_set_0" / f"{kind}_{i}.pb"
                path.write_bytes(proto.SerializeToString(deterministic=True))
    print(sum(1 for _ in root.iterdir()), "tests written")


if __name__ == "__main__":
    main(sys.argv[1])
