#!/usr/bin/env python3
"""Writes checkpoints with torch, numpy and safetensors themselves, and compares what gds loads from them.

    formats_gpu.py write FOLDER [--large]   files, and FOLDER/expected.json: SHA-256, type and shape of every tensor,
                                            computed from the live objects; --large adds a storage above 4 GiB
    formats_gpu.py speed FOLDER GIGABYTES   same.safetensors, same.pt, same.npz and the folder same-bin with shards and an
                                            index: the same tensors, for FormatFigures of the benchmarks
    formats_gpu.py list FOLDER              one line for each case: number, path
    formats_gpu.py compare FOLDER           compares FOLDER/results/N.json and N.status; a table; status 5 on a difference

dev/formats.sh runs all three. Needs torch 2.1 or newer, numpy and safetensors.
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
    return {"dtype": TORCH_TYPES[name], "shape": list(tensor.shape), "sha256": digest.hexdigest()}


def of_array(array):
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    dtype = NUMPY_TYPES.get(array.dtype.str[1:])
    return {"dtype": dtype, "shape": list(array.shape), "sha256": hashlib.sha256(array.tobytes(order)).hexdigest()}


def case(path, form, tensors):
    CASES.append({"path": path, "format": form, "tensors": tensors})


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
        "transposed.pt": (base.t(), "not contiguous"), "conjugated.pt": (complex_.conj(), "conjugated"),
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


def rank_main(rank, world, folder, port):
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    state = {name: distribute_tensor(tensor, mesh, [Shard(dim)]) for name, (tensor, dim) in sharded_state().items()}
    state["replicated"] = some((6,), torch.int32)
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(path=folder, save_distributed=True))
    dist.barrier()
    dist.destroy_process_group()


def sharded_state():
    import torch
    return {"rows": (some((5, 4), torch.float32), 0), "columns": (some((3, 7), torch.bfloat16), 1)}


def write_distributed():
    """Two ranks with two slices of each tensor: a chunk of ceil(n / 2), and the rest."""
    import torch
    import torch.distributed.checkpoint as dcp
    if not hasattr(dcp, "HuggingFaceStorageWriter"):
        print("torch has no HuggingFaceStorageWriter: no distributed case", file=sys.stderr)
        return
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(rank_main, args=(2, at("distributed"), port), nprocs=2)
    expected = {"replicated": of_tensor(some((6,), torch.int32))}
    for name, (tensor, dim) in sharded_state().items():
        begin = 0
        for chunk in tensor.chunk(2, dim):
            ranges = [f"0:{size}" for size in tensor.shape]
            ranges[dim] = f"{begin}:{begin + chunk.shape[dim]}"
            begin += chunk.shape[dim]
            expected[f"{name}[{','.join(ranges)}]"] = of_tensor(chunk)
    case("distributed", "safetensors", expected)
    dcp.save({"a": some((4,), torch.float32)}, checkpoint_id=at("refused/classic"))
    refused("refused/classic", "distributed checkpoint")


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


def write():
    write_torch("--large" in sys.argv)
    write_numpy()
    write_safetensors()
    write_distributed()
    write_extents()
    with open(at("expected.json"), "w") as out:
        json.dump(CASES, out, indent=1)


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
    found = {tensor["name"]: tensor for tensor in result["tensorList"]}
    for name in sorted(set(found) ^ set(expected["tensors"])):
        return f"tensor {name} is only in the {'result' if name in found else 'file'}"
    for name, tensor in expected["tensors"].items():
        for field in ("dtype", "shape", "sha256"):
            if tensor[field] is not None and found[name][field] != tensor[field]:
                return f"{field} of {name} is {found[name][field]} instead of {tensor[field]}"
    return None


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
        except (OSError, ValueError) as e:
            found = f"no result: {e}"
        bad += found is not None
        good = "refused by name" if "message" in expected else "all digests equal"
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
                print(number, one["path"])
    elif command == "compare":
        sys.exit(compare())
    else:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
