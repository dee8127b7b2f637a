#!/bin/bash
# Loads of a small checkpoint from the page cache into host memory, their verification, and conversions, on a machine whose processors are
# taken by other programs, beside one thread of FileChannel that reads, compares or copies the same bytes: BusyFigures.
#
#   benchmarks/scripts/busy.sh
#
# Needs java 25, taskset, and gds4j from GPU_CP and TEST_CP (class paths of its jars, and of benchmarks) or mvn -DskipTests package.
#
#   CPUS=0,1         processors of all programs
#   NEIGHBOURS=2     programs that do nothing but spin there
#   SIZE=256M        of the checkpoint; DIR=/tmp its folder
#   ROUNDS=4         processes of TURNS=5 turns each
set -u
. "$(dirname "$0")/common.sh"
need_gds
work=$(mktemp -d "${DIR:-/tmp}/gds4j-busy.XXXXXX")
neighbours=()
trap '[ ${#neighbours[@]} = 0 ] || kill "${neighbours[@]}"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
for ((i = 0; i < ${NEIGHBOURS:-2}; i++)); do
    taskset -c "${CPUS:-0,1}" bash -c 'while :; do :; done' &
    neighbours+=($!)
done
for ((round = 0; round < ${ROUNDS:-4}; round++)); do
    taskset -c "${CPUS:-0,1}" "$java" $launcher_options -cp "$class_path:${TEST_CP:-$root/benchmarks/target/classes}" io.gds4j.benchmarks.BusyFigures \
        "$work" "$(numfmt --from=iec "${SIZE:-256M}")" "${TURNS:-5}" >>"$work/rounds" || exit
    rm -f "$work"/model.safetensors
done
echo "$(machine); ${NEIGHBOURS:-2} spinning programs on processors ${CPUS:-0,1}; ${SIZE:-256M} from the page cache, ${ROUNDS:-4} processes of ${TURNS:-5} turns"
for name in load verify convert; do
    awk -v name="$name" '$1 == name {print $3 / $2}' "$work/rounds" | sort -g | awk -v name="$name" '{v[NR] = $1} END {
        printf "%s: %.2f times as fast as one thread of FileChannel (median; %.2f to %.2f, half of them %.2f to %.2f)\n",
            name, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR], v[int(NR / 4) + 1], v[NR - int(NR / 4)]}'
done
