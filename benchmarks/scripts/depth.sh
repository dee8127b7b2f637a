#!/bin/bash
# Batches past the page cache, through threads and through io_uring by turns: 4 KiB anywhere and 64 KiB in sequence.
#
#   benchmarks/scripts/depth.sh [FOLDER]     a folder on a disk; without it, a loop device over memory
#
# The loop device needs root. What else it needs: compare.sh. ROUNDS=5, SIZE_MIB=512, ROOM=/dev/shm, TARGET=host or a GPU's number.
set -u
. "$(dirname "$0")/common.sh"
need_gds
work=$(mktemp -d "${1:-${ROOM:-/dev/shm}}/gds4j-depth.XXXXXX")
trap 'umount "$work/mnt" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/mnt"
if [ $# = 0 ]; then
    truncate -s $((${SIZE_MIB:-512} + 256))M "$work/image" && mkfs.ext4 -q -F "$work/image" &&
        mount -o loop "$work/image" "$work/mnt" || { echo "depth: no loop device here" >&2; exit 4; }
fi
dd if=/dev/urandom of="$work/mnt/data" bs=1M count="${SIZE_MIB:-512}" status=none && sync

names=("4 KiB anywhere, 1" "4 KiB anywhere, 8" "4 KiB anywhere, 32" "4 KiB anywhere, 128" "64 KiB, 16" "64 KiB, 64")
options=("-i 4K -I 2 -B 1" "-i 4K -I 2 -B 8" "-i 4K -I 2 -B 32" "-i 4K -I 2 -B 128" "-i 64K -B 16" "-i 64K -B 64")
for ((round = 0; round < ${ROUNDS:-5}; round++)); do
    for i in "${!names[@]}"; do
        order=("" --io-uring)
        [ $((round % 2)) = 1 ] && order=(--io-uring "")
        for uring in "${order[@]}"; do
            line=$("$java" --enable-native-access=ALL-UNNAMED ${JAVA_OPTS:-} -cp "$class_path" io.gds4j.tools.GdsCommand io \
                -f "$work/mnt/data" -d "${TARGET:-host}" -x 6 -T 0.5 --warm-up 0.5 --policy direct --json ${options[$i]} $uring) || exit 4
            echo "$line" | number bytesPerSecond >>"$work/$i$uring"
            [ -n "$uring" ] && state=$(echo "$line" | grep -o '"ioUring":"[^"]*"')
        done
        awk -v a="$(tail -1 "$work/$i")" -v b="$(tail -1 "$work/$i--io-uring")" 'BEGIN {print b / a}' >>"$work/$i.ratio"
    done
done
echo "$(machine); medians of ${ROUNDS:-5}; $state"
printf '| %-20s | %12s | %13s | %15s |\n|%s|%s|%s|%s|\n' "size, depth" "threads MB/s" "io_uring MB/s" "ratio of pairs" \
    ---------------------- -------------: --------------: ----------------:
for i in "${!names[@]}"; do
    awk -v n="${names[$i]}" -v t="$(median "$work/$i")" -v u="$(median "$work/$i--io-uring")" -v r="$(median "$work/$i.ratio")" \
        'BEGIN {printf "| %-20s | %12.1f | %13.1f | %15.2f |\n", n, t / 1e6, u / 1e6, r}'
done
