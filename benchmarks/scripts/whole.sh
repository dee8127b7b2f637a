#!/bin/bash
# What a user waits for: whole processes from exec to exit that load a checkpoint from the page cache into GPUs, in turns. Ours as the
# launcher runs it with its class archive, ours in a plain JVM, ten lines of Java (one GPU), C that does the least (whole.c), C that only
# makes the contexts, and what there is of Python's loaders. Then where our time goes.
#
#   benchmarks/scripts/whole.sh
#
# Needs java 25, gcc, cuda.h, libcuda and python3; gds4j from GPU_CP and TEST_CP (class paths of its jars, and of benchmarks), else from
# the target folders that mvn package leaves.
#
#   DIR=/dev/shm     folder of the files; COLD=1 drops them from the page cache before each process (on a disk)
#   SIZES='1 16'     GiB; checkpoints of 4 GiB and more have four shards
#   GPUS=1           each gets all tensors
#   ROUNDS=10        turns of ours and of C; PEERS=3 of Python's loaders
#   THREADS=12       of C
#   BEFORE_CP=CP     class path of another version of gds4j, which takes turns with these
set -u
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/dev/shm} SIZES=${SIZES:-1 16} ROUNDS=${ROUNDS:-10} PEERS=${PEERS:-3} GPUS=${GPUS:-1} BEFORE_CP=${BEFORE_CP:-}
work=$(mktemp -d)
files=$DIR/gds4j-whole
trap 'rm -rf "$work" "$files"' EXIT
trap 'exit 130' INT TERM
gcc $flags "$here/whole.c" -o "$work/whole" $libs -lcuda || exit 6
target=$(seq -s, -f gpu:%g 0 $((GPUS - 1)))
declare -A path_of=([archive]=$class_path [plain]=$class_path [before]=$BEFORE_CP)

gds() { # class path, more options; a jar with its libraries beside it as the launcher runs it: the option of the grant would disable the module graph
    local jar=${1%%:*} options=$launcher_options command=(-cp "$1" io.gds4j.tools.GdsCommand)
    if [ -d "$(dirname "$jar")/lib" ]; then
        options=${options/--enable-native-access=ALL-UNNAMED/--illegal-native-access=deny} command=(-jar "$jar")
    fi
    "$java" $options ${2:-} "${command[@]}" load "$model" --target "$target" --json
}
process() { # name
    case $1 in
        archive | before) gds "${path_of[$1]}" "-Xshare:auto -XX:SharedArchiveFile=$work/$1.jsa" ;;
        plain) gds "$class_path" ;;
        java) "$java" $jvm_options -cp "$class_path:${TEST_CP:-$root/benchmarks/target/classes}" io.gds4j.benchmarks.WholeLoad "$model" "$begin" ;;
        c) "$work/whole" "$GPUS" "${THREADS:-12}" "$model"/*.safetensors ;;
        contexts) "$work/whole" "$GPUS" 1 ;;
        *) python3 "$here/peers.py" "$1" "$model" 0 ;;
    esac
}
one() { # name
    [ -z "${COLD:-}" ] || for file in "$model"/*; do dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none; done
    local begin=$EPOCHREALTIME
    process "$1" >"$work/out" 2>"$work/err" || { echo "$1: $(head -1 "$work/err")" >&2; return; }
    awk -v b="$begin" -v e="$EPOCHREALTIME" 'BEGIN {printf "%.3f\n", e - b}' >>"$work/$size.$1"
    for part in seconds driverOpenSeconds headerSeconds memorySeconds; do number $part <"$work/out" >>"$work/$size.$1.$part"; done
    [[ $1 != java && $1 != c ]] || cp "$work/out" "$work/$size.stages of the last $1"
}

for size in $SIZES; do
    bytes=$((size << 30)) model=$files/$size shards=$((size >= 4 ? 4 : 1))
    mkdir -p "$model"
    for ((i = 1; i <= shards; i++)); do
        head -c $((bytes / shards)) /dev/zero >"$files/data" || exit 4
        python3 "$here/peers.py" make "$model/model-$i-of-$shards.safetensors" "$files/data" $((bytes / shards)) || exit 4
    done
    rm "$files/data"
    python3 "$here/peers.py" index "$model"
    for version in archive ${BEFORE_CP:+before}; do
        [ -e "$work/$version.jsa" ] || gds "${path_of[$version]}" "-XX:ArchiveClassesAtExit=$work/$version.jsa" >/dev/null 2>&1
    done
    for ((round = 0; round < ROUNDS; round++)); do
        order="archive ${BEFORE_CP:+before} c plain $([ "$GPUS" = 1 ] && echo java) contexts"
        [ $((round % 2)) = 0 ] || order=$(tac -s' ' <<<"$order " | tr '\n' ' ')
        for name in $order $([ "$round" -lt "$PEERS" ] && python3 "$here/peers.py" list 2>/dev/null); do one "$name"; done
    done
    rm -rf "$model"
done

echo "$(machine gpu); to $GPUS GPU(s), files in $DIR${COLD:+, not in the page cache}; seconds from exec to exit, medians of $ROUNDS turns"
for size in $SIZES; do
    echo
    echo "| $size GiB | lowest | median | highest |"
    echo "| --- | ---: | ---: | ---: |"
    for file in $(ls "$work/$size".* | grep -v 'econds$\|stages'); do
        sort -g "$file" | awk -v name="${file##*/$size.}" '{v[NR] = $1} END {printf "| %s | %.2f | %.2f | %.2f |\n", name, v[1], NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[NR]}'
    done
    for file in "$work/$size.stages"*; do echo "${file##*/$size.}, seconds since exec (C: since main): $(cat "$file")"; done
    for name in archive before plain; do
        [ -s "$work/$size.$name.seconds" ] && awk -v n="$name" -v a="$(median "$work/$size.$name")" -v s="$(median "$work/$size.$name.seconds")" -v d="$(median "$work/$size.$name.driverOpenSeconds")" \
            -v h="$(median "$work/$size.$name.headerSeconds")" -v m="$(median "$work/$size.$name.memorySeconds")" 'BEGIN {
            printf "%s: load %.2f (headers %.3f, memory %.3f), driver %.2f beside the headers, JVM, command, close and exit %.2f\n", n, s, h, m, d, a - s}'
    done
done
