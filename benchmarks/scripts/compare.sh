#!/bin/bash
# gds4j beside the limits of the machine, alternated on the same file; prints one table.
#
#   benchmarks/scripts/compare.sh [gpu|host] [quick]
#
# Needs java 25, gcc, and for gpu cuda.h and libcuda. gds4j comes from GPU_CP (a class path with gds-tools and all it
# needs), else from gds-tools/target as mvn package leaves it. Where cufile.h and libcufile are found, libcufile runs, too.
#
#   DIR=/data       folder of the files (about 1.5 x SIZE_GIB is written there)
#   SIZE_GIB=8      size of the file that is read
#   ROUNDS=10       alternations (quick: 3); the table shows medians
#   BUDGET=220      seconds after which no further round begins (quick: 75)
#   THREADS=8       threads of the hand-written pipeline (host: all processors, 8 at most); SLABS=2 SLEEP=1: see limits.c
#   TUNED=12        threads of the better pipeline (all processors, 12 at most)
#   SETTLE=10       seconds between the rounds that wait for the disk and the others
#   PAUSE=3         host: seconds after who gave gigabytes of memory back
#   LIBRARY=3       rounds in which libcufile takes part
#   LIBRARIES="1.15.1=FOLDER 1.20.0=FOLDER"   several libcufile, each with a column; a folder has libcufile.so.0
#   BEFORE_CP=CP    class path of another version of gds4j, which takes turns with this one; the table compares the two
#   ONLY=REGEX      only cases whose name matches
#   JAVA_OPTS       more options for the JVM, GDS_OPTS more options for gds io
#   PEERS=no        leave out the Python libraries of peers.py (InstantTensor, fastsafetensors, Run:ai, KvikIO, safetensors), which else
#                   take part if python3 finds them: first.sh loads a checkpoint of 4 GiB by each and by gds load, on one GPU and on
#                   all, cached and not, PEER_ROUNDS=1 fresh processes of each. ONLY=peers: nothing else
#   KEEP=1          keep the files
set -u
mode=gpu quick=
for word in "$@"; do
    case $word in
        gpu | host) mode=$word ;;
        quick) quick=yes ;;
        *) sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
    esac
done
. "$(dirname "$0")/common.sh"
cores=$(nproc)
DIR=${DIR:-/data}
mkdir -p "$DIR" || exit 4
ROUNDS=${ROUNDS:-$([ -n "$quick" ] && echo 3 || echo 10)}
SETTLE=${SETTLE:-10} PAUSE=${PAUSE:-3}
BUDGET=${BUDGET:-$([ -n "$quick" ] && echo 75 || echo 220)}
if [ "$mode" = gpu ]; then
    SIZE_GIB=${SIZE_GIB:-8}
    THREADS=${THREADS:-8}
else
    # The file and a buffer of its size fit into memory beside each other.
    memory=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
    SIZE_GIB=${SIZE_GIB:-$((memory >= 16 ? 4 : memory >= 6 ? 1 : 0))}
    THREADS=${THREADS:-$((cores < 8 ? cores : 8))}
fi
[ "$SIZE_GIB" -ge 1 ] || { echo "compare: too little memory for a file of 1 GiB" >&2; exit 4; }
G=$((1 << 30)) M=$((1 << 20)) K=1024
size=$((SIZE_GIB * G))
four=$((size < 4 * G ? size : 4 * G))
work=$(mktemp -d)
data=$DIR/gds4j-compare.data
began=$SECONDS
trap '[ -n "${KEEP:-}" ] || rm -rf "$data" "$data".w* "$DIR/gds4j-first"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# --- programs ---------------------------------------------------------------------------------------------------------
cufile=
if [ "$mode" = host ]; then
    gcc -O2 -pthread "$here/limits.c" -o "$work/limits" || exit 6
elif gcc $flags -DGPU -DCUFILE "$here/limits.c" -o "$work/limits" $libs -lcufile -lcuda 2>"$work/gcc"; then
    cufile=yes
elif ! gcc $flags -DGPU "$here/limits.c" -o "$work/limits" $libs -lcuda 2>"$work/gcc"; then
    cat "$work/gcc" >&2
    exit 6
fi
need_gds
# VERSION=FOLDER of each libcufile; the one that the linker finds has neither.
read -r -a libraries <<<"${LIBRARIES:-}"
[ ${#libraries[@]} -gt 0 ] || libraries=(=)

jvm=("$java" $jvm_options ${JAVA_OPTS:-})
command=(io.gds4j.tools.GdsCommand io ${GDS_OPTS:-} --json)
declare -A path_of=([ours]=$class_path [before]=${BEFORE_CP:-}) to_jvm=() from_jvm=()
# One JVM per version runs all cases of all rounds, as a program that lives longer than a call; "first call of a JVM" has its own.
gds() { # version, options of gds io
    local version=$1 fd
    shift
    if [[ " $* " = *" --warm-up 0 "* ]]; then
        local archive=$work/$version.jsa
        # As in the launcher, the JVM finds its classes in an archive.
        [ -e "$archive" ] || timeout 60 "${jvm[@]}" -XX:ArchiveClassesAtExit="$archive" -cp "${path_of[$version]}" "${command[@]}" "$@" >/dev/null 2>&1
        timeout 60 "${jvm[@]}" -XX:SharedArchiveFile="$archive" -Xshare:auto -cp "${path_of[$version]}" "${command[@]}" "$@"
        return
    fi
    if [ -z "${to_jvm[$version]:-}" ]; then
        rm -f "$work/$version.in" "$work/$version.out"
        mkfifo "$work/$version.in" "$work/$version.out"
        timeout 3600 "${jvm[@]}" -cp "${path_of[$version]}" "${command[@]}" --series /dev/stdin \
            <"$work/$version.in" >"$work/$version.out" 2>>"$work/errors" &
        exec {fd}>"$work/$version.in"
        to_jvm[$version]=$fd
        exec {fd}<"$work/$version.out"
        from_jvm[$version]=$fd
    fi
    echo "$*" >&"${to_jvm[$version]}" && read -r -t 60 -u "${from_jvm[$version]}" result && [[ $result != *'"error"'* ]] && echo "$result"
}

# --- cases: name | limit's case | libcufile's case | options of gds io | what of the result | better limit's case -----
# Cases of the C program are kind:bytes:threads:request[:offset], or - for none. "same" takes the JVM run before it.
# Equal cases of the C program run once a round and count in each row.
[ "$mode" = gpu ] && device="-d 0" || device="-d host"
cold=$G
cases=()
TUNED=${TUNED:-$((cores < 12 ? cores : 12))}
disk=() rest=()
add() {
    [[ $1 =~ ${ONLY:-.} ]] || return 0
    local limit=$2 tuned=-
    if [ "$mode" = gpu ] && [[ $limit =~ ^hot:([0-9]+): ]]; then
        # The pipelines cut as they like: whatever the request is, it is one measurement.
        limit=hot:${BASH_REMATCH[1]}:$THREADS:$((4 * M))
        tuned=tuned:${BASH_REMATCH[1]}:$TUNED:$((4 * M))
    elif [[ $limit =~ ^calls:([0-9]+):16: ]]; then
        tuned=tuned:${BASH_REMATCH[1]}:$TUNED:$((4 * M))
    elif [[ $limit =~ ^calls: ]]; then
        tuned=${limit/calls/gathered}
    elif [[ $limit =~ ^sbatch: ]]; then
        tuned=${limit/sbatch/fbatch}
    elif [[ $limit =~ ^mixed: ]]; then
        tuned=${limit/mixed/halves}
    elif [[ $limit =~ ^pool:([0-9]+):[0-9]+:([0-9]+)$ ]]; then
        # Adjacent entries are one read of up to 16 MiB; four of them at a time.
        local together=$((BASH_REMATCH[2] * 128 < 16 * M ? BASH_REMATCH[2] * 128 : 16 * M))
        tuned=gathered:${BASH_REMATCH[1]}:$((together < 16 * M ? 1 : 4)):$together
    fi
    # What waits for the disk has rounds of its own, before all others: where a host takes back what a guest frees, which begins
    # seconds after a large file has left the page cache or a large program has ended, disk and memory are slower meanwhile.
    if [[ $4 =~ --(cold|mixed) ]]; then disk+=(${#cases[@]}); else rest+=(${#cases[@]}); fi
    cases+=("$1|$limit|$3|$4|$5|$tuned")
}
f="-f $data $device"
if [ "$mode" = gpu ]; then
    add "one call 1 GiB, hot"            "hot:$G:$THREADS:$G"             "hot:$G:1:$G"             "$f -s 1G -i 1G --hot -O 1 -T 0.2" rate
    [ "$SIZE_GIB" -ge 4 ] && add "one call 4 GiB, hot" "hot:$((4 * G)):$THREADS:$((4 * G))" "hot:$((4 * G)):1:$G" "$f -s 4G -i 4G --hot -O 1 -T 0.3" rate
    [ "$SIZE_GIB" -gt 4 ] && add "one call $SIZE_GIB GiB, hot" "hot:$size:$THREADS:$size" "hot:$size:1:$G" "$f -s ${SIZE_GIB}G -i ${SIZE_GIB}G --hot -O 1" rate
    [ "$SIZE_GIB" -ge 4 ] && add "first call of a JVM, 4 GiB, hot" "hot:$((4 * G)):$THREADS:$((4 * G))" - "$f -s 4G -i 4G --hot -O 1 --warm-up 0" rate
    add "O_DIRECT handle, hot, 4 GiB"    "hot:$four:$THREADS:$G" "cold:$G:1:$G" "$f -s $four -i $four --hot -T 0.3" rate
    add "16 callers x 16 MiB, hot"       "calls:$size:16:$((16 * M))" "hot:$size:16:$((16 * M))" "$f -s ${SIZE_GIB}G -w 16 -i 16M --hot -O 1" rate
    add "4 callers x 16 MiB, hot"        "calls:$size:4:$((16 * M))" "hot:$size:4:$((16 * M))"  "$f -s ${SIZE_GIB}G -w 4 -i 16M --hot -O 1 -T 0.3" rate
    add "4 callers x 512 KiB, hot"       "calls:$size:4:$((512 * K))" "hot:$size:4:$((512 * K))" "$f -s ${SIZE_GIB}G -w 4 -i 512K --hot -O 1 -T 0.3" rate
    add "64 KiB random, 16 callers, hot" "random:$size:16:$((64 * K))"    "random:$size:16:$((64 * K))" "$f -s ${SIZE_GIB}G -I 2 -w 16 -i 64K --hot -O 1 -T 0.3" rate
    add "256 KiB random, 16 callers, hot" "random:$size:16:$((256 * K))"  "random:$size:16:$((256 * K))" "$f -s ${SIZE_GIB}G -I 2 -w 16 -i 256K --hot -O 1 -T 0.3" rate
    add "cold, O_DIRECT, 1 caller x 16 MiB" "cold:$cold:1:$((16 * M))"    "cold:$cold:1:$((16 * M))" "$f -s 1G -w 1 -i 16M --cold" rate
    add "cold, O_DIRECT, 8 callers x 16 MiB" "cold:$cold:8:$((16 * M))"   "cold:$cold:8:$((16 * M))" "$f -s 1G -w 8 -i 16M --cold" rate
    add "cold, buffered handle, one call 1 GiB" "bcold:$cold:8:$((16 * M))" "bcold:$cold:1:$G"     "$f -s 1G -i 1G --cold -O 1" rate
    add "half cached, O_DIRECT, one call 1 GiB" "mixed:$G:8:$((16 * M))"  -                         "$f -s 1G -i 1G --mixed --warm-up 0.01" rate
    add "8 callers x 16 MiB: slowest over mean" - -                       "$f -s ${SIZE_GIB}G -w 8 -i 16M --hot -O 1 -T 0.5" fairness
    add "allocated per read of 4 KiB, bytes" - -                          "$f -s 256M -i 4K --hot -O 1 -T 2 --warm-up 1" alloc
    add "write to page cache, 1 GiB"     "wcache:$G:$THREADS:$G"          "wcache:$G:1:$((64 * M))" "-f $data.wc $device -s 1G -I 1 -i 1G -O 1" rate
    add "write O_DIRECT, 1 x 64 MiB"     "wdirect:$G:1:$((64 * M))"       "wdirect:$G:1:$((64 * M))" "-f $data.wd $device -s 1G -I 1 -i 64M --warm-up 0.01" rate
    batch="$f -x 6 -B 128 -w 1"
    add "batch 128 x 4 KiB, hot, us each" "batch:$((64 * M)):1:$((4 * K))" "batch:$((64 * M)):1:$((4 * K))" "$batch -s 64M -i 4K --hot -O 1 -T 0.3" each:4096
    add "batch 128 x 4 KiB with reports, hot, us each" "batch:$((64 * M)):1:$((4 * K))" "batch:$((64 * M)):1:$((4 * K))" "$batch -s 64M -i 4K --hot -O 1 -T 0.3 --results" each:4096
    add "batch 128 x 4 KiB anywhere, hot, us each" "batch:$((64 * M)):1:$((4 * K))" - "$batch -s 1G -i 4K -I 2 --hot -O 1 -T 0.3" each:4096
    add "batch 128 x 4 KiB, cold, O_DIRECT, us each" "cbatch:$((16 * M)):16:$((4 * K))" "cbatch:$((16 * M)):1:$((4 * K))" "$batch -s 16M -i 4K --cold" each:4096
    add "batch 128 x 4 KiB anywhere, cold, O_DIRECT, us each" "sbatch:$((16 * M)):16:$((4 * K))" "sbatch:$((16 * M)):1:$((4 * K))" "$batch -s 16M -i 4K -I 2 --cold" each:4096
    add "batch 128 x 4 KiB anywhere, cold, O_DIRECT, io_uring, us each" - - "$batch -s 16M -i 4K -I 2 --cold --io-uring" each:4096
    add "batch 128 x 64 KiB, hot"        "pool:$G:$TUNED:$((64 * K))"     -                           "$batch -s 1G -i 64K --hot -O 1 -T 0.3" rate
    add "batch 128 x 1 MiB, hot"         "pool:$G:$TUNED:$M"              -                           "$batch -s 1G -i 1M --hot -O 1 -T 0.3" rate
else
    add "64 KiB random, $THREADS callers, hot" "random:$size:$THREADS:$((64 * K))" - "$f -s ${SIZE_GIB}G -I 2 -w $THREADS -i 64K --hot -O 1 -T 0.5 --warm-up 1.5" rate
    # Plain pread in the same loop of Java, with the same three looks at the clock for each request, which C has not.
    add "64 KiB random, $THREADS callers, hot, gds io -x 1" "random:$size:$THREADS:$((64 * K))" - "$f -s ${SIZE_GIB}G -I 2 -w $THREADS -i 64K --hot -O 1 -T 0.5 --warm-up 1.5 -x 1" rate
    add "8 callers x 16 MiB: slowest over mean" - - "$f -s 1G -w 8 -i 16M --hot -O 1 -T 0.5" fairness
    add "allocated per read of 4 KiB, bytes" - - "$f -s 256M -i 4K --hot -O 1 -T 3 --warm-up 2" alloc
    add "write to page cache, 256 MiB" "wcache:$((256 * M)):$THREADS:$((4 * M))" - "-f $data.wc $device -s 256M -I 1 -i 256M -O 1 -T 0.5" rate
    add "write O_DIRECT, 1 x 64 MiB" "wdirect:$((256 * M)):1:$((64 * M))" - "-f $data.wd $device -s 256M -I 1 -i 64M -T 0.5 --warm-up 0.5" rate
    batch="-f $data $device -x 6 -B 128 -w 1 -s 64M -i 4K --hot -O 1 -T 0.3 --warm-up 1"
    add "batch 128 x 4 KiB, hot, us each" - - "$batch" each:4096
    add "batch 128 x 4 KiB with reports, hot, us each" - - "$batch --results" each:4096
    add "cold, O_DIRECT, 1 caller x 16 MiB" "cold:$cold:1:$((16 * M))" - "$f -s 1G -w 1 -i 16M --cold --warm-up 0.3" rate
    add "cold, O_DIRECT, 4 callers x 16 MiB" "cold:$cold:4:$((16 * M))" - "$f -s 1G -w 4 -i 16M --cold --warm-up 0.3" rate
    add "cold, buffered handle, one call 1 GiB" "bcold:$cold:$THREADS:$((16 * M))" - "$f -s 1G -i 1G --cold -O 1" rate
    add "half cached, O_DIRECT, one call 1 GiB" "mixed:$G:$THREADS:$((16 * M))" - "$f -s 1G -i 1G --mixed --warm-up 0.3" rate
fi
# Where the compiler has no processor for itself it takes longer.
[ "$mode" = gpu ] && settle=0.4 || settle=1
small=$((256 * M))
add "4 KiB latency, hot, us"   "latency:$small:1:$((4 * K))"  "latency:$small:1:$((4 * K))"  "$f -s 256M -i 4K:1M:*16 --hot -O 1 -T 0.25 --warm-up $settle" avg:4096
add "64 KiB latency, hot, us"  "latency:$small:1:$((64 * K))" "latency:$small:1:$((64 * K))" same avg:65536
add "1 MiB latency, hot, us"   "latency:$small:1:$M"          "latency:$small:1:$M"          same avg:1048576
add "4 KiB latency with a report, hot, us" "latency:$small:1:$((4 * K))" "latency:$small:1:$((4 * K))" "$f -s 256M -i 4K --hot -O 1 -T 0.25 --warm-up $settle --results" avg:4096
add "1 MiB unaligned by 3, hot, us" "latency:$((small - M)):1:$M:3" "latency:$((small - M)):1:$M:3" "$f -o 3 -s 255M -i 1M --hot -O 1 -T 0.25 --warm-up $settle" avg:1048576

if [ "$mode" = gpu ]; then
    # Late: libcufile's program ends at the first read on a stream that fails, and all but the first did.
    add "16 MiB a call, 1 caller, hot"   "calls:$four:1:$((16 * M))" "hot:$G:1:$((16 * M))" "$f -s $four -w 1 -i 16M --hot -O 1 -T 0.5" rate
    add "16 MiB on one stream, hot"      "queued:$four:$((TUNED + 1)):$((16 * M))" "stream:$G:1:$((16 * M))" "$f -x 7 -B 32 -s $four -w 1 -i 16M --hot -O 1 -T 0.5" rate
else
    # Last: they give gigabytes back, which who comes next feels while the host takes them.
    add "one call $SIZE_GIB GiB, hot, fresh memory" "fresh:$size:$THREADS:$((4 * M))" - "$f -s ${SIZE_GIB}G -i ${SIZE_GIB}G --hot -O 1 --fresh" rate
    add "one call 256 MiB, hot, reused memory" "hot:$((256 * M)):$THREADS:$((4 * M))" - "$f -s 256M -i 256M --hot -O 1 -T 0.3" rate
    add "O_DIRECT handle, hot, 1 GiB" "hot:$G:$THREADS:$((4 * M))" - "$f -s 1G -i 1G --hot -T 0.5 --warm-up 0.6" rate
    add "one call $SIZE_GIB GiB, hot, reused memory" "hot:$size:$THREADS:$((4 * M))" - "$f -s ${SIZE_GIB}G -i ${SIZE_GIB}G --hot -O 1 -T 0.5" rate
fi

# --- files ------------------------------------------------------------------------------------------------------------
echo "making $data, $SIZE_GIB GiB" >&2
if [ "$(stat -c %s "$data" 2>/dev/null || echo 0)" -lt "$size" ]; then
    "$work/limits" "$mode" limit "$data" "create:create:$size:1:$M" >/dev/null || exit 4
fi
[ "$mode" = gpu ] && written=$G || written=$small
for kind in wc wd; do
    [ -n "${ONLY:-}" ] && ! printf '%s\n' "${cases[@]}" | grep -q "data\.$kind" && continue
    "$work/limits" "$mode" limit "$data.$kind" "create:create:$written:1:$M" >/dev/null || exit 4
done

# --- rounds -----------------------------------------------------------------------------------------------------------
# With a GPU a round is all cases of the C program, then all of ours, or the other way round: of those that wait for the disk, then,
# when memory has settled, of the others. With host memory C and ours take turns case by case, because a virtual machine's memory
# changes its pace by half every few minutes; C is one process for all rounds, too, and keeps its memory.
declare -A to_c=() from_c=()
ask_c() { # file, cases
    local name=${1##*.} spec fd
    if [ -z "${to_c[$name]:-}" ]; then
        rm -f "$work/$name.in" "$work/$name.out"
        mkfifo "$work/$name.in" "$work/$name.out"
        "$work/limits" host limit "$1" - <"$work/$name.in" >"$work/$name.out" 2>>"$work/errors" &
        exec {fd}>"$work/$name.in"
        to_c[$name]=$fd
        exec {fd}<"$work/$name.out"
        from_c[$name]=$fd
    fi
    for spec in "${@:2}"; do
        echo "$spec" >&"${to_c[$name]}"
        read -r -t 60 -u "${from_c[$name]}" result || { unset "to_c[$name]"; return 1; }
        echo "$result"
    done
}
c_cases() { # engine, columns of its cases; for libcufile: library_version and library_folder say which
    local engine=$1 file i column spec fields name=$1${library_version:+-$library_version}
    shift
    for file in "$data" "$data.wc" "$data.wd"; do
        local specs=()
        for i in "${now[@]}"; do
            IFS='|' read -r -a fields <<<"${cases[$i]}"
            for column; do
                spec=${fields[$column]}
                case $spec in -) continue ;; wcache:*) [ "$file" = "$data.wc" ] || continue ;;
                    wdirect:*) [ "$file" = "$data.wd" ] || continue ;; *) [ "$file" = "$data" ] || continue ;; esac
                spec=${spec//:/_}:$spec
                [[ " ${specs[*]} " = *" $spec "* ]] || specs+=("$spec")
            done
        done
        [ ${#specs[@]} = 0 ] && continue
        if [ "$mode" = host ]; then
            ask_c "$file" "${specs[@]}" >"$work/out" || echo "limits $file: does not answer" >>"$work/errors"
        else
            LD_LIBRARY_PATH=${library_folder:+$library_folder:}${LD_LIBRARY_PATH:-} timeout 60 "$work/limits" "$mode" "$engine" "$file" "${specs[@]}" \
                2>>"$work/errors" >"$work/out" || echo "limits $name $file: status $?" >>"$work/errors"
        fi
        while read -r spec value cpu; do
            echo "$value" >>"$work/$name.$spec"
            [ -z "$cpu" ] || echo "$cpu" >>"$work/$name.$spec.cpu"
        done <"$work/out"
    done
}
our_cases() { # version
    local version=${1:-ours} i name ours what line= value size
    for i in "${now[@]}"; do
        [ $((SECONDS - began)) -gt $((until + 15)) ] && { echo "out of time in the middle of a round" >>"$work/errors"; return; }
        IFS='|' read -r name _ _ ours what _ <<<"${cases[$i]}"
        if [ "$ours" != same ]; then
            [ "$what" = alloc ] && [ "$round" -gt 2 ] && continue
            # As in C, a read that waits for the disk runs once uncounted: memory that the page cache had not used lately is slow at first.
            [[ $ours = *--cold* ]] && gds "$version" $ours >/dev/null 2>>"$work/errors"
            gds "$version" $ours >"$work/line" 2>>"$work/errors" && line=$(<"$work/line") || { echo "gds io $ours: status $?" >>"$work/errors"; line=; continue; }
        fi
        [ -n "$line" ] || continue
        case $what in
            fairness) value=$(echo "$line" | number fairness "" | awk '{printf "%.2f", $1}') ;;
            alloc) value=$(echo "$line" | number allocatedBytesPerOp "" | awk '{printf "%.2f", $1}') ;;
            rate) value=$(echo "$line" | number bytesPerSecond "" | awk '{printf "%.3f", $1 / 1e9}') ;;
            each:*) value=$(echo "$line" | number bytesPerSecond "" | awk -v s="${what#each:}" '{printf "%.3f", s / $1 * 1e6}') ;;
            avg:*) size=${what#avg:}
                value=$(echo "$line" | number avg "\"ioSize\":$size,[^{]*{" | awk '{printf "%.3f", $1}') ;;
        esac
        [ -n "$value" ] && echo "$value" >>"$work/$i.$version"
        [ "$what$version" = rateours ] && echo "$line" | number cpuSecondsPerGB "" >>"$work/$i.cpu"
    done
}
# Nobody always follows the same one, and each is first, in the middle and last equally often.
orders=("limit ours before" "before limit ours" "ours before limit" "before ours limit" "limit before ours" "ours limit before")
run_rounds() { # what they are, seconds after which no further one begins, cases
    local until=$2 started=$SECONDS left took i group who groups=()
    [ $# -gt 2 ] || return
    for i in "${@:3}"; do
        # What one run of ours tells stays together.
        if [ ${#groups[@]} = 0 ] || [ "$mode" = host ] && [[ ${cases[$i]} != *'|same|'* ]]; then groups+=("$i"); else groups[-1]+=" $i"; fi
    done
    for ((round = 0; round < ROUNDS; round++)); do
        left=$((until - (SECONDS - began)))
        took=$((round > 0 ? (SECONDS - started) / round : 0))
        [ "$round" -gt 0 ] && [ "$left" -lt "$took" ] && { echo "out of time after $round rounds" >&2; break; }
        for group in "${groups[@]}"; do
            now=($group)
            for who in ${orders[$((round % ${#orders[@]}))]}; do
                case $who in
                    limit) c_cases limit 1 5 ;;
                    ours) our_cases ;;
                    before) [ -n "${BEFORE_CP:-}" ] || continue; our_cases before ;;
                esac
                let_memory_settle
            done
        done
        # Opening the library costs half a second: three figures are enough for a column that nobody has to reach. (With a GPU there
        # is one group.)
        if [ -n "$cufile" ] && [ "$round" -lt "${LIBRARY:-3}" ]; then
            for who in "${libraries[@]}"; do library_version=${who%%=*} library_folder=${who#*=} c_cases cufile 2; done
        fi
        echo "$1: round $((round + 1)) of $ROUNDS, $((SECONDS - began)) s" >&2
    done
    rounds_done+="$round $1, "
}
# After cases of host memory that give gigabytes back.
let_memory_settle() {
    [ "$mode" = host ] && [[ ${cases[${now[0]}]} =~ \|(hot|fresh):([0-9]+): ]] && [ "${BASH_REMATCH[2]}" -ge $G ] && sleep "$PAUSE"
}
rounds_done=
both=$((${#disk[@]} && ${#rest[@]}))
run_rounds "from the disk" $((both ? BUDGET * 2 / 5 : BUDGET)) "${disk[@]}"
[ $both = 0 ] || sleep "$SETTLE"
run_rounds "from memory" "$BUDGET" "${rest[@]}"

# --- table ------------------------------------------------------------------------------------------------------------
echo
echo "$(machine "$mode"); medians of as many alternations: $rounds_done$THREADS threads in the limit$([ "$mode" = gpu ] && echo ", $TUNED in the tuned one")"
echo "GB/s where not said otherwise; ratio: ours over the better limit, for latencies below 1 is better; CPU: milliseconds per GB of ours, C: of the better limit"
echo
columns=() lines=()
for who in "${libraries[@]}"; do
    name=${who%%=*}
    columns+=("$(printf '%9s' "${name:-libcufile}")") lines+=(----------:)
done
between() { local IFS='|'; echo "$*"; }
printf '| %-52s | %9s | %9s |%s | %9s | %6s | %6s | %6s |\n' case limit tuned "$(printf ' %s |' "${columns[@]}" | sed 's/ |$//')" ours ratio CPU "CPU, C"
printf '|%s|%s|%s|%s|%s|%s|%s|%s|\n' "$(printf -- '-%.0s' {1..54})" ----------: ----------: "$(between "${lines[@]}")" ----------: -------: -------: -------:
status=0
for i in "${!cases[@]}"; do
    IFS='|' read -r case limit library _ what tuned <<<"${cases[$i]}"
    limit_cpu=$(median "$work/limit.${limit//:/_}.cpu")
    tuned_cpu=$(median "$work/limit.${tuned//:/_}.cpu")
    limit=$(median "$work/limit.${limit//:/_}")
    tuned=$(median "$work/limit.${tuned//:/_}")
    figures=()
    for who in "${libraries[@]}"; do
        name=${who%%=*} figure=$(median "$work/cufile${name:+-$name}.${library//:/_}")
        figures+=("$(printf ' %9s' "${figure:--}")")
    done
    ours=$(median "$work/$i.ours")
    cpu=$(median "$work/$i.cpu")
    [ -n "$ours" ] || status=4
    ratio=$(awk -v o="${ours:-0}" -v l="${limit:-0}" -v t="${tuned:-0}" -v us="$([[ $what = rate ]] || echo 1)" 'BEGIN {
        if (!us && t + 0 > l + 0) l = t
        if (o > 0 && l > 0) printf "%.2f", o / l; else print "-"
    }')
    printf '| %-52s | %9s | %9s |%s | %9s | %6s | %6s | %6s |\n' "$case" "${limit:--}" "${tuned:--}" "$(IFS='|'; echo "${figures[*]}" | sed 's/|/ |/g')" "${ours:--}" "$ratio" \
        "$(awk -v c="${cpu:-0}" 'BEGIN {if (c > 0) printf "%.0f", c * 1000; else print "-"}')" \
        "$(awk -v l="${limit:-0}" -v t="${tuned:-0}" -v lc="${limit_cpu:--}" -v tc="${tuned_cpu:--}" 'BEGIN {print (t + 0 > l + 0 ? tc : lc)}')"
done
if [ -s "$work/errors" ]; then
    echo >&2
    echo "compare: what the programs said on standard error (first lines):" >&2
    sort "$work/errors" | uniq -c | sort -rn | head -8 >&2
fi
# "ours/before" is the median of the rounds' ratios: a machine whose pace changes between rounds does not change them. "+-" is its
# standard error, from the middle half of the ratios: a row that is less than twice that away from 1 proves nothing.
if [ -n "${BEFORE_CP:-}" ]; then
    printf '\n| %-52s | %9s | %9s | %11s | %6s |\n' case before ours ours/before +-
    printf '|%s|%s|%s|%s|%s|\n' "$(printf -- '-%.0s' {1..54})" ----------: ----------: ------------: -------:
    for i in "${!cases[@]}"; do
        [ -s "$work/$i.before" ] && [ -s "$work/$i.ours" ] || continue
        printf '| %-52s | %9s | %9s | %11s | %6s |\n' "${cases[$i]%%|*}" "$(median "$work/$i.before")" "$(median "$work/$i.ours")" \
            $(paste "$work/$i.ours" "$work/$i.before" | awk 'NF == 2 && $2 > 0 {print $1 / $2}' | sort -g | awk '{v[NR] = $1} END {
                if (NR == 0) print "- -"
                else printf "%.3f %.3f", (v[int((NR + 1) / 2)] + v[int(NR / 2 + 1)]) / 2,
                    0.93 * (v[int(NR * 3 / 4 + 0.5)] - v[int(NR / 4 + 0.75)]) / sqrt(NR)
            }')
    done
fi
# --- peers ------------------------------------------------------------------------------------------------------------
# First loads of fresh processes, and later ones, on one GPU and on all of them, in the page cache and on the disk.
if [ "$mode" = gpu ] && [ "${PEERS:-}" != no ] && [[ peers =~ ${ONLY:-.} ]] && [ -n "$(python3 "$here/peers.py" list 2>/dev/null)" ]; then
    rm -f "$data"
    for gpus in $(printf '%s\n' 1 "$(nvidia-smi --list-gpus | wc -l)" | sort -nu); do
        for cold in "" 1; do
            echo
            DIR=$DIR SIZE=$((four / G)) ROUNDS=${PEER_ROUNDS:-1} GPUS=$gpus COLD=$cold LATER=$([ -n "$cold" ] || echo 3) ONLY= KEEP=$work/peers.$gpus.$cold \
                "$here/first.sh"
        done
    done
fi
exit $status
