# Saves of GPU tensors by safetensors and torch, for save.sh: each line on standard input is KIND FILE, each answer is seconds.
# "check FILE" reads a file of gds4j with safetensors and answers "read" or "different".
import os
import sys
import time

import safetensors
import safetensors.torch
import torch

size = int(sys.argv[1])
rows, columns = 14336, 4096
tensors, at = {}, 0
while size - at >= rows * columns * 2 + columns * 2:
    layer = len(tensors) // 2
    tensors[f"layers.{layer}.weight"] = torch.ones(rows, columns, dtype=torch.bfloat16, device="cuda")
    tensors[f"layers.{layer}.norm"] = torch.ones(columns, dtype=torch.bfloat16, device="cuda")
    at += rows * columns * 2 + columns * 2
tensors["rest"] = torch.ones(size - at, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
for line in sys.stdin:
    kind, path = line.split()[:2]
    if kind == "check":
        # all bytes of the tensors that SaveFigures saves are 7
        with safetensors.safe_open(path, framework="pt") as saved:
            same = saved.metadata()["format"] == "pt" and all(
                bool((saved.get_tensor(name).flatten().view(torch.uint8) == 7).all()) for name in saved.keys())
        print("read" if same else "different", flush=True)
        continue
    if os.path.exists(path):
        os.remove(path)
    start = time.perf_counter()
    if kind == "safetensors":
        safetensors.torch.save_file(tensors, path)
    else:
        torch.save(tensors, path)
    # as gds4j does: without it nothing has reached the disk
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    print(f"{time.perf_counter() - start:.6f}", flush=True)
