#!/bin/bash
# The first load of a checkpoint in a fresh process: gds load beside FileChannel and the Python libraries that are installed
# (InstantTensor, fastsafetensors, Run:ai model streamer, KvikIO, safetensors). Prints medians with the lowest and the highest. Time
# begins where the driver is open, and its contexts are made.
#
#   benchmarks/scripts/first.sh
#
# Needs java 25, python3, a GPU, and gds4j from GPU_CP or mvn -DskipTests package. FileChannel is that of gds demo: one thread, a direct
# buffer of 16 MiB, a copy to the GPU, in its first and only round.
#
#   DIR=/dev/shm     folder of the checkpoint, SIZE=16 GiB in four shards
#   ROUNDS=10        fresh processes of each
#   GPUS=1           all tensors to each of so many GPUs; GB/s of all together. With more than one: gds, InstantTensor, fastsafetensors
#   ONLY='gds|safe'  only these, an expression
#   KEEP=FOLDER      keeps the figures there and adds to those of earlier runs: ten rounds may be several calls
set -u
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/dev/shm} SIZE=${SIZE:-16} ROUNDS=${ROUNDS:-10} ONLY=${ONLY:-.} GPUS=${GPUS:-1}
work=$(mktemp -d) model=$DIR/gds4j-first
figures=${KEEP:-$work/figures}
mkdir -p "$figures"
trap 'rm -rf "$work"; [ -n "${KEEP:-}" ] || rm -rf "$model"' EXIT
trap 'exit 130' INT TERM

if [ ! -e "$model/model.safetensors.index.json" ]; then
    mkdir -p "$model"
    head -c $((SIZE << 28)) /dev/urandom >"$work/data" 2>/dev/null || exit 4
    for i in 1 2 3 4; do
        python3 "$here/peers.py" make "$model/model-$i-of-4.safetensors" "$work/data" $((SIZE << 28)) || exit 4
    done
    python3 "$here/peers.py" index "$model"
    rm "$work/data"
fi
targets="--target $(seq -s, -f 'gpu:%g' 0 $((GPUS - 1)))"
# As the launcher runs a load, with an archive of the classes that it needs.
archive=$figures/gds.jsa
if [ ! -e "$archive" ]; then
    "$java" $launcher_options "-XX:ArchiveClassesAtExit=$archive" -cp "$class_path" io.gds4j.tools.GdsCommand \
        load "$model" $targets --json >/dev/null 2>&1
    [ -e "$archive" ] || { echo "first: the JDK has no class archive to build on; java -Xshare:dump makes it" >&2; exit 6; }
fi
bytes=$(cat "$model"/*.safetensors | wc -c)

one() { # name
    case $1 in
        gds) "$java" $launcher_options -Xshare:auto "-XX:SharedArchiveFile=$archive" -cp "$class_path" io.gds4j.tools.GdsCommand \
            load "$model" $targets --json | number seconds | awk -v bytes=$((bytes * GPUS)) '$1 > 0 {print bytes / $1 / 1e9}' ;;
        filechannel) "$java" $launcher_options -cp "$class_path:$here/../target/classes" "${FILE_CHANNEL:-io.gds4j.benchmarks.FileChannelLoad}" "$model" ;;
        *) timeout 120 $(if [ "$GPUS" = 1 ]; then echo python3; else echo python3 -m torch.distributed.run --nproc-per-node "$GPUS"; fi) \
            "$here/first.py" "$1" "$model" ;;
    esac 2>>"$work/errors"
}

names=
for name in gds filechannel $(python3 "$here/first.py" list 2>/dev/null); do
    [ "$GPUS" = 1 ] || [[ $name =~ ^(gds|instanttensor|fastsafetensors)$ ]] || continue
    [[ $name =~ $ONLY ]] && names="$names $name"
done
for ((round = 0; round < ROUNDS; round++)); do
    for name in $names; do
        one $name | grep -E '^[0-9.]+$' >>"$figures/$name"
    done
    # Nobody always follows the same one, whose memory the kernel may still take back.
    names=$(tac <<<"${names// /$'\n'}" | paste -sd' ')
done

echo "$(machine gpu); $(awk -v b="$bytes" 'BEGIN {printf "%.1f", b / 1e9}') GB in four shards in $DIR to $GPUS GPU(s); GB/s of the first load of fresh processes"
echo
echo "| loader | processes | lowest | median | highest |"
echo "| --- | ---: | ---: | ---: | ---: |"
for file in "$figures"/*; do
    case $file in *.jsa | *'*') continue ;; esac
    sort -g "$file" | awk -v name="$(basename "$file")" '{v[NR] = $1} END {if (NR) printf "| %s | %d | %.1f | %.1f | %.1f |\n", name, NR, v[1],
        NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[NR]}'
done
[ -s "$work/errors" ] && sort -u "$work/errors" | head -20 >&2
exit 0
