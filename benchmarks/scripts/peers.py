# Python libraries that load checkpoints into GPU memory, for first.sh. None is needed: one that is not installed is left out.
#
#   peers.py list                     names of the libraries that are installed
#   peers.py version NAME             the version of one
#   peers.py make FILE DATA BYTES     a safetensors file of tensors of 64 MiB, with the first bytes of another file
#   peers.py index FOLDER             the index of the safetensors files of a folder
#   peers.py NAME FOLDER [LATER]      GB/s of the first load of all tensors of a folder of safetensors into GPU 0; by torchrun, into the GPU
#                                     of each rank; with LATER more loads also their median, and their processor milliseconds per GB
#
# Time begins after the library is imported and CUDA (with ranks also NCCL) is initialised, and ends when all tensors are in the memory
# of all GPUs. It counts the bytes of each GPU. kvikio reads files as a whole.
import glob
import importlib
import importlib.metadata
import importlib.util
import json
import os
import statistics
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
    return Copied(loader, copied, [copied.get_tensor(name) for name in list(copied.key_to_rank_lidx)])


class Copied:
    """Tensors of fastsafetensors, which keeps their memory until it is closed."""

    def __init__(self, loader, copied, tensors):
        self.loader, self.copied, self.tensors = loader, copied, tensors

    def close(self):
        del self.tensors
        self.copied.close()
        self.loader.close()


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

if sys.argv[1] == "version":
    known = importlib.metadata.packages_distributions().get(MODULES[sys.argv[2]], [])
    print(importlib.metadata.version(known[0]) if known else "")
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
import torch.distributed as dist

rank, ranks = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
name, folder = sys.argv[1:3]
later = int(sys.argv[3]) if len(sys.argv) > 3 else 0
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


seconds, used = [], 0
for number in range(1 + later):
    meet()
    start, before = time.perf_counter(), time.process_time()
    loaded = globals()[name](files)
    meet()
    seconds.append(time.perf_counter() - start)
    if number > 0:
        used += time.process_time() - before
    if isinstance(loaded, Copied):
        loaded.close()
    del loaded
if ranks > 1:
    total = torch.tensor([used], device="cuda")
    dist.all_reduce(total)
    used = total.item()
if rank == 0:
    size = ranks * sum(map(os.path.getsize, files)) / 1e9
    print(f"{size / seconds[0]:.3f}", *([f"{size / statistics.median(seconds[1:]):.3f}", f"{used / later / size * 1000:.0f}"] if later else []),
          flush=True)
if ranks > 1:
    dist.destroy_process_group()
