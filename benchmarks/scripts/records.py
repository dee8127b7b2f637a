"""Speed of PyTorch's DataLoader over records of a file: prints bytes per second. See records.sh.

usage: records.py FILE RECORD BATCH SHUFFLE WORKERS SECONDS DEVICE record|batch hot|cold

"record" reads records one by one, as most programs do; "batch" reads a batch with one indexing, which is faster for small records.
Of a cold file all time counts: when the first batch comes, workers have read much of the file.
"""
import os
import sys
import time

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

path, record, batch, shuffle, workers, seconds, device, shape, cache = sys.argv[1:]
record, batch, workers, seconds = int(record), int(batch), int(workers), float(seconds)


class Records(Dataset):
    def __init__(self):
        self.rows = None

    def __len__(self):
        return os.path.getsize(path) // record

    def open(self):
        # Each worker maps the file itself.
        if self.rows is None:
            self.rows = numpy.memmap(path, numpy.uint8, "r", shape=(len(self), record))
        return self.rows

    def __getitem__(self, index):
        return torch.from_numpy(numpy.array(self.open()[index]))


class Batches(Records):
    def __getitems__(self, indices):
        return torch.from_numpy(self.open()[numpy.array(indices)])


def whole(rows):
    return rows


pinned = device != "cpu"
# Workers are forked, before this process uses the GPU.
options = {"prefetch_factor": 4, "multiprocessing_context": "fork"} if workers else {}
loader = DataLoader(
    Batches() if shape == "batch" else Records(),
    batch_size=batch,
    shuffle=shuffle == "1",
    num_workers=workers,
    pin_memory=pinned,
    collate_fn=whole if shape == "batch" else None,
    **options,
)
moved = 0
begin = time.perf_counter() if cache == "cold" else None
for rows in loader:
    there = rows.to(device, non_blocking=True)
    if begin is None:
        # The first batch starts the workers, which does not count of a cached file.
        begin = time.perf_counter()
        continue
    moved += there.numel()
    if time.perf_counter() - begin > seconds:
        break
if pinned:
    torch.cuda.synchronize()
print(int(moved / max(time.perf_counter() - begin, 1e-9)))
