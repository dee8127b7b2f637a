#!/bin/bash
# Several GPUs at once, each its own part of a file in memory: gds io in one process beside a hand-written pipeline, in turns;
# prints medians. For each number of GPUs up to those there are, doubled each time.
#
#   benchmarks/scripts/gpus.sh
#
# Needs NVIDIA GPUs, cuda.h, gcc, java 25, and room for the file in memory. gds4j comes from GPU_CP, else from gds-tools/target
# as mvn package leaves it.
#
#   DIR=/dev/shm   folder of the file, GIB=8 for each GPU
#   ROUNDS=5       alternations
#   THREADS=8      threads of the pipeline for each GPU
#   FROM=1         GPUs to begin with
set -u
. "$(dirname "$0")/common.sh"
DIR=${DIR:-/dev/shm} GIB=${GIB:-8} ROUNDS=${ROUNDS:-5} THREADS=${THREADS:-8}
need_gds
there=$(nvidia-smi --list-gpus | wc -l)
[ "$there" -ge 1 ] || { echo "gpus: no GPU here" >&2; exit 4; }
work=$(mktemp -d)
data=$DIR/gds4j-gpus.data
trap 'rm -rf "$work" "$data"' EXIT
trap 'exit 130' INT TERM
gcc $flags "$here/gpus.c" -o "$work/gpus" $libs -lcuda || exit 6
bytes=$((GIB << 30))
for ((g = 0; g < there; g++)); do
    dd if=/dev/zero of="$data" bs=16M count=$((GIB * 64)) seek=$((g * GIB * 64)) conv=notrunc status=none &
done
wait
[ "$(stat -c %s "$data")" = $((there * bytes)) ] || { echo "gpus: no room for $data" >&2; exit 4; }

limit() {
    "$work/gpus" "$data" "$1" "$bytes" "$THREADS" 5 >"$work/out" || exit 4
    while read -r name value; do echo "$value" >>"$work/$1.$name"; done <"$work/out"
}
ours() {
    {
        echo "[global]"
        printf 'xfer_type=0\nbs=%s\nsize=%s\nfilename=%s\nnon_odirect=1\nnum_threads=1\n' "$bytes" "$bytes" "$data"
        for ((g = 0; g < $1; g++)); do printf '[gpu%s]\ngpu_dev_id=%s\nstart_offset=%s\n' "$g" "$g" $((g * bytes)); done
    } >"$work/jobs"
    "$java" $jvm_options ${JAVA_OPTS:-} -cp "$class_path" io.gds4j.tools.GdsCommand io \
        "$work/jobs" -I 0 --hot -T 1 --warm-up 1 --json >"$work/out" || exit 4
    number bytesPerSecond <"$work/out" | awk '{printf "%.1f\n", $1 / 1e9}' >>"$work/$1.ours"
    number cpuSecondsPerGB <"$work/out" | awk '{printf "%.0f\n", $1 * 1000}' >>"$work/$1.cpu"
}
spread() { sort -g "$1" | awk 'NR == 1 {least = $1} END {print least " to " $1}'; }

for ((gpus = ${FROM:-1}; gpus <= there; gpus *= 2)); do
    for ((round = 0; round < ROUNDS; round++)); do
        if [ $((round % 2)) = 0 ]; then limit $gpus; ours $gpus; else ours $gpus; limit $gpus; fi
    done
done
echo "$(machine gpu); GB/s, medians of $ROUNDS alternations, $GIB GiB for each GPU from memory, $THREADS threads a GPU in the pipeline"
echo
echo "| GPUs | pinned copies alone | pipeline | ours, one process | ratio | CPU of ours, ms/GB |"
echo "| ---: | ---: | ---: | ---: | ---: | ---: |"
for ((gpus = ${FROM:-1}; gpus <= there; gpus *= 2)); do
    limit=$(median "$work/$gpus.pipeline") ours=$(median "$work/$gpus.ours")
    echo "| $gpus | $(median "$work/$gpus.copies") | $limit ($(spread "$work/$gpus.pipeline")) | $ours ($(spread "$work/$gpus.ours")) | $(awk -v o="$ours" -v l="$limit" 'BEGIN {printf "%.2f", o / l}') | $(median "$work/$gpus.cpu") |"
done
