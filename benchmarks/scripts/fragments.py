# Fragments by NIXL's plug-in GDS_MT, for fragments.sh, if python3 finds nixl and torch.
#
#   fragments.py                        status 0 if both are found
#   fragments.py FILE BYTES RANGES      answers the lines of standard input as fragments.cu does; read and write alone
#
# One transfer holds all fragments. THREADS is the plug-in's thread_count, of the first line.
import importlib
import importlib.util
import os
import random
import statistics
import sys
import time

for module in ("nixl", "nixl_cu13", "nixl_cu12"):
    if importlib.util.find_spec(module):
        api = importlib.import_module(module + "._api")
        break
else:
    sys.exit("no nixl here")
import torch

if len(sys.argv) == 1:
    sys.exit()
path, size = sys.argv[1], int(sys.argv[2])
pool = torch.empty(size, dtype=torch.uint8, device="cuda:0")
file = os.open(path, os.O_RDWR)
agent = None


def transfers(kind, fragment, size):
    places = list(range(pool.numel() // fragment))
    random.Random(1).shuffle(places)
    count = size // fragment
    memory = agent.get_xfer_descs([(pool.data_ptr() + places[i] * fragment, fragment, 0) for i in range(count)], "VRAM")
    return agent.initialize_xfer(kind, memory, agent.get_xfer_descs([(i * fragment, fragment, file) for i in range(count)], "FILE"), "fragments")


for line in sys.stdin:
    kind, opened, fragment, threads, part, passes = line.split()
    if agent is None:
        agent = api.nixl_agent("fragments", api.nixl_agent_config(backends=[]))
        agent.create_backend("GDS_MT", {"thread_count": threads})
        agent.register_memory(agent.get_reg_descs([(pool.data_ptr(), size, 0, "pool")], "VRAM"))
        agent.register_memory([(0, size, file, "file")], "FILE")
    handle = transfers(kind.upper(), int(fragment), int(part))
    seconds, used = [], 0
    for number in range(int(passes) + (opened == "hot")):
        begun, before = time.perf_counter(), time.process_time()
        state = agent.transfer(handle)
        while state not in ("DONE", "ERR"):
            state = agent.check_xfer_state(handle)
        if state == "ERR":
            sys.exit("NIXL failed")
        if number >= (opened == "hot"):
            seconds.append(time.perf_counter() - begun)
            used += time.process_time() - before
    agent.release_xfer_handle(handle)
    print(f"{int(part) / statistics.median(seconds) / 1e9:.3f} {used / len(seconds) / int(part) * 1e12:.0f}", flush=True)
