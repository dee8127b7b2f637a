#!/bin/bash
# Many fragments in one call beside one kernel for each 2 MiB in C++, NVIDIA's libcufile called for each range, plain pread and pwrite,
# and NIXL (GDS_MT) if python3 finds it, in turns on the same file; prints one table of medians. The shapes: blocks of 2 MiB in
# fragments all over GPU memory, batches of 128 fragments, 256 ranges of 100 KiB to 16 MiB in one call.
#
#   benchmarks/scripts/fragments.sh [gpu|host]
#
# Needs java 25, and nvcc with libcuda for gpu, g++ for host. libcufile takes part where cufile.h and it are found. gds4j comes from
# GPU_CP and TEST_CP (class paths of its jars, and of benchmarks), else from the target folders that mvn package leaves.
#
#   DIR=/data       folder of the file; NIXL refuses tmpfs
#   SIZE_GIB=4      of the file and of the memory; COLD_GIB=1 of it are read from the disk and written to it
#   THREADS=12      callers; rows that say so have twice as many of ours
#   ROUNDS=10       alternations of what is in the page cache; COLD=6 of what is on the disk; PYTHON_ROUNDS=3 of them with NIXL
#   BUDGET=170      seconds after which no further round begins, with 2/3 of it for the page cache
#   ONLY=REGEX      only cases whose name matches
#   JAVA_OPTS       more options for the JVM
set -u
mode=gpu
for word in "$@"; do
    case $word in
        gpu | host) mode=$word ;;
        *) sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
    esac
done
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/data} SIZE_GIB=${SIZE_GIB:-4} COLD_GIB=${COLD_GIB:-1} THREADS=${THREADS:-12}
ROUNDS=${ROUNDS:-10} COLD=${COLD:-6} PYTHON_ROUNDS=${PYTHON_ROUNDS:-3} BUDGET=${BUDGET:-170}
mkdir -p "$DIR" || exit 4
size=$((SIZE_GIB << 30)) part=$((COLD_GIB << 30)) began=$SECONDS
work=$(mktemp -d)
data=$DIR/gds4j-fragments.data
trap 'rm -rf "$work" "$data"' EXIT
trap 'exit 130' INT TERM
library=
build="-O3 -std=c++17 $here/fragments.cu -o $work/fragments"
if [ "$mode" = host ]; then
    g++ -pthread -x c++ $build || exit 6
else
    nvcc=$(command -v nvcc || echo "$cuda/bin/nvcc")
    if "$nvcc" -arch=native -DCUFILE $build $libs -lcufile -lcuda 2>"$work/nvcc"; then
        library=yes
    elif ! "$nvcc" -arch=native $build $libs -lcuda 2>"$work/nvcc"; then
        cat "$work/nvcc" >&2
        exit 6
    fi
fi

# The file's bytes are random; the ranges are anywhere in what is also read from the disk.
head -c $((1 << 28)) /dev/urandom >"$work/random"
for ((i = 0; i < SIZE_GIB * 4; i++)); do cat "$work/random"; done >"$data" && sync "$data" || exit 4
rm "$work/random"
awk -v all="$part" 'BEGIN {
    srand(5)
    for (i = 0; i < 256; i++) {
        bytes = int(100 * 1024 * exp(rand() * log(163.84)))
        printf "%.0f %.0f\n", int(rand() * (all - bytes)), bytes
        if ((sum += bytes + 256) > all - 17e6) break
    }
}' >"$work/ranges"
ranges=$(wc -l <"$work/ranges")

run() { # name, line, case: keeps GB/s, processor time and bytes of the heap
    [ -n "${to[$1]:-}" ] || return
    case $2 in *" hot "*) ;; *) sync "$data"; dd if="$data" iflag=nocache count=0 status=none ;; esac
    ask "$1" "$2" 40 || { tail -3 "$work/errors" >&2; return; }
    if [[ $answer != [0-9]* ]]; then echo "fragments: $1, $2: $answer" >>"$work/errors"; elif [ -n "$3" ]; then echo "$answer" >>"$work/$3.$1"; fi
}
# name|C|ours|NIXL, each KIND OPEN FRAGMENT THREADS BYTES PASSES, or - for none
K=1024
hot=() cold=()
add() {
    [[ $1 =~ ${ONLY:-.} ]] || return 0
    [[ $1 = *cold* || $1 = *O_DIRECT* ]] && cold+=("$1|$2|$3|$4") || hot+=("$1|$2|$3|$4")
}
for fragment in 64 32; do
    shape="$((2048 / fragment)) x $fragment KiB"
    read="read hot $((fragment * K)) $THREADS $size 3" write="write hot $((fragment * K)) $THREADS $((size / 2)) 1"
    add "$shape read" "$read" "$read" "$read"
    # The program of C has two slots a thread: while one is copied it reads the other.
    add "$shape read, $((2 * THREADS)) callers" "$read" "read hot $((fragment * K)) $((2 * THREADS)) $size 3" -
    add "$shape written to the page cache" "$write" "$write" "$write"
    disk="$((fragment * K)) $THREADS $part 1"
    add "$shape read, cold" "pread cold $disk" "read cold $disk" "read cold $disk"
    add "$shape read, O_DIRECT" "pread direct $disk" "read direct $disk" -
    add "$shape written, O_DIRECT" "pwrite direct $disk" "write direct $disk" -
done
add "batches of 128 x 64 KiB" "read hot $((64 * K)) $THREADS $size 3" "batch hot $((64 * K)) $THREADS $size 3" -
add "batches of 128 x 64 KiB, $((2 * THREADS)) callers" "read hot $((64 * K)) $THREADS $size 3" "batch hot $((64 * K)) $((2 * THREADS)) $size 3" -
one="$((64 * K)) 1 $part" many="$((64 * K)) 16 $part"
[ "$mode" = gpu ] && [ -z "$library" ] && echo "no libcufile here: the rows of ranges lack it" >&2
by() { [ "$mode" = host ] || [ -n "$library" ] && echo "$@" || echo -; }
add "$ranges ranges, one call" "$(by ranges hot $one 5)" "ranges hot $one 5" -
add "$ranges ranges, one call; C by 16 threads" "$(by ranges hot $many 5)" "ranges hot $one 5" -
add "$ranges ranges, a call each" "$(by ranges hot $one 5)" "each hot $one 5" -
add "$ranges ranges, one call, cold" "$(by ranges cold $one 1)" "ranges cold $one 1" -
add "$ranges ranges, one call, O_DIRECT" "$(by ranges direct $one 1)" "ranges direct $one 1" -
add "$ranges ranges, one call, O_DIRECT; C by 16 threads" "$(by ranges direct $many 1)" "ranges direct $one 1" -

start c "$work/fragments" "$data" "$size" "$work/ranges"
start ours "$java" $jvm_options -Xmx2g ${JAVA_OPTS:-} -cp "$class_path:${TEST_CP:-$root/benchmarks/target/classes}" \
    io.gds4j.benchmarks.FragmentFigures "$data" "$size" "$work/ranges" "$mode"
[ "$mode" = gpu ] && python3 "$here/fragments.py" 2>/dev/null &&
    start nixl python3 "$here/fragments.py" "$data" "$size" "$work/ranges"
turns() { # what they are, how many, seconds of this script, cases
    local round i case took=0 begun who name c ours nixl
    [ $# -gt 3 ] || return
    for ((round = 0; round <= $2; round++)); do
        begun=$SECONDS
        [ "$round" -gt 1 ] && [ $((SECONDS - began + took)) -gt "$3" ] && { echo "$1: out of time" >&2; break; }
        for case in "${@:4}"; do
            IFS='|' read -r name c ours nixl <<<"$case"
            # The first round prepares all programs, and the disk's pages, and does not count.
            [ "$round" = 0 ] && name=
            for who in $([ $((round % 2)) = 0 ] && echo c ours || echo ours c); do
                [ "${!who}" = - ] || run $who "${!who}" "$name"
            done
            [ "$nixl" = - ] || [ "$round" -gt "$PYTHON_ROUNDS" ] || run nixl "$nixl" "$name"
        done
        took=$((SECONDS - begun))
        echo "$1: round $round of $2, $((SECONDS - began)) s" >&2
    done
    done_rounds+="$((round - 1)) $1, "
}
done_rounds=
turns "from the page cache" "$ROUNDS" $((BUDGET * 2 / 3)) "${hot[@]}"
turns "from the disk" "$COLD" "$BUDGET" "${cold[@]}"
finish

echo
echo "$(machine "$mode"); $SIZE_GIB GiB, $THREADS callers; medians of as many alternations: ${done_rounds%, }; GB/s"
echo "ratio: median of the rounds' ours over C's; CPU: milliseconds of processor time per GB; heap: bytes of the Java heap per fragment"
echo
column() { # file, field, decimals
    [ -s "$work/$1" ] && cut -d' ' -f"$2" "$work/$1" | median | xargs printf "%.${3:-0}f" || echo -
}
printf '| %-50s | %8s | %8s | %8s | %6s | %6s | %6s | %6s | %5s |\n' case NIXL C ours ratio CPU "CPU, C" NIXL heap
printf '|%s|%s|%s|%s|%s|%s|%s|%s|%s|\n' "$(printf -- '-%.0s' {1..52})" ---------: ---------: ---------: -------: -------: -------: -------: ------:
for case in "${hot[@]}" "${cold[@]}"; do
    name=${case%%|*}
    printf '| %-50s | %8s | %8s | %8s | %6s | %6s | %6s | %6s | %5s |\n' "$name" "$(column "$name.nixl" 1 2)" "$(column "$name.c" 1 2)" "$(column "$name.ours" 1 2)" \
        "$(paste "$work/$name.ours" "$work/$name.c" 2>/dev/null | awk 'NF > 3 {printf "%.3f\n", $1 / $4}' | median | xargs -r printf %.2f | grep . || echo -)" \
        "$(column "$name.ours" 2)" "$(column "$name.c" 2)" "$(column "$name.nixl" 2)" "$(column "$name.ours" 3)"
done
if [ -s "$work/errors" ]; then
    echo >&2
    echo "fragments: what the programs said on standard error (first lines):" >&2
    sort "$work/errors" | uniq -c | sort -rn | head -8 >&2
fi
