#!/bin/bash
# gds records over a tar of WebDataset, a TFRecord file and a shard of MDS, each of samples of 100 KiB, and over an Arrow file of rows of
# 4 KiB; beside gds io with reads of that size and each format's own Python reader; alternated on the same file; prints one table of
# medians, and medians of the ratios of each round. Host memory.
#
#   benchmarks/scripts/formats.sh [FORMAT…]     tar tfrecord mds arrow
#
# Needs java 25 and python3 (PYTHON names another) with webdataset, tfrecord, mosaicml-streaming and pyarrow, which write the files.
# gds4j comes from GPU_CP, else from gds-tools/target as mvn package leaves it.
#
#   DIR=/tmp             folder of the files, MIB=512 each
#   ROUNDS=5             alternations
#   DEPTH=2              readers of gds records, threads of gds io, processes of the Python reader
#   SECONDS_EACH=3       time of one measurement of cached files, after a second that does not count
#   CACHES='hot cold'    states of the page cache; cold files are read once and past it, the Python reader's by one process
#   JAVA_OPTS            more options for the JVM
set -u
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/tmp} MIB=${MIB:-512} ROUNDS=${ROUNDS:-5} DEPTH=${DEPTH:-2} SECONDS_EACH=${SECONDS_EACH:-3} PYTHON=${PYTHON:-python3}
CACHES=${CACHES:-hot cold}
[ $# -gt 0 ] || set -- tar tfrecord mds arrow
work=$(mktemp -d -p "$DIR") || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

declare -A policy=([hot]=auto [cold]=direct) batch=([arrow]=256) size=([arrow]=1M)
gds() {
    GDS4J_IO_POLICY=${policy[$cache]} "$java" --enable-native-access=ALL-UNNAMED ${JAVA_OPTS:-} -cp "$class_path" \
        io.gds4j.tools.GdsCommand "$@" --json >"$work/json" || exit 4
    number bytesPerSecond <"$work/json"
}
records() {
    local time="--epochs 1000000 -T $SECONDS_EACH --warm-up 1"
    [ $cache = cold ] && time=
    gds records "$opened" --batch "${batch[$format]:-32}" --readers "$DEPTH" -t host $([ $order = order ] || echo --shuffle) $time
}
io() {
    local time="-T $SECONDS_EACH --warm-up 1" shape="-I 0 -i ${size[$format]:-$record}"
    [ $cache = cold ] && time=--cold
    [ $order = order ] || shape="-I 2 --each-once -i $record"
    gds io -f "$data" -d host $shape -w "$DEPTH" $time
}
own() {
    [[ $order = random && $format = t* ]] && return # no places to choose from
    if [ $cache = hot ]; then
        "$PYTHON" "$here/formats.py" read "$format" "$data" $order "$DEPTH" "$SECONDS_EACH"
    else
        "$PYTHON" "$here/formats.py" read "$format" "$data" $order 1 0
    fi 2>>"$work/errors"
}
prepare() {
    if [ $cache = cold ]; then dd if="$data" iflag=nocache count=0 status=none; else cat "$data" >/dev/null; fi
}

echo "$(machine); $MIB MiB, $DEPTH readers, medians of $ROUNDS; GB/s"
printf '| %-22s | %11s | %6s | %5s | %10s | %5s |\n' "data set" "gds records" "gds io" ratio "its reader" ratio
printf '|%s|%s|%s|%s|%s|%s|\n' ------------------------ ------------: -------: ------: -----------: ------:
for format in "$@"; do
    mkdir "$work/data"
    "$PYTHON" "$here/formats.py" make "$format" "$work/data" "$MIB" >"$work/made" 2>"$work/errors" || { tail -3 "$work/errors" >&2; continue; }
    { read -r opened; read -r data; } <"$work/made"
    sync "$data"
    cache=hot
    gds records "$opened" --batch 1 --list >/dev/null
    record=$(number maxRecordBytes <"$work/json")
    for cache in $CACHES; do
        for order in order random; do
            for ((round = 0; round < ROUNDS; round++)); do
                for what in $([ $((round % 2)) = 0 ] && echo records io own || echo own io records); do
                    prepare
                    $what >"$work/last" || exit 4
                    read -r rate <"$work/last" || rate=
                    echo "${rate:-0}" >>"$work/$what"
                done
            done
            paste "$work/records" "$work/io" "$work/own" | awk -v work="$work" \
                '{print $1 / $2 >work "/to.io"; print $3 ? $1 / $3 : 0 >work "/to.own"}'
            awk -v n="$format, $order, $cache" -v r="$(median "$work/records")" -v i="$(median "$work/io")" \
                -v o="$(median "$work/own")" -v ri="$(median "$work/to.io")" -v ro="$(median "$work/to.own")" 'BEGIN {
                    printf "| %-22s | %11.2f | %6.2f | %5.2f | %10s | %5s |\n", n, r / 1e9, i / 1e9, ri,
                        o ? sprintf("%.2f", o / 1e9) : "", o ? sprintf("%.1f", ro) : ""}'
            rm "$work"/{records,io,own,to.*}
        done
    done
    rm -r "$work/data"
done
