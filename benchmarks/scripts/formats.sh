#!/bin/bash
# gds records over an array of NumPy, a tar of WebDataset, a TFRecord file and a shard of MDS, each of samples of 100 KiB, and over an Arrow
# file of rows of 4 KiB; beside plain reads of that size into as much memory (ring.c), gds io, which fills one buffer again and again, and each format's
# own Python reader; alternated on the same file; prints one table of medians, and medians of the ratios of each round. Host memory.
#
#   benchmarks/scripts/formats.sh [FORMAT…]     npy tar tfrecord mds arrow
#
# Needs java 25, gcc and python3 (PYTHON names another) with webdataset, tfrecord, mosaicml-streaming and pyarrow, which write the files.
# gds4j comes from GPU_CP, else from gds-tools/target as mvn package leaves it.
#
#   DIR=/tmp             folder of the files, MIB=512 each
#   ROUNDS=5             alternations
#   DEPTH=2              readers of gds records, threads of gds io, processes of the Python reader
#   SECONDS_EACH=3       time of one measurement of cached files, after a second that does not count
#   MEMORY=67108864      bytes of the batches of gds records, and of the plain reads
#   CACHES='hot cold'    states of the page cache; cold files are read once and past it, the Python reader's by one process
#   JAVA_OPTS            more options for the JVM
set -u
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/tmp} MIB=${MIB:-512} ROUNDS=${ROUNDS:-5} DEPTH=${DEPTH:-2} SECONDS_EACH=${SECONDS_EACH:-3} PYTHON=${PYTHON:-python3}
MEMORY=${MEMORY:-67108864}
CACHES=${CACHES:-hot cold}
[ $# -gt 0 ] || set -- npy tar tfrecord mds arrow
work=$(mktemp -d -p "$DIR") || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
gcc -O2 -pthread "$here/ring.c" -o "$work/ring.program" || exit 6

declare -A policy=([hot]=auto [cold]=direct) batch=([arrow]=256) size=([arrow]=1M)
gds() {
    GDS4J_IO_POLICY=${policy[$cache]} "$java" --enable-native-access=ALL-UNNAMED ${JAVA_OPTS:-} -cp "$class_path" \
        io.gds4j.tools.GdsCommand "$@" --json >"$work/json" || exit 4
    number bytesPerSecond <"$work/json"
}
records() {
    local time="--epochs 1000000 -T $SECONDS_EACH --warm-up 1"
    [ $cache = cold ] && time=
    gds records "$opened" --batch "${batch[$format]:-32}" --readers "$DEPTH" --memory "$MEMORY" -t host $([ $order = order ] || echo --shuffle) $time
}
io() {
    local time="-T $SECONDS_EACH --warm-up 1" shape="-I 0 -i ${size[$format]:-$record}"
    [ $cache = cold ] && time=--cold
    [ $order = order ] || shape="-I 2 --each-once -i $record"
    gds io -f "$data" -d host $shape -w "$DEPTH" $time
}
ring() {
    local bytes=$record time=$SECONDS_EACH
    [[ $order = order && $format = arrow ]] && bytes=1048576
    [ $cache = cold ] && time=0
    "$work/ring.program" "$data" "$bytes" "$MEMORY" "$DEPTH" "$time" $order $([ $cache = hot ] || echo direct) || exit 4
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
printf '| %-22s | %11s | %11s | %5s | %6s | %5s | %10s | %5s |\n' \
    "data set" "gds records" "plain reads" ratio "gds io" ratio "its reader" ratio
printf '|%s|%s|%s|%s|%s|%s|%s|%s|\n' \
    ------------------------ ------------: ------------: ------: -------: ------: -----------: ------:
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
                for what in $([ $((round % 2)) = 0 ] && echo records ring io own || echo own io ring records); do
                    prepare
                    $what >"$work/last" || exit 4
                    read -r rate <"$work/last" || rate=
                    echo "${rate:-0}" >>"$work/$what"
                done
            done
            paste "$work/records" "$work/io" "$work/ring" "$work/own" | awk -v work="$work" \
                '{print $1 / $2 >work "/to.io"; print $1 / $3 >work "/to.ring"; print $4 ? $1 / $4 : 0 >work "/to.own"}'
            awk -v n="$format, $order, $cache" -v r="$(median "$work/records")" -v i="$(median "$work/io")" \
                -v g="$(median "$work/ring")" -v rg="$(median "$work/to.ring")" -v o="$(median "$work/own")" -v ri="$(median "$work/to.io")" -v ro="$(median "$work/to.own")" 'BEGIN {
                    printf "| %-22s | %11.2f | %11.2f | %5.2f | %6.2f | %5.2f | %10s | %5s |\n", n, r / 1e9, g / 1e9, rg, i / 1e9, ri,
                        o ? sprintf("%.2f", o / 1e9) : "", o ? sprintf("%.1f", ro) : ""}'
            rm "$work"/{records,ring,io,own,to.*}
        done
    done
    rm -r "$work/data"
done
