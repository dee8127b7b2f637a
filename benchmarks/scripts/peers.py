# Python libraries that read files into GPU memory, for compare.sh. None is needed: one that is not installed is left out.
#
#   peers.py list                     names of the libraries that are installed
#   peers.py make FILE DATA BYTES     a safetensors file of tensors of 64 MiB, with the first bytes of another file
#   peers.py index FOLDER             the index of the safetensors files of a folder
#   peers.py NAME FILE                GB/s of the first read of a process, then the median of five more
#
# kvikio reads any file as a whole; the others load all tensors of a safetensors file. Time begins before the file is opened, after
# the library is imported and CUDA is initialised, and ends when all bytes are in place.
import importlib.util
import json
import os
import statistics
import sys
import time

NAMES = ["kvikio", "fastsafetensors", "instanttensor", "safetensors"]


def kvikio(path):
    import kvikio
    buffer = torch.empty(os.path.getsize(path), dtype=torch.uint8, device="cuda")

    def read():
        with kvikio.CuFile(path, "r") as file:
            if file.read(buffer) != buffer.numel():
                raise OSError("kvikio read less than the file")
    return read


def fastsafetensors(path):
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup

    def read():
        loader = SafeTensorsFileLoader(SingleGroup(), torch.device("cuda:0"), nogds=True)
        loader.add_filenames({0: [path]})
        files = loader.copy_files_to_device()
        tensors = [files.get_tensor(name) for name in list(files.key_to_rank_lidx)]
        torch.cuda.synchronize()
        del tensors
        files.close()
        loader.close()
    return read


def instanttensor(path):
    import instanttensor

    def read():
        with instanttensor.safe_open([path], framework="pt", device=0) as file:
            tensors = [tensor for _, tensor in file.tensors()]
            torch.cuda.synchronize()
            del tensors
    return read


def safetensors(path):
    from safetensors.torch import load_file
    return lambda: load_file(path, device="cuda:0")


if sys.argv[1] == "list":
    usable = importlib.util.find_spec("torch") is not None
    print(" ".join(name for name in NAMES if usable and importlib.util.find_spec(name)))
    sys.exit()

if sys.argv[1] == "make":
    size, part = int(sys.argv[4]), 64 << 20
    stem = os.path.basename(sys.argv[2]).removesuffix(".safetensors")
    header = {f"{stem}.{at // part}": {"dtype": "U8", "shape": [min(part, size - at)], "data_offsets": [at, min(size, at + part)]}
              for at in range(0, size, part)}
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 4096)
    with open(sys.argv[2], "wb") as file, open(sys.argv[3], "rb") as data:
        file.write(len(text).to_bytes(8, "little") + text)
        while file.tell() < 8 + len(text) + size:
            file.write(data.read(min(part, 8 + len(text) + size - file.tell())))
    sys.exit()

if sys.argv[1] == "index":
    weights = {}
    for name in sorted(os.listdir(sys.argv[2])):
        if name.endswith(".safetensors"):
            with open(os.path.join(sys.argv[2], name), "rb") as file:
                weights |= dict.fromkeys(json.loads(file.read(int.from_bytes(file.read(8), "little"))), name)
    with open(os.path.join(sys.argv[2], "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {}, "weight_map": weights}, file)
    sys.exit()

import torch

name, path = sys.argv[1:]
torch.zeros(1, device="cuda")
read = globals()[name](path)
seconds = []
for _ in range(6):
    torch.cuda.synchronize()
    start = time.perf_counter()
    read()
    torch.cuda.synchronize()
    seconds.append(time.perf_counter() - start)
size = os.path.getsize(path)
print(f"{size / seconds[0] / 1e9:.3f} {size / statistics.median(seconds[1:]) / 1e9:.3f}")
