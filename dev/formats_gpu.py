#!/usr/bin/env python3
"""Writes checkpoints with the libraries themselves, and compares what gds loads and converts from them.

    formats_gpu.py write FOLDER [--large]   files, and FOLDER/expected.json: SHA-256, type and shape of every tensor,
                                            computed from the live objects; --large adds a storage above 4 GiB
    formats_gpu.py speed FOLDER GIGABYTES   same.safetensors, same.pt, same.npz, the folder same-bin with shards and an
                                            index, and same-distcp, which four ranks save: the same tensors, for
                                            FormatFigures of the benchmarks
    formats_gpu.py list FOLDER              one line for each case: number, path, and convert if safetensors can hold it
    formats_gpu.py compare FOLDER           compares FOLDER/results/N.json and N.status, and reads the folder N.converted with
                                            safetensors; a table; status 5 on a difference
    formats_gpu.py lines FOLDER PATH...     lines of LibraryFilesTest's expected.txt for cases

dev/formats.sh runs write, list and compare. Needs torch 2.1 or newer, numpy and safetensors; uses gguf, mlx,
compressed_tensors and transformers if they are there.
"""
import collections
import hashlib
import json
import os
import sys

FOLDER = sys.argv[2] if len(sys.argv) > 2 else "."
CASES = []

TORCH_TYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL",
    "complex64": "C64", "complex128": "C128", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e8m0fnu": "F8_E8M0"}
SAFETENSORS_TYPES = set(TORCH_TYPES.values()) - {"C128"} | {"F4"}
NUMPY_TYPES = {
    "b1": "BOOL", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "u1": "U8", "u2": "U16", "u4": "U32", "u8": "U64",
    "f2": "F16", "f4": "F32", "f8": "F64", "c8": "C64", "c16": "C128"}


def of_tensor(tensor):
    import torch
    whole = tensor.detach().contiguous().reshape(-1)
    digest = hashlib.sha256()
    if whole.numel():
        # memory, not values: NumPy has no bfloat16 and no 8-bit floats
        digest.update(memoryview(whole.view(torch.uint8).numpy()))
    name = str(tensor.dtype).replace("torch.", "")
    return {"dtype": TORCH_TYPES.get(name), "shape": list(tensor.shape), "sha256": digest.hexdigest()}


def of_array(array):
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    dtype = NUMPY_TYPES.get(array.dtype.str[1:])
    described = {"dtype": dtype, "shape": list(array.shape), "sha256": hashlib.sha256(array.tobytes(order)).hexdigest()}
    if order == "F":
        described["rowMajor"] = hashlib.sha256(array.tobytes("C")).hexdigest()
    return described


def case(path, form, tensors, *warnings):
    """A case that loads; each warning is a part of one of the lines that say what was left out."""
    CASES.append({"path": path, "format": form, "tensors": tensors, "warnings": warnings})


def refused(path, message):
    CASES.append({"path": path, "message": message})


def at(name):
    path = os.path.join(FOLDER, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def some(shape, dtype, start=0):
    import torch
    count = 1
    for size in shape:
        count *= size
    # every byte pattern occurs, so no two types or offsets look alike
    width = torch.empty(0, dtype=dtype).element_size()
    raw = (torch.arange(start, start + count * width, dtype=torch.int64) * 37 % 251).to(torch.uint8)
    if dtype == torch.bool:
        return (raw % 2).to(torch.bool).reshape(shape)
    return raw.view(dtype).reshape(shape)


def flatten(value, prefix=""):
    import torch
    if isinstance(value, torch.Tensor):
        return {prefix: of_tensor(value)}
    found = {}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, child in items:
        found.update(flatten(child, f"{prefix}.{key}" if prefix else str(key)))
    return found


def torch_case(name, value, **options):
    import torch
    torch.save(value, at(name), **options)
    case(name, "torch", flatten(value))


def write_torch(large):
    import torch
    types = [getattr(torch, name) for name in TORCH_TYPES if hasattr(torch, name)]
    torch_case("torch/types.pt", {str(dtype)[6:]: some((5, 3), dtype, 7) for dtype in types})
    weight = some((300, 700), torch.bfloat16)
    base = some((40, 60), torch.float32)
    torch_case("torch/shared.pt", {
        "embed.weight": weight, "lm_head.weight": weight, "rows": base[3:9], "cell": base[2, 5], "whole": base,
        "narrow": base[4, 10:20]})
    torch_case("torch/nested.bin", {
        "model": collections.OrderedDict(w=some((3, 4), torch.float16), b=some((3,), torch.float32)),
        "optimizer": {"state": {0: {"step": torch.tensor(3.0), "exp_avg": some((3, 4), torch.float32, 5)}},
                      "param_groups": [{"lr": 1e-3, "params": [0]}]},
        "list": [some((2,), torch.int64), (some((1,), torch.int8),)], "epoch": 7, "name": "x", "none": None})
    module = torch.nn.Sequential(torch.nn.Linear(33, 17), torch.nn.BatchNorm1d(17), torch.nn.Embedding(11, 5))
    torch_case("torch/state_dict.pth", module.state_dict())
    tagged = some((4,), torch.float32)
    tagged.tag = "x"
    torch_case("torch/parameters.pt", {"p": torch.nn.Parameter(some((2, 2), torch.float32)), "tagged": tagged})
    torch_case("torch/empty.pt", {"none": torch.zeros(0, 4), "scalar": torch.tensor(2.5, dtype=torch.float64),
                                  "one": some((1, 7, 1), torch.float32).transpose(0, 2)})
    torch_case("torch/protocol4.pt", {"a": some((9,), torch.float32)}, pickle_protocol=4)
    torch.save(some((8,), torch.int32), at("torch/lone.pt"))
    case("torch/lone.pt", "torch", {"tensor": of_tensor(some((8,), torch.int32))})
    many = {f"layers.{i}.w": some((1 + i % 7,), torch.float32, i) for i in range(2000)}
    torch_case("torch/many.pt", many)
    save = getattr(getattr(torch.utils, "serialization", None), "config", None)
    if save is not None:
        save.save.storage_alignment = 4096
        save.save.compute_crc32 = False
        torch_case("torch/aligned.pt", {"a": some((999,), torch.float32), "b": some((5000,), torch.bfloat16)})
        save.save.storage_alignment = 64
        save.save.compute_crc32 = True
    shards = [{"a": some((100,), torch.float32), "b": some((3, 3), torch.bfloat16)}, {"c": some((7,), torch.float16)}]
    files, map_of = {}, {}
    for i, shard in enumerate(shards):
        file = f"pytorch_model-{i + 1:05d}-of-00002.bin"
        torch.save(shard, at("torch-sharded/" + file))
        files.update(flatten(shard))
        map_of.update({name: file for name in shard})
    total = sum(t.numel() * t.element_size() for shard in shards for t in shard.values())
    with open(at("torch-sharded/pytorch_model.bin.index.json"), "w") as out:
        json.dump({"metadata": {"total_size": total}, "weight_map": map_of}, out)
    torch.save({"lr": 1}, at("torch-sharded/training_args.bin"))
    case("torch-sharded", "torch", files)
    case("torch-sharded/pytorch_model.bin.index.json", "torch", files)
    if large:
        count = (4 << 30) + 4099
        pattern = (torch.arange(1 << 20) % 251).to(torch.uint8)
        big = pattern.repeat(count // len(pattern) + 1)[:count].clone()
        torch_case("torch/large.pt", {"first": some((3,), torch.float32), "big": big, "tail": big[count - 17:],
                                      "after": some((5,), torch.float32)})

    complex_ = some((3,), torch.float32).to(torch.complex64)
    rejects = {
        "overlapping.pt": (base[0].expand(3, 60), "leave gaps or overlap"), "conjugated.pt": (complex_.conj(), "conjugated"),
        "negated.pt": (complex_.conj().imag, "negated"), "sparse.pt": (torch.eye(3).to_sparse(), "_rebuild_sparse_tensor"),
        "meta.pt": (torch.ones(3, device="meta"), "meta_tensor")}
    for name, (value, message) in rejects.items():
        torch.save({"a": value}, at("refused/" + name))
        refused("refused/" + name, message)
    torch.save({"a": base}, at("refused/legacy.pt"), _use_new_zipfile_serialization=False)
    refused("refused/legacy.pt", "before version 1.6")
    torch.save(module, at("refused/module.pt"))
    refused("refused/module.pt", "save a state_dict()")
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), at("refused/script.pt"))
    refused("refused/script.pt", "TorchScript")
    import zipfile
    with zipfile.ZipFile(at("torch/empty.pt")) as source, \
            zipfile.ZipFile(at("refused/compressed.pt"), "w", zipfile.ZIP_DEFLATED) as target:
        for member in source.namelist():
            target.writestr(member, source.read(member))
    refused("refused/compressed.pt", "is compressed")


def write_numpy():
    import numpy as np
    arrays = {
        "c": np.arange(60, dtype="<f4").reshape(3, 4, 5), "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "scalar": np.float64(3.5).reshape(()), "empty": np.zeros((0, 5), "<i8"), "bools": np.array([True, False]),
        "complex": np.arange(3).astype("<c16"), "half": np.arange(9).astype("<f2"), "text": np.array(["ab", "é"]),
        "times": np.arange(4).astype("<M8[ns]"), "bytes": np.array([b"abc", b"d"]),
        "struct": np.zeros(3, dtype=[("a", "<f4"), ("b", "u1", (2, 2)), ("c", "S3")])}
    for name, array in arrays.items():
        np.save(at(f"numpy/{name}.npy"), array)
        case(f"numpy/{name}.npy", "npy", {name: of_array(array)})
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(at(f"numpy/version{version[0]}.npy"), "wb") as out:
            np.lib.format.write_array(out, arrays["c"], version=version)
        case(f"numpy/version{version[0]}.npy", "npy", {f"version{version[0]}": of_array(arrays["c"])})
    case("numpy", "npy", {
        **{name: of_array(array) for name, array in arrays.items()},
        **{f"version{v}": of_array(arrays["c"]) for v in (1, 2, 3)}})
    np.savez(at("npz/arrays.npz"), **arrays)
    case("npz/arrays.npz", "npz", {name: of_array(array) for name, array in arrays.items()})
    np.save(at("refused/objects.npy"), np.array([None, 1], dtype=object), allow_pickle=True)
    refused("refused/objects.npy", "Python objects")
    np.save(at("refused/big.npy"), np.zeros(3, ">f4"))
    refused("refused/big.npy", "big-endian")
    np.savez_compressed(at("refused/compressed.npz"), a=np.arange(300))
    refused("refused/compressed.npz", "is compressed")


def write_safetensors():
    import torch
    from safetensors.torch import save_file
    known = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
             "float8_e4m3fn", "float8_e5m2"]
    tensors = {name: some((5, 3), getattr(torch, name), 9) for name in known}
    save_file(tensors, at("safetensors/types.safetensors"), metadata={"format": "pt"})
    case("safetensors/types.safetensors", "safetensors", flatten(tensors))


def rank_main(rank, world, port, save, folder, *more):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    save(init_device_mesh("cpu", (world,)), folder, *more)
    dist.barrier()
    dist.destroy_process_group()


def spawn(world, save, folder, *more):
    """Calls a function with a mesh in processes of their own."""
    import socket
    import torch
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(rank_main, args=(world, port, save, folder, *more), nprocs=world)


def save_slices(mesh, folder):
    import torch
    import torch.distributed.checkpoint as dcp
    from torch.distributed.tensor import Shard, distribute_tensor
    state = {name: distribute_tensor(tensor, mesh, [Shard(dim)]) for name, (tensor, dim) in sharded_state().items()}
    state["replicated"] = some((6,), torch.int32)
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(path=folder, save_distributed=True))


def sharded_state():
    import torch
    # the second rank has no row of the last one
    return {"rows": (some((5, 4), torch.float32), 0), "columns": (some((3, 7), torch.bfloat16), 1),
            "single": (some((1, 4), torch.float32), 0)}


def write_distributed():
    """Two ranks with two slices of each tensor: a chunk of ceil(n / 2), and the rest."""
    import torch
    import torch.distributed.checkpoint as dcp
    dcp.save({"a": some((4,), torch.float32)}, checkpoint_id=at("distcp"))
    case("distcp", "distcp", {"a": of_tensor(some((4,), torch.float32))})
    if not hasattr(dcp, "HuggingFaceStorageWriter"):
        print("torch has no HuggingFaceStorageWriter: no distributed case", file=sys.stderr)
        return
    spawn(2, save_slices, at("distributed"))
    expected = {"replicated": of_tensor(some((6,), torch.int32))}
    for name, (tensor, dim) in sharded_state().items():
        begin = 0
        if len(tensor.chunk(2, dim)) == 1:
            expected[name] = of_tensor(tensor)
            continue
        for chunk in tensor.chunk(2, dim):
            ranges = [f"0:{size}" for size in tensor.shape]
            ranges[dim] = f"{begin}:{begin + chunk.shape[dim]}"
            begin += chunk.shape[dim]
            expected[f"{name}[{','.join(ranges)}]"] = of_tensor(chunk)
    case("distributed", "safetensors", expected)


def write_extents():
    data = bytes(i * 37 % 251 for i in range(10000))
    with open(at("extents/data.raw"), "wb") as out:
        out.write(data)
    extents = [("a", 3, 4000, "F32", [10, 100]), ("b", 5000, 34 * 4, "Q8_0_BLOCK", [4]), ("all", 0, 10000, "U8", [10000])]
    with open(at("extents/list.json"), "w") as out:
        json.dump({"schema": "gds4j.extents/1", "extents": [
            {"name": n, "file": "data.raw", "offset": o, "bytes": b, "dtype": d, "shape": s} for n, o, b, d, s in extents]},
            out)
    case("extents/list.json", "extents", {
        n: {"dtype": d, "shape": s, "sha256": hashlib.sha256(data[o:o + b]).hexdigest()} for n, o, b, d, s in extents})


class Node:
    """An object whose parts refer back to it."""

    def __init__(self, parent, tensor=None):
        self.parent, self.tensor, self.children = parent, tensor, []


def write_left_out():
    """Files of torch with tensors, and beside them what a load leaves out."""
    import numpy as np
    import torch
    w = some((4,), torch.float32)
    loaded = {"w": of_tensor(w)}

    def beside(name, value, *warnings, tensors=None):
        torch.save(value, at("beside/" + name))
        case("beside/" + name, "torch", tensors or loaded, *warnings)

    tagged = some((4,), torch.float32)
    tagged.scale = torch.ones(2)
    beside("attribute.pt", {"w": tagged}, "the attributes of a tensor at 'w' (1)")
    beside("key.pt", {"w": w, "lr_of": {torch.nn.Parameter(torch.ones(3)): 0.1}}, "a key of a dict at 'lr_of' (1)")
    ordered = collections.OrderedDict(w=w)
    ordered.ema = torch.ones(4)
    beside("ordered.pt", ordered, "the attributes of an object at the top (1)")
    beside("arrays.pt", {"w": w, "mean": np.arange(5.0), "lr": np.float64(0.5)}, "a NumPy array at 'mean' (1)")
    beside("classkey.pt", {"w": w, "callbacks": {torch.nn.ReLU: {"best": torch.tensor(0.5)}}, 0.5: torch.ones(1)},
           "the class 'torch.nn.modules.activation.ReLU' at 'callbacks' (1)", "a key that is a float at the top (1)")
    root = Node(None)
    root.children = [Node(root), Node(root, w), Node(root, torch.ones(2))]
    beside("graph.pt", {"w": w, "tree": root}, "1 tensor is not loaded", "Node' at 'tree' (1)")
    optimizer = torch.optim.SGD([torch.nn.Parameter(some((3,), torch.float32))], lr=0.1, momentum=0.9)
    beside("scheduler.pt", {"w": w, "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 3)}, "StepLR' at 'scheduler' (1)")
    itself = ([],)
    itself[0].append(itself)
    beside("itself.pt", {"w": w, "tuple": itself, "file": "a\udcff"}, "contains itself")
    beside("names.pt", {"a": {"b": w}, "a.b": some((2,), torch.int16), "w": w}, "two tensors would have the name 'a.b'",
           tensors={"w": of_tensor(w), "a.b": of_tensor(w), "a.b#2": of_tensor(some((2,), torch.int16))})
    key = "ModelCheckpoint{'monitor': 'val/loss', 'mode': 'min', 'every_n_train_steps': 0, 'train_time_interval': None}"
    beside("many.pt", {"w": w, "callbacks": {key: {"seen": {i: True for i in range(70000)}}}}, "the metadata is too long")
    beside("large.pt", {"w": w, "emb": np.zeros(26_000_000, "f4")}, "a NumPy array at 'emb' (1)")
    if hasattr(torch, "float4_e2m1fn_x2"):
        raw = some((2, 8), torch.uint8)
        torch.save({"f4": raw.view(torch.float4_e2m1fn_x2)}, at("beside/f4.pt"))
        case("beside/f4.pt", "torch", {"f4": {**of_tensor(raw), "dtype": "F4", "shape": [2, 16]}})
    for protocol in (2, 4):
        name = f"refused/legacy{protocol}.pt"
        torch.save({"w": w}, at(name), _use_new_zipfile_serialization=False, pickle_protocol=protocol)
        refused(name, "before version 1.6")
    for name, content, message in (("empty", b"", "is empty"), ("garbage", b"x" * 99, "no zip file")):
        torch.save({"w": w}, at(f"refused/{name}/pytorch_model-00001-of-00002.bin"))
        with open(at(f"refused/{name}/pytorch_model-00002-of-00002.bin"), "wb") as out:
            out.write(content)
        refused("refused/" + name, message)
    torch.save({"w": w}, at("refused/part/pytorch_model-00001-of-00002.bin"))
    refused("refused/part", "part 2 of the 2 files")
    case("refused/part/pytorch_model-00001-of-00002.bin", "torch", loaded, "only part 1 of 2")


def write_archives():
    import zipfile
    import numpy as np
    array = np.arange(6, dtype="<f4")
    np.savez(at("npz/names.npz"), **{"/model/w": array, "../x": array})
    with zipfile.ZipFile(at("npz/names.npz"), "a") as archive:
        archive.writestr("README.txt", "hello")
        archive.mkdir("sub")
    case("npz/names.npz", "npz", {"/model/w": of_array(array), "../x": of_array(array)}, "no arrays: 'README.txt'")


def write_gguf():
    import gguf
    import numpy as np
    writer = gguf.GGUFWriter(at("gguf/model.gguf"), "llama")
    writer.add_array("merges", [["a", "b"], ["c"]])
    writer.add_uint32("llama.block_count", 1)
    arrays = {"blk.0." + "text_model." * 8 + "weight": np.arange(64, dtype="<f4").reshape(2, 32),
              "half": np.arange(8, dtype="<f2")}
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    quantised = gguf.quants.quantize(np.linspace(-1, 1, 128, dtype="<f4").reshape(2, 64), gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("q", quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    case("gguf/model.gguf", "gguf", {
        **{name: of_array(array) for name, array in arrays.items()},
        "q": {"dtype": "Q8_0", "shape": [2, 64], "sha256": hashlib.sha256(quantised.tobytes()).hexdigest()}})


def write_mlx():
    import mlx.core as mx
    import numpy as np
    weight = mx.arange(2 * 64, dtype=mx.float32).reshape(2, 64)
    packed, scales, biases = mx.quantize(weight, group_size=32, bits=4)
    arrays = {"weight": packed, "scales": scales, "biases": biases, "norm": mx.ones((64,), dtype=mx.bfloat16)}
    mx.save_safetensors(at("mlx/model.safetensors"), arrays)
    described = {name: of_array(np.array(array)) for name, array in arrays.items() if name != "norm"}
    described["norm"] = {"dtype": "BF16", "shape": [64],
                         "sha256": hashlib.sha256(np.array(arrays["norm"].view(mx.uint16)).tobytes()).hexdigest()}
    case("mlx/model.safetensors", "safetensors", described)
    plain = {"weight": packed, "scales": scales}
    mx.savez(at("mlx/arrays.npz"), **plain)
    case("mlx/arrays.npz", "npz", {name: of_array(np.array(array)) for name, array in plain.items()})


def write_compressed_tensors():
    import torch
    from compressed_tensors.compressors import pack_to_int32
    from safetensors.torch import save_file
    ints = (torch.arange(4 * 32) % 16 - 8).to(torch.int8).reshape(4, 32)
    tensors = {"q_proj.weight_packed": pack_to_int32(ints, 4), "q_proj.weight_scale": some((4, 1), torch.bfloat16),
               "q_proj.weight_shape": torch.tensor([4, 32])}
    save_file(tensors, at("compressed/model.safetensors"))
    case("compressed/model.safetensors", "safetensors", flatten(tensors))


def write_transformers():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2)).to(torch.bfloat16)
    model.save_pretrained(at("transformers"), max_shard_size="3KB")
    case("transformers", "safetensors", flatten(model.state_dict()))


def optional(write, *modules):
    import importlib.util
    absent = [module for module in modules if importlib.util.find_spec(module) is None]
    if absent:
        print(f"no {', '.join(absent)}: {write.__name__} is left out", file=sys.stderr)
    else:
        write()


def write():
    write_torch("--large" in sys.argv)
    write_numpy()
    write_safetensors()
    write_distributed()
    write_extents()
    write_left_out()
    write_archives()
    optional(write_gguf, "gguf")
    optional(write_mlx, "mlx")
    optional(write_compressed_tensors, "compressed_tensors", "loguru")
    optional(write_transformers, "transformers")
    with open(at("expected.json"), "w") as out:
        json.dump(CASES, out, indent=1)


def save_quarters(mesh, folder, count):
    import torch
    import torch.distributed.checkpoint as dcp
    from torch.distributed.tensor import DTensor, Shard
    pattern = some((1 << 20,), torch.float16)
    part = 4096 // mesh.size()
    norm = pattern[part * mesh.get_rank():][:part]
    state = {}
    for i in range(count):
        weight = pattern.repeat(16 // mesh.size()).reshape(part, 4096)
        state[f"layers.{i:04}.w"] = DTensor.from_local(weight, mesh, [Shard(0)], run_check=False)
        state[f"layers.{i:04}.norm"] = DTensor.from_local(norm.clone(), mesh, [Shard(0)], run_check=False)
    dcp.save(state, checkpoint_id=folder)


def speed():
    """Tensors as in a model: large matrices, and vectors between them."""
    import numpy as np
    import torch
    from safetensors.torch import save_file
    tensors, left, i = {}, int(float(sys.argv[3]) * 1e9), 0
    pattern = some((1 << 20,), torch.float16)
    while left > 0:
        tensors[f"layers.{i:04}.w"] = pattern.repeat(16).reshape(4096, 4096).clone()
        tensors[f"layers.{i:04}.norm"] = pattern[:4096].clone()
        left -= 2 * (4096 * 4096 + 4096)
        i += 1
    save_file(tensors, at("same.safetensors"))
    torch.save(tensors, at("same.pt"))
    np.savez(at("same.npz"), **{name: tensor.numpy() for name, tensor in tensors.items()})
    spawn(4, save_quarters, at("same-distcp"), len(tensors) // 2)
    names = list(tensors)
    halves = [names[:len(names) // 2], names[len(names) // 2:]]
    files = [f"pytorch_model-{n + 1:05d}-of-00002.bin" for n in range(2)]
    for half, file in zip(halves, files):
        torch.save({name: tensors[name] for name in half}, at("same-bin/" + file))
    with open(at("same-bin/pytorch_model.bin.index.json"), "w") as out:
        json.dump({"weight_map": {name: file for half, file in zip(halves, files) for name in half}}, out)


def difference(expected, status, result):
    """Says how a result differs; None if it does not."""
    if "message" in expected:
        message = result.get("error", {}).get("message", "")
        if status != 3:
            return f"status {status} instead of 3"
        return None if expected["message"] in message else f"the message lacks '{expected['message']}': {message}"
    if status != 0:
        return f"status {status}: {result.get('error', {}).get('message', 'no output')}"
    if result["format"] != expected["format"]:
        return f"format {result['format']}"
    for warning in expected["warnings"]:
        if not any(warning in line for line in result["warnings"]):
            return f"no warning has '{warning}': {result['warnings']}"
    return differing({tensor["name"]: tensor for tensor in result["tensorList"]}, expected)


def differing(found, expected, order="sha256"):
    for name in sorted(set(found) ^ set(expected["tensors"])):
        return f"tensor {name} is only in the {'result' if name in found else 'file'}"
    for name, tensor in expected["tensors"].items():
        for field in ("dtype", "shape", "sha256"):
            wanted = tensor.get(order, tensor[field]) if field == "sha256" else tensor[field]
            if wanted is not None and found[name][field] != wanted:
                return f"{field} of {name} is {found[name][field]} instead of {wanted}"
    return None


def convertible(expected):
    return all(tensor["dtype"] in SAFETENSORS_TYPES for tensor in expected.get("tensors", {"": {"dtype": None}}).values())


def converted(number, expected):
    """Says how what gds convert wrote differs, as safetensors reads it; None if it does not."""
    import glob
    from safetensors import safe_open
    found = {}
    for path in glob.glob(at(f"results/{number}.converted/*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():
                found[name] = {**of_tensor(file.get_tensor(name)), "shape": file.get_slice(name).get_shape(),
                               "dtype": file.get_slice(name).get_dtype()}
            # tensors of the same bytes are written once; the metadata has their other names
            for key, name in (file.metadata() or {}).items():
                if key.startswith("gds4j.alias.") and name in found:
                    found[key.removeprefix("gds4j.alias.")] = found[name]
    different = differing(found, expected, "rowMajor")
    return different and f"converted: {different}"


def lines(paths):
    with open(at("expected.json")) as file:
        for one in json.load(file):
            if one["path"] not in paths:
                continue
            name = one["path"]
            if "message" in one:
                print(f"{name}; !; {one['message']}")
                continue
            for tensor, described in one["tensors"].items():
                print(f"{name}; {tensor}; {described['dtype'] or '?'}; {described['shape']}; {described['sha256']}")
            for warning in one["warnings"]:
                print(f"{name}; ?; {warning}")


def compare():
    bad = 0
    print(f"| {'case':45} | {'tensors':>7} | result |\n|{'-' * 47}|--------:|---|")
    with open(at("expected.json")) as file:
        cases = json.load(file)
    for i, expected in enumerate(cases):
        try:
            with open(at(f"results/{i}.status")) as file:
                status = int(file.read())
            with open(at(f"results/{i}.json")) as file:
                result = json.loads(file.read() or "{}")
            found = difference(expected, status, result)
            if found is None and convertible(expected):
                found = converted(i, expected)
        except (OSError, ValueError) as e:
            found = f"no result: {e}"
        bad += found is not None
        good = "refused by name" if "message" in expected else "all digests equal" + (
            ", also when converted" if convertible(expected) else "")
        print(f"| {expected['path']:45} | {len(expected.get('tensors', ())):7} | {found or good} |")
    print(f"{len(cases)} cases, {bad} differ")
    return 5 if bad else 0


if __name__ == "__main__":
    command = sys.argv[1] if len(sys.argv) > 2 else ""
    if command == "write":
        write()
    elif command == "speed":
        speed()
    elif command == "list":
        with open(at("expected.json")) as cases_file:
            for number, one in enumerate(json.load(cases_file)):
                print(number, one["path"], "convert" if convertible(one) else "")
    elif command == "compare":
        sys.exit(compare())
    elif command == "lines":
        lines(sys.argv[3:])
    else:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
