#!/bin/bash
# Whole processes that load many small files from the page cache, in turns: gds load as the launcher runs it (with its class archive if
# it was built), one thread of C (many.c), and a loop of Python's safetensors if PYTHON has it. Seconds from exec to exit; medians.
#
#   benchmarks/scripts/many.sh
#
# Needs java 25, gcc, and a built checkout (./gds --version builds one).
#
#   FILES=10000      safetensors files of SIZE bytes of one tensor each, with an index; DIR=/dev/shm their folder
#   SIZE=65536
#   TARGET=host      or gpu:0
#   OPTIONS=         further options of gds load, such as --list or --verify; C and Python load all the same
#   ROUNDS=5         turns
#   GDS=./gds        the command; BEFORE= another one, beside it
#   PYTHON=python3
set -u
. "$(dirname "$0")/common.sh"
work=$(mktemp -d "${DIR:-/dev/shm}/gds4j-many.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
gpu=${TARGET:-host}; [ "$gpu" = host ] && gpu= || gpu=-DGPU
python=${PYTHON:-python3}
gcc $flags $gpu -o "$work/many" "$here/many.c" ${gpu:+$libs -lcuda} || exit
mkdir "$work/model"
"$python" - "$work/model" "${FILES:-10000}" "${SIZE:-65536}" <<'P' || exit
import json, os, struct, sys
folder, files, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data, where = os.urandom(size), {}
for i in range(1, files + 1):
    name = f"model-{i:05d}-of-{files:05d}.safetensors"
    head = json.dumps({f"t{i}": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    head += b" " * (-len(head) % 8)
    with open(f"{folder}/{name}", "wb") as out:
        out.write(struct.pack("<Q", len(head)) + head + data)
    where[f"t{i}"] = name
json.dump({"metadata": {"total_size": files * size}, "weight_map": where}, open(f"{folder}/model.safetensors.index.json", "w"))
P
cat >"$work/loop.py" <<'P'
import json, sys
from safetensors import safe_open
folder, target = sys.argv[1], sys.argv[2]
kind, device = ("np", "cpu") if target == "host" else ("pt", "cuda:0")
names = json.load(open(folder + "/model.safetensors.index.json"))["weight_map"]
tensors = {}
for name in sorted(set(names.values())):
    with safe_open(folder + "/" + name, kind, device=device) as file:
        for key in file.keys():
            tensors[key] = file.get_tensor(key)
assert len(tensors) == len(names)
P
took() { # name, command
    local name=$1 begin=$EPOCHREALTIME
    shift
    "$@" >"$work/out" 2>"$work/errors" || { echo "$name: $(head -1 "$work/errors")" >&2; return; }
    awk -v b="$begin" -v e="$EPOCHREALTIME" 'BEGIN {printf "%.3f\n", e - b}' >>"$work/$name"
}
for ((round = 0; round < ${ROUNDS:-5}; round++)); do
    took gds "${GDS:-$root/gds}" load "$work/model" --target "${TARGET:-host}" --json ${OPTIONS:-}
    number seconds <"$work/out" >>"$work/gds-load"
    [ -z "${BEFORE:-}" ] || { took before "$BEFORE" load "$work/model" --target "${TARGET:-host}" --json ${OPTIONS:-} && number seconds <"$work/out" >>"$work/before-load"; }
    took c "$work/many" "$work/model"
    number seconds <"$work/out" >>"$work/c-load"
    "$python" -c 'import safetensors' 2>/dev/null && took python "$python" "$work/loop.py" "$work/model" "${TARGET:-host}"
done
echo "$(machine ${gpu:+gpu}); ${FILES:-10000} files of ${SIZE:-65536} bytes to ${TARGET:-host}, medians of ${ROUNDS:-5} turns, seconds"
for name in gds gds-load before before-load c c-load python; do
    [ -s "$work/$name" ] && printf '%-12s %s (%s to %s)\n' "$name" "$(median "$work/$name")" "$(sort -g "$work/$name" | head -1)" "$(sort -g "$work/$name" | tail -1)"
done
