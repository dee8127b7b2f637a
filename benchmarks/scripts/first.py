# The first load of a process by a Python library, for first.sh.
#
#   first.py list            the libraries that are installed
#   first.py NAME FOLDER     GB/s of all tensors of a folder of safetensors into GPU 0
#
# Time begins after the library is imported and CUDA is initialised, and ends when all tensors are in the GPU's memory.
import glob
import importlib.util
import os
import sys
import time

MODULES = {"instanttensor": "instanttensor", "fastsafetensors": "fastsafetensors", "runai": "runai_model_streamer",
           "kvikio": "kvikio", "safetensors": "safetensors"}


def instanttensor(files):
    from instanttensor import safe_open
    with safe_open(list(files), framework="pt", device=0) as opened:
        return [tensor for _, tensor in opened.tensors()]


def fastsafetensors(files):
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup
    loader = SafeTensorsFileLoader(SingleGroup(), torch.device("cuda:0"), nogds=True)
    loader.add_filenames({0: files})
    copied = loader.copy_files_to_device()
    return loader, copied, [copied.get_tensor(name) for name in list(copied.key_to_rank_lidx)]


def runai(files):
    from runai_model_streamer import SafetensorsStreamer
    with SafetensorsStreamer() as streamer:
        streamer.stream_files(files)
        return [tensor.to("cuda:0") for _, tensor in streamer.get_tensors()]


def kvikio(files):
    from kvikio import CuFile
    opened = [(CuFile(file, "r"), torch.empty(os.path.getsize(file), dtype=torch.uint8, device="cuda:0")) for file in files]
    for pending in [file.pread(buffer) for file, buffer in opened]:
        pending.get()
    return opened


def safetensors(files):
    from safetensors.torch import load_file
    return [load_file(file, device="cuda:0") for file in files]


if sys.argv[1] == "list":
    if importlib.util.find_spec("torch"):
        print(" ".join(name for name, module in MODULES.items() if importlib.util.find_spec(module)))
    sys.exit()

import torch

name, folder = sys.argv[1:]
files = sorted(glob.glob(os.path.join(folder, "*.safetensors")))
importlib.import_module(MODULES[name])
torch.zeros(1, device="cuda:0")
torch.cuda.synchronize()
start = time.perf_counter()
loaded = globals()[name](files)
torch.cuda.synchronize()
seconds = time.perf_counter() - start
print(f"{sum(map(os.path.getsize, files)) / seconds / 1e9:.3f}")
