"""Decodes blocks by gguf-py's NumPy code, and floats by torch. See decode.sh.

usage: decode.py write FILE.gguf ELEMENTS | decode.py time FILE.gguf TURNS
"""
import sys
import time

import gguf
import numpy

TYPES = "F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL MXFP4".split()
command, path, number = sys.argv[1:]
if command == "write":
    random = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        # bytes below 64 make scales without infinities and NaN
        rows = random.integers(0, 64, (64, int(number) // 64 // elements * size), dtype=numpy.uint8)
        writer.add_tensor(name, rows, raw_shape=rows.shape, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
else:
    for tensor in gguf.GGUFReader(path).tensors:
        raw = numpy.array(tensor.data)
        best = float("inf")
        for _ in range(int(number)):
            begin = time.perf_counter()
            # a view of F32 costs nothing; a copy is what a program gets elsewhere
            floats = gguf.dequantize(raw, tensor.tensor_type)
            floats = floats.copy() if floats.base is raw or floats is raw else floats
            best = min(best, time.perf_counter() - begin)
        print(tensor.name, round(tensor.n_elements / best / 1e6))
