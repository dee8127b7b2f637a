#!/bin/bash
# gds load of a checkpoint from a server on loopback (serve.c), beside as many clients that read the same ranges: curl processes, which
# drop the bytes, and plain clients of the JDK in one process, which keep them; alternated; prints a table of medians. A second table is
# of one process that reads by both into the same host memory.
#
#   benchmarks/scripts/remote.sh [TARGET]      TARGET is host (the default) or gpu:N
#
# curl is timed as a whole. Of Java, both figures begin in the process, with the first use of HTTP, and include the allocation of the
# memory. Both run twice, and the second run counts: some virtual machines take a second per gigabyte to give memory for the first time.
# Needs a JDK 25 and gcc; without curl its column stays empty. gds4j comes from GPU_CP, else the launcher runs what mvn package leaves.
#
#   DIR=/dev/shm     folder of the checkpoint
#   SIZE_GIB=2       its size
#   ROUNDS=5         alternations
#   CLIENTS=16       curl processes, and plain clients; gds4j has 16 connections
#   JAVA_OPTS        more options for the JVM
set -u
. "$(dirname "$0")/common.sh"
target=${1:-host}
DIR=${DIR:-/dev/shm} SIZE_GIB=${SIZE_GIB:-2} ROUNDS=${ROUNDS:-5} CLIENTS=${CLIENTS:-16}
need_gds
work=$(mktemp -d)
data=$(mktemp -d -p "$DIR") || exit 4
server=
trap 'kill $server 2>/dev/null; rm -rf "$work" "$data"' EXIT
trap 'exit 130' INT TERM
options="$launcher_options ${JAVA_OPTS:-}" # for both
gds() {
    if [ -n "${GPU_CP:-}" ]; then
        "$java" $options -cp "$class_path" io.gds4j.tools.GdsCommand "$@"
    else
        GDS_NO_BUILD=yes GDS_JAVA_OPTS=${JAVA_OPTS:-} "$root/gds" "$@"
    fi
}
"$java" -m jdk.compiler/com.sun.tools.javac.Main -cp "$class_path" -d "$work/classes" "$root"/benchmarks/src/main/java/io/gds4j/benchmarks/Http{Clients,Figures}.java ||
    exit 6
gcc $flags -o "$work/serve" "$here/serve.c" || exit 6
gds demo --keep --size "${SIZE_GIB}G" --dir "$data" --json >"$work/demo" || { cat "$work/demo" >&2; exit 4; }
file=$(find "$data" -name '*.safetensors' -size +1M | head -1)
size=$(stat -c %s "$file")
"$work/serve" "$file" >"$work/port" &
server=$!
until [ -s "$work/port" ]; do kill -0 $server || exit 4; sleep 0.1; done
url=http://127.0.0.1:$(cat "$work/port")/$(basename "$file")

clients() {
    command -v curl >/dev/null || return
    local begin=$EPOCHREALTIME part=$(((size + CLIENTS - 1) / CLIENTS)) i pids=()
    for ((i = 0; i < CLIENTS; i++)); do
        curl -s -o /dev/null -r "$((i * part))-$(((i + 1) * part - 1))" "$url" &
        pids+=($!)
    done
    wait "${pids[@]}" || exit 4
    awk -v b="$begin" -v e="$EPOCHREALTIME" -v s="$size" 'BEGIN {printf "%.3f\n", s / (e - b) / 1e9}' >>"$work/curl"
}
plain() {
    "$java" $options -cp "$work/classes" io.gds4j.benchmarks.HttpClients "$url" "$CLIENTS" >"$work/out" &&
        "$java" $options -cp "$work/classes" io.gds4j.benchmarks.HttpClients "$url" "$CLIENTS" >>"$work/plain" || exit 4
}
ours() {
    gds load "$url" --target "$target" --json >"$work/out" && gds load "$url" --target "$target" --json >"$work/out" || exit 4
    number bytesPerSecond <"$work/out" | awk '{printf "%.3f\n", $1 / 1e9}' >>"$work/ours"
}
for ((round = 0; round < ROUNDS; round++)); do
    if [ $((round % 2)) = 0 ]; then clients; plain; ours; else ours; plain; clients; fi
done
c=$(median "$work/curl") p=$(median "$work/plain") o=$(median "$work/ours")
echo "$(machine); $((size >> 20)) MiB from serve.c on loopback, medians of $ROUNDS alternations, GB/s"
echo
echo "| $CLIENTS curl clients, bytes dropped | $CLIENTS plain Java clients, bytes kept | gds load --target $target, fresh process | of curl | of Java |"
echo "| ---: | ---: | ---: | ---: | ---: |"
echo "| $c | $p | $o | $(awk -v o="$o" -v c="$c" -v p="$p" 'BEGIN {printf "%s | %.2f", c ? sprintf("%.2f", o / c) : "", o / p}') |"
figures=($("$java" $options -cp "$work/classes:$class_path" io.gds4j.benchmarks.HttpFigures "$url" "$CLIENTS" "$ROUNDS")) || exit 4
echo
echo "| in one process, into host memory: plain Java clients | gds4j | ratio |"
echo "| ---: | ---: | ---: |"
echo "| ${figures[0]} | ${figures[1]} | $(awk -v p="${figures[0]}" -v o="${figures[1]}" 'BEGIN {printf "%.2f", o / p}') |"
