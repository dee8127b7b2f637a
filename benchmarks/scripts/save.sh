#!/bin/bash
# Saves of GPU memory beside the limits of the machine, in turns; prints one table of medians.
#
#   benchmarks/scripts/save.sh
#
# Needs java 25, gcc, cuda.h and libcuda; python3 with torch and safetensors for two more columns. gds4j comes from GPU_CP and
# TEST_CP (class paths of its jars, and of benchmarks), else from the target folders that mvn package leaves.
#
#   DIR=/data       folder on the disk, MEMORY=/dev/shm folder in memory
#   SIZE_GIB=8      bytes of the tensors; both folders hold two files of that size for a while
#   ROUNDS=5        alternations; PYTHON_ROUNDS=5 of them with the slower saves of Python
#   THREADS=8       threads of the hand-written pipeline; WRITES=4 of gds4j's saves
#   BUDGET=400      seconds after which no further round begins
#   JAVA_OPTS       more options for the JVM
set -u
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/data} MEMORY=${MEMORY:-/dev/shm} SIZE_GIB=${SIZE_GIB:-8} ROUNDS=${ROUNDS:-5}
THREADS=${THREADS:-8} WRITES=${WRITES:-4} BUDGET=${BUDGET:-400} PYTHON_ROUNDS=${PYTHON_ROUNDS:-5}
size=$((SIZE_GIB << 30))
mkdir -p "$DIR" || exit 4
work=$(mktemp -d)
disk=$DIR/gds4j-save.safetensors memory=$MEMORY/gds4j-save.safetensors
trap 'rm -rf "$work"; rm -f "$disk" "$memory" "$disk".* "$memory".* "$DIR"/.gds4j-save.* "$MEMORY"/.gds4j-save.*' EXIT
trap 'exit 130' INT TERM
gcc $flags "$here/save.c" -o "$work/save" $libs -lcuda || exit 6
tests=${TEST_CP:-$root/benchmarks/target/classes}

keep() { # case, field of the answer in seconds; keeps GB/s
    local seconds
    seconds=$(echo "$answer" | cut -d' ' -f"$2")
    awk -v b="$size" -v s="$seconds" 'BEGIN {printf "%.3f\n", b / s / 1e9}' >>"$work/$1"
}
start c "$work/save" "$size"
start ours "$java" $jvm_options ${JAVA_OPTS:-} -cp "$class_path:$tests" \
    io.gds4j.benchmarks.SaveFigures gpu "$size"
if python3 -c 'import torch, safetensors.torch' 2>/dev/null; then start python python3 "$here/save.py" "$size"; fi

checked=
turn() { # file, name of its rows, direct
    local kind=direct
    [ "$3" = true ] || kind=cached
    if [ $((round % 2)) = 0 ]; then
        ask c "$kind $1 $THREADS" 300 && keep "$2.c" 1
        ask ours "$1 $3 STOP false $WRITES" 300 && keep "$2.ours" 1
    else
        ask ours "$1 $3 STOP false $WRITES" 300 && keep "$2.ours" 1
        ask c "$kind $1 $THREADS" 300 && keep "$2.c" 1
    fi
    ask ours "$1 $3 STOP true $WRITES" 300 && keep "$2.checksums" 1
    [ "$round" = 0 ] && ask python "check $1" 300 && checked+="$2: $answer; "
    if [ "$round" -lt "$PYTHON_ROUNDS" ]; then
        local before=$SECONDS
        ask python "safetensors $1" 300 && keep "$2.safetensors" 1
        ask python "torch $1" 300 && keep "$2.torch" 1
        python=$((python + SECONDS - before))
    fi
    rm -f "$1"
}
for ((round = 0; round < ROUNDS; round++)); do
    begun=$SECONDS python=0
    turn "$memory" memory false
    turn "$disk" disk true
    ask c "plain $disk $THREADS" 300 && keep disk.limit 1
    rm -f "$disk"
    ask c "link $disk $THREADS" 300 && keep link.c 1
    for mode in HOST_SNAPSHOT DEVICE_SNAPSHOT; do
        ask ours "$memory false $mode false $WRITES" 300 && { keep "$mode.blocked" 2; keep "$mode.whole" 1; }
        rm -f "$memory"
    done
    echo "round $((round + 1)) of $ROUNDS, $SECONDS s" >&2
    next=$((SECONDS - begun))
    [ $((round + 1)) -lt "$PYTHON_ROUNDS" ] || next=$((next - python))
    [ $((SECONDS + next)) -gt "$BUDGET" ] && { echo "out of time" >&2; round=$((round + 1)); break; }
done
finish

echo
echo "$(machine gpu); $SIZE_GIB GiB from GPU memory, medians of $round alternations; $THREADS threads in C, $WRITES writes in gds4j; GB/s"
echo
row() { # name, file of C or the limit, file of ours
    local c ours
    c=$(median "$work/$2") ours=$(median "$work/$3")
    printf '| %-58s | %9s | %9s | %6s |\n' "$1" "${c:--}" "${ours:--}" \
        "$(awk -v o="${ours:-0}" -v c="${c:-0}" 'BEGIN {if (o > 0 && c > 0) printf "%.2f", o / c; else print "-"}')"
}
printf '| %-58s | %9s | %9s | %6s |\n|%s|---------:|---------:|------:|\n' case limit gds4j ratio "$(printf -- '-%.0s' {1..60})"
row "to $MEMORY; limit: C pipeline" memory.c memory.ours
row "to $MEMORY with checksums; limit: C pipeline" memory.c memory.checksums
row "to the disk, O_DIRECT; limit: C pipeline" disk.c disk.ours
row "to the disk, O_DIRECT; limit: plain writes of host memory" disk.limit disk.ours
row "to the disk with checksums; limit: plain writes" disk.limit disk.checksums
row "HOST_SNAPSHOT, blocked; limit: copy to pinned memory" link.c HOST_SNAPSHOT.blocked
row "HOST_SNAPSHOT, whole save to $MEMORY; limit: C pipeline" memory.c HOST_SNAPSHOT.whole
row "DEVICE_SNAPSHOT, blocked; limit: copy to pinned memory" link.c DEVICE_SNAPSHOT.blocked
row "safetensors save_file to $MEMORY" memory.safetensors memory.ours
row "torch.save to $MEMORY" memory.torch memory.ours
row "safetensors save_file and fsync to the disk" disk.safetensors disk.ours
row "torch.save and fsync to the disk" disk.torch disk.ours
if [ -n "$checked" ]; then
    echo
    echo "files of gds4j in safetensors (Python): $checked"
fi
if [ -s "$work/errors" ]; then
    echo >&2
    echo "save: what the programs said on standard error (first lines):" >&2
    sort "$work/errors" | uniq -c | sort -rn | head -8 >&2
fi
