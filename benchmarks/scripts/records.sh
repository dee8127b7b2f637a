#!/bin/bash
# gds records beside gds io with the same size and depth, and beside PyTorch's DataLoader over a numpy memmap with pinned memory and
# the best number of workers; alternated on the same file; prints one table of medians.
#
#   benchmarks/scripts/records.sh [gpu|host]
#
# Needs java 25; python3 with numpy and torch for the DataLoader (without them its columns stay empty); for gpu a GPU. gds4j comes
# from GPU_CP, else from gds-tools/target as mvn package leaves it.
#
#   DIR=/data            folder of the file, SIZE_GIB=8
#   ROUNDS=5             alternations
#   DEPTH=16             readers of gds records, threads of gds io; of 4 KiB records, each thread has a batch of 128
#   SECONDS_EACH=3       time of one measurement of cached files, after WARM_UP=1 seconds; cold files are read once, and what gds records
#                        read in the first WARM_UP seconds does not count
#   WORKERS='0 1 2 4 8 16'  workers of the DataLoader, measured once; the best takes part; without any no DataLoader
#   CACHES='hot cold'    states of the page cache; cold files are read past it
#   ONLY=REGEX           only cases whose name matches
#   JAVA_OPTS            more options for the JVM
set -u
target=gpu:0 device=0 torch_device=cuda
case ${1:-gpu} in
    gpu) ;;
    host) target=host device=host torch_device=cpu ;;
    *) sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
esac
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/data} SIZE_GIB=${SIZE_GIB:-8} ROUNDS=${ROUNDS:-5} DEPTH=${DEPTH:-16} SECONDS_EACH=${SECONDS_EACH:-3} WARM_UP=${WARM_UP:-1}
WORKERS=${WORKERS-0 1 2 4 8 16} CACHES=${CACHES:-hot cold} ONLY=${ONLY:-.}
mkdir -p "$DIR" || exit 4
work=$(mktemp -d)
data=$DIR/gds4j-records.data
trap 'rm -rf "$work" "$data"' EXIT
trap 'exit 130' INT TERM
dd if=/dev/urandom of="$data" bs=16M count=$((SIZE_GIB * 64)) status=none && sync "$data" ||
    { echo "records: no room for $data" >&2; exit 4; }

gds() { # cache, command
    local policy=auto
    [ "$1" = cold ] && policy=direct
    shift
    GDS4J_IO_POLICY=$policy "$java" --enable-native-access=ALL-UNNAMED ${JAVA_OPTS:-} -cp "$class_path" io.gds4j.tools.GdsCommand "$@" --json
}
prepare() { # hot or cold
    if [ "$1" = cold ]; then dd if="$data" iflag=nocache count=0 status=none; else cat "$data" >/dev/null; fi
}

# name: size, records of a batch, options of gds records, options of gds io
names=("sequential 1 MiB" "random 64 KiB" "random 4 KiB")
sizes=(1048576 65536 4096)
batches=(16 256 4096)
orders=("" "--shuffle --seed 1" "--shuffle --seed 1")
peers=("-I 0 -w $DEPTH" "-I 2 --each-once -w $DEPTH" "-I 2 --each-once -w $DEPTH -x 6 -B 128")

records() { # case, cache
    prepare "$2"
    local time="--epochs 1000000 -T $SECONDS_EACH --warm-up $WARM_UP"
    [ "$2" = cold ] && time="--warm-up $WARM_UP"
    gds "$2" records "$data" --record "${sizes[$1]}" --batch "${batches[$1]}" ${orders[$1]} $time --readers "$DEPTH" \
        -t "$target" >"$work/json" || exit 4
    number bytesPerSecond <"$work/json" >>"$work/$1.$2.records"
}
io() {
    prepare "$2"
    local time="-T $SECONDS_EACH --warm-up $WARM_UP"
    [ "$2" = cold ] && time="--cold"
    gds "$2" io -f "$data" -d "$device" -O 1 -i "${sizes[$1]}" ${peers[$1]} $time >"$work/json" || exit 4
    number bytesPerSecond <"$work/json" >>"$work/$1.$2.io"
}
loader() { # case, cache, workers, shape: bytes per second
    prepare "$2"
    python3 "$here/records.py" "$data" "${sizes[$1]}" "${batches[$1]}" "$([ -n "${orders[$1]}" ] && echo 1 || echo 0)" "$3" \
        "$SECONDS_EACH" "$torch_device" "$4" "$2"
}

torch=
if [ -n "$WORKERS" ]; then
    python3 -c 'import numpy, torch' 2>/dev/null && torch=yes || echo "records: python3 has no torch; its columns stay empty" >&2
fi
for c in $CACHES; do
    for i in "${!names[@]}"; do
        [[ "${names[$i]}" =~ $ONLY ]] || continue
        if [ -n "$torch" ]; then
            for shape in record batch; do
                for w in $WORKERS; do
                    echo "$(loader "$i" "$c" "$w" $shape) $w $shape"
                done
            done | sort -gr | head -1 >"$work/$i.$c.best"
            read -r _ workers shape <"$work/$i.$c.best"
        fi
        for ((round = 0; round < ROUNDS; round++)); do
            if [ $((round % 2)) = 0 ]; then records "$i" "$c"; io "$i" "$c"; else io "$i" "$c"; records "$i" "$c"; fi
            [ -z "$torch" ] || loader "$i" "$c" "$workers" "$shape" >>"$work/$i.$c.torch"
        done
    done
done

echo "$(machine ${1:-gpu}); $SIZE_GIB GiB, depth $DEPTH, medians of $ROUNDS; GB/s; the DataLoader reads records singly or whole batches"
printf '| %-21s | %11s | %6s | %5s | %10s | %-18s | %5s |\n' records "gds records" "gds io" ratio DataLoader "its best" ratio
printf '|%s|%s|%s|%s|%s|%s|%s|\n' ----------------------- ------------: -------: ------: -----------: -------------------- ------:
for c in $CACHES; do
    for i in "${!names[@]}"; do
        [ -e "$work/$i.$c.records" ] || continue
        touch "$work/$i.$c.torch" "$work/$i.$c.best"
        read -r _ workers shape <"$work/$i.$c.best"
        awk -v n="${names[$i]}, $c" -v r="$(median "$work/$i.$c.records")" -v o="$(median "$work/$i.$c.io")" \
            -v t="$(median "$work/$i.$c.torch")" -v w="${workers:+$workers workers, $shape}" 'BEGIN {
                printf "| %-21s | %11.2f | %6.2f | %5.2f | %10s | %-18s | %5s |\n", n, r / 1e9, o / 1e9, r / o,
                    t ? sprintf("%.2f", t / 1e9) : "", w, t ? sprintf("%.1f", r / t) : ""}'
    done
done
