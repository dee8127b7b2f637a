#!/bin/bash
# Requests of 64 KiB past the page cache, on a loop device over memory: one at a time, and many through io_uring and threads.
#
#   benchmarks/scripts/depth.sh
#
# Needs root, for the loop device, and what compare.sh needs. ROUNDS=5, SIZE_MIB=1024, ROOM=/dev/shm.
set -u
. "$(dirname "$0")/common.sh"
need_gds
work=$(mktemp -d "${ROOM:-/dev/shm}/gds4j-depth.XXXXXX")
trap 'umount "$work/mnt" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/mnt"
truncate -s $((${SIZE_MIB:-1024} + 256))M "$work/image" && mkfs.ext4 -q -F "$work/image" &&
    mount -o loop "$work/image" "$work/mnt" || { echo "depth: no loop device here" >&2; exit 4; }
dd if=/dev/urandom of="$work/mnt/data" bs=1M count="${SIZE_MIB:-1024}" status=none && sync

names=("one pread" "one call" "batch of 16, threads" "batch of 16, io_uring" "batch of 64, io_uring")
options=("-x 1" "" "-x 6 -B 16" "-x 6 -B 16 --io-uring" "-x 6 -B 64 --io-uring")
for ((round = 0; round < ${ROUNDS:-5}; round++)); do
    for i in "${!names[@]}"; do
        line=$("$java" --enable-native-access=ALL-UNNAMED ${JAVA_OPTS:-} -cp "$class_path" io.gds4j.tools.GdsCommand io \
            -f "$work/mnt/data" -d host -i 64K -T 1 --warm-up 1 --policy direct --json ${options[$i]}) || exit 4
        echo "$line" | number bytesPerSecond >>"$work/$i"
        [ "$i" = 3 ] && ring=$(echo "$line" | grep -o '"ioUring":"[^"]*"')
    done
done
echo "$(machine); medians of ${ROUNDS:-5}; $ring"
printf '| %-22s | %6s | %10s |\n|%s|%s|%s|\n' "64 KiB, past the cache" GB/s "x pread" ------------------------ -------: -----------:
one=
for i in "${!names[@]}"; do
    rate=$(median "$work/$i")
    one=${one:-$rate}
    awk -v n="${names[$i]}" -v m="$rate" -v o="$one" 'BEGIN {printf "| %-22s | %6.2f | %10.1f |\n", n, m / 1e9, m / o}'
done
