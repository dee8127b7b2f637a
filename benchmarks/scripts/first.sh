#!/bin/bash
# The first load of a checkpoint in a fresh process: gds load beside FileChannel and the Python libraries that are installed
# (InstantTensor, fastsafetensors, Run:ai model streamer, KvikIO, safetensors). Prints medians with the lowest and the highest. Time
# begins where the driver is open, and its contexts are made. With LATER also loads after the first, with their processor time.
#
#   benchmarks/scripts/first.sh
#
# Needs java 25, python3, a GPU, and gds4j from GPU_CP or mvn -DskipTests package. FileChannel is that of gds demo: one thread, a direct
# buffer of 16 MiB, a copy to the GPU, in its first and only round.
#
#   DIR=/dev/shm     folder of the checkpoint, SIZE=16 GiB in four shards
#   MODEL=FOLDER     a checkpoint that is there, in place of one that is made
#   ROUNDS=10        fresh processes of each
#   LATER=0          further loads of each process; gds4j's are those of another process (TEST_CP: the classes of benchmarks)
#   COLD=1           before each process, the page cache drops the files, which must be on a disk
#   TP='column --heads 32,8'   with several GPUs also a row of slices of Llama's tensors (--parallel of gds load)
#   GPUS=1           all tensors to each of so many GPUs; GB/s of all together. With more than one: gds, InstantTensor, fastsafetensors
#   ONLY='gds|safe'  only these, an expression
#   KEEP=FOLDER      keeps the figures there and adds to those of earlier runs: ten rounds may be several calls
set -u
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/dev/shm} SIZE=${SIZE:-16} ROUNDS=${ROUNDS:-10} ONLY=${ONLY:-.} GPUS=${GPUS:-1} LATER=${LATER:-0} COLD=${COLD:-} TP=${TP:-}
work=$(mktemp -d) model=${MODEL:-$DIR/gds4j-first}
figures=${KEEP:-$work/figures}
mkdir -p "$figures"
trap 'rm -rf "$work"; [ -n "${KEEP:-}${MODEL:-}" ] || rm -rf "$model"' EXIT
trap 'exit 130' INT TERM

if [ -z "${MODEL:-}" ] && [ ! -e "$model/model.safetensors.index.json" ]; then
    mkdir -p "$model"
    head -c $((SIZE << 28)) /dev/urandom >"$work/data" 2>/dev/null || exit 4
    for i in 1 2 3 4; do
        python3 "$here/peers.py" make "$model/model-$i-of-4.safetensors" "$work/data" $((SIZE << 28)) || exit 4
    done
    python3 "$here/peers.py" index "$model"
    rm "$work/data"
fi
[ "$GPUS" -gt 1 ] || TP=
targets="--target $(seq -s, -f 'gpu:%g' 0 $((GPUS - 1)))"
# As the launcher runs a load, with an archive of the classes that it needs.
archive=$figures/gds.jsa
if [ ! -e "$archive" ]; then
    "$java" $launcher_options "-XX:ArchiveClassesAtExit=$archive" -cp "$class_path" io.gds4j.tools.GdsCommand \
        load "$model" $targets --json >/dev/null 2>&1
    [ -e "$archive" ] || { echo "first: the JDK has no class archive to build on; java -Xshare:dump makes it" >&2; exit 6; }
fi
bytes=$(cat "$model"/*.safetensors | wc -c)

gds() { # more options: GB/s of all GPUs, of slices GB/s of the files
    "$java" $launcher_options -Xshare:auto "-XX:SharedArchiveFile=$archive" -cp "$class_path" io.gds4j.tools.GdsCommand \
        load "$model" $targets "$@" --json | number seconds | awk -v bytes=$((bytes * $([ $# = 0 ] && echo "$GPUS" || echo 1))) '$1 > 0 {print bytes / $1 / 1e9}'
}
one() { # name
    [ -z "$COLD" ] || for file in "$model"/*.safetensors; do sync "$file"; dd if="$file" iflag=nocache count=0 status=none; done
    case $1 in
        gds) gds ;;
        gds-slices) gds --parallel $TP ;;
        filechannel) "$java" $launcher_options -cp "$class_path:${TEST_CP:-$here/../target/classes}" "${FILE_CHANNEL:-io.gds4j.benchmarks.FileChannelLoad}" "$model" ;;
        *) timeout 120 $(if [ "$GPUS" = 1 ]; then echo python3; else echo python3 -m torch.distributed.run --nproc-per-node "$GPUS"; fi) \
            "$here/peers.py" "$1" "$model" "$LATER" ;;
    esac 2>>"$work/errors"
}

names=
for name in gds ${TP:+gds-slices} filechannel $(python3 "$here/peers.py" list 2>/dev/null); do
    [ "$GPUS" = 1 ] || [[ $name =~ ^(gds|gds-slices|instanttensor|fastsafetensors)$ ]] || continue
    [[ $name =~ $ONLY ]] && names="$names $name"
done
for ((round = 0; round < ROUNDS; round++)); do
    for name in $names; do
        one $name | grep -E '^[0-9.]+( [0-9.]+ [0-9]+)?$' >>"$figures/$name"
    done
    # Nobody always follows the same one, whose memory the kernel may still take back.
    names=$(tac <<<"${names// /$'\n'}" | paste -sd' ')
done

# Later loads of one process of gds4j: into memory that is allocated each time, and into the same memory.
if [ "$LATER" -gt 0 ] && [ -z "$COLD" ] && [[ gds =~ $ONLY ]]; then
    "$java" $jvm_options -cp "$class_path:${TEST_CP:-$here/../target/classes}" io.gds4j.benchmarks.ParallelFigures loads "$model" "$LATER" gpu "$GPUS" \
        2>>"$work/errors" >"$work/later"
    while read -r name rate cpu; do
        case $name in
            allocated) awk -v more="$rate $cpu" '{print $1, more}' "$figures/gds" >"$work/gds" && mv "$work/gds" "$figures/gds" ;;
            sharded-allocated) [ -s "$figures/gds-slices" ] && awk -v more="$rate $cpu" '{print $1, more}' "$figures/gds-slices" >"$work/gds" && mv "$work/gds" "$figures/gds-slices" ;;
            kept) echo "- $rate $cpu" >"$figures/gds, memory kept" ;;
            sharded-kept) [ -n "$TP" ] && echo "- $rate $cpu" >"$figures/gds-slices, memory kept" ;;
        esac
    done <"$work/later"
fi

echo "$(machine gpu); $(awk -v b="$bytes" 'BEGIN {printf "%.1f", b / 1e9}') GB in $(ls "$model"/*.safetensors | wc -l) files in $(dirname "$model"), $([ -n "$COLD" ] && echo "not in the page cache" || echo "in memory"), to $GPUS GPU(s)"
echo "GB/s of the first load of fresh processes; later: median of $LATER loads after it; CPU: their processor milliseconds per GB"
echo
echo "| loader | processes | lowest | median | highest | later | CPU |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
for file in "$figures"/*; do
    case $file in *.jsa | *'*') continue ;; esac
    name=$(basename "$file") version=$(python3 "$here/peers.py" version "$name" 2>/dev/null)
    cut -d' ' -f1 "$file" | sort -g | awk -v name="$name${version:+ $version}" -v later="$(cut -sd' ' -f2 "$file" | median)" -v cpu="$(cut -sd' ' -f3 "$file" | median)" '
        $1 != "-" {v[++n] = $1} END {printf "| %s | %d |", name, n
        if (n) printf " %.1f | %.1f | %.1f |", v[1], n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2, v[n]; else printf " - | - | - |"
        printf " %s | %s |\n", later == "" ? "-" : sprintf("%.1f", later), cpu == "" ? "-" : cpu}'
done
[ -s "$work/errors" ] && sort -u "$work/errors" | head -20 >&2
exit 0
