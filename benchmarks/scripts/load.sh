#!/bin/bash
# Whole loads of checkpoints into a GPU from the page cache: fresh processes of gds load, and later loads of one process, beside a
# hand-written pipeline that reads a file of the same size; prints one table of medians. "Kept" passes and loads use the same GPU memory
# again, "later" ones free it and allocate new memory; "C, first" also pins slabs. "In turn" loads tensors through a quarter of their bytes.
#
#   benchmarks/scripts/load.sh
#
# Needs java 25, gcc, cuda.h, libcuda and python3. gds4j comes from GPU_CP and TEST_CP (class paths of its jars, and of benchmarks),
# else from the target folders that mvn package leaves.
#
#   DIR=/data       folder of the files: twice the largest size
#   SIZES='1 16'    GiB; checkpoints of 4 GiB and more have four shards
#   ROUNDS=7        alternations; TURNS=7 later loads of one process
#   THREADS=12      threads of the pipeline
#   BEFORE_CP=CP    class path of another version of gds4j, whose fresh processes take turns with these
#   JAVA_OPTS       more options for the JVM
set -u
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/data} SIZES=${SIZES:-1 16} ROUNDS=${ROUNDS:-7} TURNS=${TURNS:-7} THREADS=${THREADS:-12} BEFORE_CP=${BEFORE_CP:-}
mkdir -p "$DIR" || exit 4
work=$(mktemp -d)
files=$DIR/gds4j-load
trap 'rm -rf "$work" "$files"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$files"
gcc $flags -DGPU "$here/limits.c" -o "$work/limits" $libs -lcuda || exit 6

declare -A path_of=([ours]=$class_path [before]=$BEFORE_CP)
# As the launcher runs a load. Each version has an archive of the classes that it needs.
load() { # version, checkpoint, more options
    "$java" $launcher_options ${JAVA_OPTS:-} ${3:-} -cp "${path_of[$1]}" io.gds4j.tools.GdsCommand load "$2" --target gpu:0 --json
}
limit() { "$work/limits" gpu limit "$data" "$1:$1:$bytes:$THREADS:$((4 << 20))" 2>>"$work/errors" | cut -d' ' -f2; }
fresh() { # version
    load "$1" "$model" "-Xshare:auto -XX:SharedArchiveFile=$work/$1.jsa" 2>>"$work/errors" >"$work/json"
    number bytesPerSecond <"$work/json" | awk '{printf "%.3f\n", $1 / 1e9}' >>"$work/$size.$1"
}

later() { # checkpoint and its options
    "$java" $jvm_options ${JAVA_OPTS:-} -cp "$class_path:${TEST_CP:-$root/benchmarks/target/classes}" \
        io.gds4j.benchmarks.FormatFigures compare 0 "$TURNS" "$1" 2>>"$work/errors" | awk -F'|' '/^\| [0-9]/ {print $6}'
}

for size in $SIZES; do
    bytes=$((size << 30)) data=$files/$size.data model=$files/$size
    "$work/limits" gpu limit "$data" "create:create:$bytes:1:$((1 << 20))" >/dev/null || exit 4
    mkdir "$model"
    shards=$((size >= 4 ? 4 : 1))
    for ((i = 1; i <= shards; i++)); do
        python3 "$here/peers.py" make "$model/model-$i-of-$shards.safetensors" "$data" $((bytes / shards)) || exit 4
    done
    python3 "$here/peers.py" index "$model"
    cat "$data" "$model"/* >/dev/null
    for version in ours ${BEFORE_CP:+before}; do
        [ -e "$work/$version.jsa" ] || load $version "$model" "-XX:ArchiveClassesAtExit=$work/$version.jsa" >/dev/null 2>&1
        [ -e "$work/$version.jsa" ] || { echo "load: the JDK has no class archive to build on; java -Xshare:dump makes it" >&2; exit 6; }
    done
    for ((round = 0; round < ROUNDS; round++)); do
        for who in $([ $((round % 2)) = 0 ] && echo ours before limit || echo limit before ours); do
            case $who in
                limit) limit tuned >>"$work/$size.tuned" && limit anew >>"$work/$size.anew" && limit first >>"$work/$size.first" ;;
                ours) fresh ours ;;
                before) [ -z "$BEFORE_CP" ] || fresh before ;;
            esac
        done
    done
    later "$model" >"$work/$size.later"
    later "$model,into=1" >"$work/$size.kept"
    later "$model,budget=$((bytes / 4 + (512 << 20)))" >"$work/$size.turns"
    rm -rf "$data" "$model"
done

echo "$(machine gpu); GB/s, medians of $ROUNDS alternations; $THREADS threads in C"
echo
printf '| %-18s | %9s | %9s | %9s | %9s | %9s | %9s | %9s | %9s |\n' "load from memory" "C, kept" "gds kept" "C, later" "gds later" "in turn" "C, first" "gds fresh" before
printf '|%s|%s|%s|%s|%s|%s|%s|%s|%s|\n' "$(printf -- '-%.0s' {1..20})" ----------: ----------: ----------: ----------: ----------: ----------: ----------: ----------:
for size in $SIZES; do
    printf '| %-18s' "$size GiB"
    for column in tuned kept anew later turns first ours before; do
        value=$(median "$work/$size.$column" 2>/dev/null)
        printf ' | %9s' "${value:--}"
    done
    echo ' |'
done
if [ -s "$work/errors" ]; then sort "$work/errors" | uniq -c | sort -rn | head -8 >&2; fi
