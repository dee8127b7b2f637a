#!/bin/bash
# gds load of a checkpoint from an HTTP server on loopback, beside as many curl clients that read the same ranges; alternated; prints
# one table of medians.
#
#   benchmarks/scripts/remote.sh [TARGET]      TARGET is host (the default) or gpu:N
#
# Needs java 25, nginx and curl. gds4j comes from GPU_CP, else from gds-tools/target as mvn package leaves it.
#
#   DIR=/dev/shm     folder of the checkpoint
#   SIZE_GIB=2       its size
#   ROUNDS=5         alternations
#   CLIENTS=16       curl processes; gds4j has 16 connections
#   JAVA_OPTS        more options for the JVM
set -u
. "$(dirname "$0")/common.sh"
target=${1:-host}
DIR=${DIR:-/dev/shm} SIZE_GIB=${SIZE_GIB:-2} ROUNDS=${ROUNDS:-5} CLIENTS=${CLIENTS:-16}
need_gds
for program in nginx curl; do
    command -v $program >/dev/null || { echo "remote: no $program here" >&2; exit 6; }
done
work=$(mktemp -d)
data=$(mktemp -d -p "$DIR") || exit 4
chmod 755 "$data" "$work"
trap 'kill "$(cat "$work/pid")" 2>/dev/null; rm -rf "$work" "$data"' EXIT
trap 'exit 130' INT TERM
# As the launcher does, the client reads more than 16 KiB at a time.
gds() { "$java" -Djdk.httpclient.bufsize=1048576 --enable-native-access=ALL-UNNAMED ${JAVA_OPTS:-} -cp "$class_path" io.gds4j.tools.GdsCommand "$@"; }
gds demo --keep --size "${SIZE_GIB}G" --dir "$data" --json >"$work/demo" || { cat "$work/demo" >&2; exit 4; }
file=$(find "$data" -name '*.safetensors' -size +1M | head -1)
size=$(stat -c %s "$file")
port=$((20000 + RANDOM % 20000))
cat >"$work/nginx.conf" <<C
worker_processes auto;
pid $work/pid;
error_log $work/error.log;
events { worker_connections 256; }
http {
    access_log off;
    sendfile on;
    keepalive_requests 100000;
    server { listen 127.0.0.1:$port; root $(dirname "$file"); }
}
C
nginx -c "$work/nginx.conf" || exit 4
url=http://127.0.0.1:$port/$(basename "$file")

clients() {
    local begin=$EPOCHREALTIME part=$(((size + CLIENTS - 1) / CLIENTS)) i pids=()
    for ((i = 0; i < CLIENTS; i++)); do
        curl -s -o /dev/null -r "$((i * part))-$(((i + 1) * part - 1))" "$url" &
        pids+=($!)
    done
    wait "${pids[@]}" || exit 4
    awk -v b="$begin" -v e="$EPOCHREALTIME" -v s="$size" 'BEGIN {printf "%.3f\n", s / (e - b) / 1e9}' >>"$work/curl"
}
ours() {
    gds load "$url" --target "$target" --json >"$work/out" || exit 4
    grep -o '"bytesPerSecond":[0-9]*' "$work/out" | head -1 | sed 's/.*://' | awk '{printf "%.3f\n", $1 / 1e9}' >>"$work/ours"
}
for ((round = 0; round < ROUNDS; round++)); do
    if [ $((round % 2)) = 0 ]; then clients; ours; else ours; clients; fi
done
c=$(median "$work/curl") o=$(median "$work/ours")
echo "$(machine); $((size >> 20)) MiB from nginx on loopback, medians of $ROUNDS alternations, GB/s"
echo
echo "| $CLIENTS curl clients, bytes dropped | gds load --target $target, fresh process | ratio |"
echo "| ---: | ---: | ---: |"
echo "| $c | $o | $(awk -v o="$o" -v c="$c" 'BEGIN {printf "%.2f", o / c}') |"
