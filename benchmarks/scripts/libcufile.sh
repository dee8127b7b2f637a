#!/bin/bash
# What a read through libcufile costs from Java beside the same read from C: the same file, cases and loops, in turns; prints
# medians and their ratio, and bytes of the Java heap for each read. The two programs, one after the other; and, since processes
# differ by more than languages do, the C program as a library of the JVM's process, where it shares the driver and libcufile with
# Java. Status 5 if a ratio of the programs or within one process, or the bytes, are past what is promised (LATENCY_PERCENT,
# RATE_PERCENT, 1 byte).
#
#   benchmarks/scripts/libcufile.sh
#
# Needs a GPU, libcufile with cufile.h, gcc, java 25. gds4j comes from GPU_CP and TEST_CP (class paths of its jars, and of
# benchmarks and of the test classes of gds-libcufile and gds-native), else from the target folders that mvn package leaves.
#
#   DIR=/data SIZE_GIB=4 LATENCY_PERCENT=5 RATE_PERCENT=2
#   ROUNDS=10 REPEAT=5  alternations of the programs, and how often each measures: its own median counts
#   PROCESSES=6         JVMs that alternate with C in themselves; all their turns count alike
#   TURNS=8             alternations in each; of 4 KiB reads, 500 at a time on one thread, ten times as many
#   JAVA_OPTS           more options of the JVM; whatever they are, the table also says what 4 KiB take with HUGE_PAGES
set -u
. "$(dirname "$0")/common.sh"
need_java
DIR=${DIR:-/data} ROUNDS=${ROUNDS:-10} SIZE_GIB=${SIZE_GIB:-4} REPEAT=${REPEAT:-5} PROCESSES=${PROCESSES:-6} TURNS=${TURNS:-8}
JAVA_OPTS=${JAVA_OPTS:-} HUGE_PAGES=-XX:+UseTransparentHugePages
work=$(mktemp -d)
data=$DIR/gds4j-libcufile.data
trap 'rm -rf "$work" "$data"' EXIT
trap 'exit 130' INT TERM
c="$flags -DGPU -DCUFILE $here/limits.c"
gcc $c -o "$work/limits" $libs -lcufile -lcuda || exit 6
gcc $c -shared -fPIC -Dmain=limits_main -o "$work/limits.so" $libs -lcufile -lcuda || exit 6
jars=${GPU_CP:-$(ls "$root"/gds-tools/target/lib/*.jar "$root"/gds-{api,native,engine,libcufile,testkit}/target/classes -d 2>/dev/null | paste -sd:)}
tests=${TEST_CP:-$root/benchmarks/target/classes:$root/gds-libcufile/target/test-classes:$root/gds-native/target/test-classes}
size=$((SIZE_GIB << 30)) small=$((256 << 20))
"$work/limits" gpu limit "$data" "create:create:$size:1:1048576" >/dev/null || exit 4

figures() { # what they are, options of the JVM, arguments
    timeout 300 "$java" -XX:+UseSerialGC -Xms64m $2 --enable-native-access=ALL-UNNAMED -cp "$jars:$tests" \
        io.gds4j.benchmarks.LibCuFileFigures "${@:3}" || { echo "$1: status $?" >&2; exit 4; }
}

latency=latency:turns:$small:$((10 * TURNS)):4096
turns=("$latency")
for ((i = 0; i < TURNS; i++)); do turns+=("rate:hot:$size:16:$((16 << 20))"); done
for ((i = 0; i < PROCESSES; i++)); do
    figures "one process" "$JAVA_OPTS" "--beside=$work/limits.so" "$data" "${turns[@]}" >>"$work/turns"
    figures "huge pages" "$JAVA_OPTS $HUGE_PAGES" "--beside=$work/limits.so" "$data" "$latency" >>"$work/huge"
done
values() { awk -v n="$1" '$1 == n {print $2}' "$2"; } # name, file
for name in latency rate; do
    values $name "$work/turns" >"$work/$name.here.java"
    values c-$name "$work/turns" >"$work/$name.here.c"
done
values bare-latency "$work/turns" >"$work/bare.here.java"
cp "$work/latency.here.c" "$work/bare.here.c"
values latency "$work/huge" >"$work/huge.here.java"
values c-latency "$work/huge" >"$work/huge.here.c"

cases=()
for ((i = 0; i < REPEAT; i++)); do
    cases+=("latency:latency:$small:1:4096" "rate:hot:$size:16:$((16 << 20))")
done
run_c() { CUFILE_LOGFILE_PATH=$work/cufile.log timeout 60 "$work/limits" gpu cufile "$data" "${cases[@]}" >"$work/out" || { echo "C: status $?" >&2; exit 4; }; sort_out c; }
run_java() { figures Java "$JAVA_OPTS" "$data" "${cases[@]}" >"$work/out"; sort_out java; }
sort_out() { # a run's own median of each case counts once
    for name in latency rate; do values $name "$work/out" | median >>"$work/$name.$1"; done
}
for ((round = 0; round < ROUNDS; round++)); do
    if [ $((round % 2)) = 0 ]; then run_c; run_java; else run_java; run_c; fi
done
figures alone "$JAVA_OPTS" "$data" "allocation:allocation:$small:1:4096" "foreign:foreign:$small:1:4096" >"$work/alone"
bytes=$(values allocation "$work/alone")

status=0
echo "$(machine gpu); medians of $ROUNDS alternations of the programs, $REPEAT measurements in each, and of $((PROCESSES * TURNS)) alternations within $PROCESSES processes, of 4 KiB $((10 * PROCESSES * TURNS)); options of the JVM: ${JAVA_OPTS:-none}"
echo
printf '| %-38s | %9s | %9s | %7s |\n' case C Java ratio
printf '|%s|%s|%s|%s|\n' "$(printf -- '-%.0s' {1..40})" ----------: ----------: --------:
line() { # name, title, allowed percent or nothing, 1 if more is better
    local c j
    c=$(median <"$work/$1.c") j=$(median <"$work/$1.java")
    printf '| %-38s | %9s | %9s | %7s |\n' "$2" "$c" "$j" "$(awk -v c="$c" -v j="$j" 'BEGIN {printf "%.4f", j / c}')"
    [ -z "$3" ] || awk -v c="$c" -v j="$j" -v p="$3" -v more="$4" 'BEGIN {r = j / c; exit !(more ? r >= 1 - p / 100 : r <= 1 + p / 100)}' || status=5
}
line latency "4 KiB hot, us" "${LATENCY_PERCENT:-5}" 0
line rate "16 MiB x 16 threads, hot, GB/s" "${RATE_PERCENT:-2}" 1
line latency.here "4 KiB, one process, us" "${LATENCY_PERCENT:-5}" 0
line bare.here "4 KiB, one process, the binding alone" "" 0
line huge.here "4 KiB, one process, huge pages" "" 0
line rate.here "16 MiB x 16, one process, GB/s" "${RATE_PERCENT:-2}" 1
printf '| %-38s | %9s | %9s | %7s |\n' "4 KiB, thread without a context, us" - "$(values foreign "$work/alone")" -
printf '| %-38s | %9s | %9s | %7s |\n' "Java heap, bytes a read" - "$bytes" -
awk -v b="$bytes" 'BEGIN {exit !(b < 1)}' || status=5
echo
for name in latency rate; do
    for who in c java; do
        echo "one process, $name, $who: $(sort -g "$work/$name.here.$who" | awk '{v[NR] = $1} END {print v[int((NR + 9) / 10)], "to", v[int((NR * 9 + 9) / 10)]}') (10th to 90th hundredth)"
    done
done
echo "runs, C:    $(paste -sd' ' "$work/latency.c") us; $(paste -sd' ' "$work/rate.c") GB/s"
echo "runs, Java: $(paste -sd' ' "$work/latency.java") us; $(paste -sd' ' "$work/rate.java") GB/s"
exit $status
