#!/bin/bash
# Random operations of the whole API beside a model of each byte, on many threads, until the time is over.
#
#   dev/campaign.sh [host|fake|gpu] [SECONDS]
#
#   dev/campaign.sh                                  host memory, then a fake GPU, 10 seconds each
#   dev/campaign.sh fake 600                         the double of the CUDA driver, 10 minutes
#   JOBS=8 DIRS="/data /dev/shm" dev/campaign.sh gpu 480
#   SEED=1234 dev/campaign.sh host 20                repeats a failed round: its message names the seed
#
# Prints a line for each JVM: its seed, rounds, operations, bytes and result; after a failure the last steps of the thread that met it,
# after a hang the stacks of all threads. Status 0 if all was right, 5 if not, 4 without a GPU.
#
# Needs java 25. Class paths: see test-jvm.sh; GPU_CP and TESTS name jars and test classes, else they are those that mvn verify leaves.
#
#   JOBS=1              JVMs at a time, each with another seed
#   THREADS=4           platform threads of each; VIRTUAL=2 virtual ones
#   DIRS=FOLDERS        where files are made (target or the temporary folder, and /dev/shm)
#   KINDS=all           kinds of memory, such as CUDA_DEVICE,HOST_PINNED; a name may come twice
#   HANG=60             seconds after which a step that has not ended counts as a hang
#   REPORTS=FOLDER      what each JVM said (a new folder)
set -u
. "$(dirname "$0")/test-jvm.sh"
mode=${1:-both} seconds=${2:-10}
case $mode in
    both | host | fake | gpu) ;;
    *) sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
esac
class_path=$(class_path_of gds-native gds-engine gds-compat gds-loader)
need_java
REPORTS=${REPORTS:-$(mktemp -d)}
mkdir -p "$REPORTS" || exit 4
if [ "$mode" = gpu ] && ! "$java" -cp "$class_path" --enable-native-access=ALL-UNNAMED io.gds4j.tools.GdsCommand check --json 2>&1 |
    grep -q '"driver":{"available":true'; then
    echo "$0: no GPU here" >&2
    exit 4
fi
folders=${DIRS:-}
if [ -z "$folders" ]; then
    folders=$root/gds-compat/target
    [ -d "$folders" ] || folders=${TMPDIR:-/tmp}
    [ -w /dev/shm ] && folders="$folders /dev/shm"
fi

status=0
printf '| %-4s | %3s | %10s | %6s | %10s | %15s | %s |\n' mode job seed rounds operations bytes result
printf '|------|----:|-----------:|-------:|-----------:|----------------:|---|\n'
for one in ${mode/both/host fake}; do
    processes=()
    for ((job = 0; job < ${JOBS:-1}; job++)); do
        seed=$((${SEED:-RANDOM * 32768 + RANDOM} + job * 1000000))
        # Ends a JVM that is beyond its own watch.
        timeout -s KILL $((seconds + 3 * ${HANG:-60} + 60)) "$java" -Xmx1g "-Dgds4j.property.seed=$seed" --enable-native-access=ALL-UNNAMED \
            "-XX:ErrorFile=$REPORTS/crash-$one-$job.txt" -cp "$class_path" io.gds4j.compat.CampaignRun "$one" "$seconds" "${HANG:-60}" \
            "${THREADS:-4}" "${VIRTUAL:-2}" "${KINDS:-all}" $folders >"$REPORTS/$one-$job.txt" 2>&1 &
        processes+=($!)
    done
    for ((job = 0; job < ${JOBS:-1}; job++)); do
        said=$REPORTS/$one-$job.txt
        wait "${processes[job]}" && result=right || { result="WRONG, see $said"; status=5; }
        set -- $(sed -n 's/^OK mode=.* seed=\([0-9]*\) rounds=\([0-9]*\) operations=\([0-9]*\) bytes=\([0-9]*\).*/\1 \2 \3 \4/p' "$said")
        printf '| %-4s | %3s | %10s | %6s | %10s | %15s | %s |\n' "$one" "$job" "${1:--}" "${2:--}" "${3:--}" "${4:--}" "$result"
        [ "$result" = right ] || grep -v '^\s*at java.base' "$said" | tail -n +2 | head -80
    done
done
exit "$status"
