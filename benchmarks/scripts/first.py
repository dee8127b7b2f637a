# The first load of a process by a Python library, for first.sh.
#
#   first.py list            the libraries that are installed
#   first.py NAME FOLDER     GB/s of all tensors of a folder of safetensors into GPU 0; by torchrun, into the GPU of each rank
#
# Time begins after the library is imported and CUDA (with ranks also NCCL) is initialised, and ends when all tensors are in the memory
# of all GPUs. It counts the bytes of each GPU.
import glob
import importlib.util
import os
import sys
import time

MODULES = {"instanttensor": "instanttensor", "fastsafetensors": "fastsafetensors", "runai": "runai_model_streamer",
           "kvikio": "kvikio", "safetensors": "safetensors"}


def instanttensor(files):
    from instanttensor import safe_open
    with safe_open(list(files), framework="pt", device=rank, **({"process_group": dist.group.WORLD} if ranks > 1 else {})) as opened:
        return [tensor for _, tensor in opened.tensors()]


def fastsafetensors(files):
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup
    loader = SafeTensorsFileLoader(dist.group.WORLD if ranks > 1 else SingleGroup(), torch.device("cuda", rank), nogds=True)
    loader.add_filenames({each: files[each::ranks] for each in range(ranks)})
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
import torch.distributed as dist

rank, ranks = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
name, folder = sys.argv[1:]
files = sorted(glob.glob(os.path.join(folder, "*.safetensors")))
importlib.import_module(MODULES[name])
torch.cuda.set_device(rank)
torch.zeros(1, device="cuda")
if ranks > 1:
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))


def meet():
    torch.cuda.synchronize()
    if ranks > 1:
        dist.barrier()
        torch.cuda.synchronize()


meet()
start = time.perf_counter()
loaded = globals()[name](files)
meet()
seconds = time.perf_counter() - start
if rank == 0:
    print(f"{ranks * sum(map(os.path.getsize, files)) / seconds / 1e9:.3f}", flush=True)
if ranks > 1:
    dist.destroy_process_group()
