#!/bin/bash
# Loads of a small checkpoint from the page cache into host memory on a machine whose processors are taken by other programs, beside one
# thread of FileChannel that reads the same bytes into memory of the same kind: the alternations of gds demo.
#
#   benchmarks/scripts/busy.sh
#
# Needs java 25, taskset, and gds4j from GPU_CP or mvn -DskipTests package.
#
#   CPUS=0,1         processors of all programs
#   NEIGHBOURS=2     programs that do nothing but spin there
#   SIZE=256M        of the checkpoint; DIR=/tmp its folder
#   ROUNDS=4         processes, each with the alternations of gds demo
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
    taskset -c "${CPUS:-0,1}" "$java" $launcher_options -cp "$class_path" io.gds4j.tools.GdsCommand demo --size "${SIZE:-256M}" --dir "$work" --json >"$work/json" || exit
    paste <(grep -o '"roundSeconds":\[[^]]*' "$work/json" | grep -o '[0-9][0-9.eE-]*' ) \
        <(grep -o '"baselineRoundSeconds":\[[^]]*' "$work/json" | grep -o '[0-9][0-9.eE-]*') >>"$work/rounds"
done
echo "$(machine); ${NEIGHBOURS:-2} spinning programs on processors ${CPUS:-0,1}; ${SIZE:-256M} from the page cache, $(wc -l <"$work/rounds") alternations"
awk '{print $2 / $1}' "$work/rounds" | sort -g | awk '{v[NR] = $1} END {
    printf "gds4j is %.2f times as fast as one thread of FileChannel (median; %.2f to %.2f, half of them %.2f to %.2f)\n",
        NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR], v[int(NR / 4) + 1], v[NR - int(NR / 4)]}'
