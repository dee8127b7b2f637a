#!/bin/bash
# Runs all tests that are tagged gpu on this machine's GPU and prints one table of them.
#
#   dev/gpu-tests.sh [-Dkey=value ...] [REGEX]
#
#   dev/gpu-tests.sh                                                all
#   dev/gpu-tests.sh 'Soak' -Dgds4j.property.seconds=120            classes whose name matches; a longer soak
#   SEEDS='1 2 3' dev/gpu-tests.sh Misuse                           storms of misuse once for each seed
#
# ptxas checks the programs of the kernels where CUDA is installed. Each class has a JVM of its own, and each group of a contract, too. What is also tagged alone, because it measures what
# processor, process or GPU have left, comes at the end, one after the other. A JVM that takes too long tells where its threads
# are and is killed. Status 0 if nothing failed (a test that an assumption ended counts as neither), 5 if something failed, died
# or did not get to run, 4 without a GPU: then nothing runs, and the table says so.
#
# Needs java 25. Class paths: see test-jvm.sh; GPU_CP and TESTS name jars and test classes, else they are those that mvn
# verify leaves behind.
#
#   JOBS=5              JVMs at a time
#   SECONDS_EACH=120    seconds of a JVM, to which come four times those of -Dgds4j.property.seconds
#   BUDGET=570          seconds after which no further JVM begins (without end)
#   SEEDS='1 2 3'       seeds of the storms of misuse (one that the time gives)
#   WHOLE=yes           groups of a contract in one JVM together
#   REPORTS=FOLDER      what each JVM said (a new folder)
#   TAG=gpu             another tag
set -u
here=$(dirname "$0")
. "$here/test-jvm.sh"
modules="gds-native gds-engine gds-libcufile gds-compat gds-jcuda gds-loader gds-dataset gds-interop gds-rdma gds-remote gds-testkit gds-testkit-contract gds-tools samples"
selection=. properties=() seconds=20
for word in "$@"; do
    case $word in
        -Dgds4j.property.seconds=*) properties+=("$word") seconds=${word#*=} ;;
        -D*) properties+=("$word") ;;
        -*) sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
        *) selection=$word ;;
    esac
done
TAG=${TAG:-gpu}
REPORTS=${REPORTS:-$(mktemp -d)}
mkdir -p "$REPORTS/jobs" || exit 4
REPORTS=$(cd "$REPORTS" && pwd)
rm -rf "$REPORTS"/jobs/*
class_path=$(class_path_of $modules)
need_test_jvm
began=$SECONDS

# --- what there is: a file for each JVM, with the ids of its tests ----------------------------------------------------
folders=
for module in $modules; do [ -d "$(tests_of "$module")" ] && folders=$folders:$(tests_of "$module"); done
[ -n "$folders" ] || { echo "$0: no test classes; TESTS names their folder, mvn verify makes them" >&2; exit 6; }
"$java" -cp "$class_path" --enable-native-access=ALL-UNNAMED org.junit.platform.console.ConsoleLauncher discover --include-engine junit-jupiter \
    --include-tag "$TAG" --scan-classpath "${folders#:}" --details=verbose --details-theme=ascii --disable-banner \
    --disable-ansi-colors >"$REPORTS/discovered.txt" 2>&1
awk -v folder="$REPORTS/jobs" -v selection="$selection" -v whole="${WHOLE:-}" -v seeds="${SEEDS:-}" '
    / tags: \[/ { alone = /[[ ]alone[],]/ }
    / uniqueId: \[engine:junit-jupiter\]\/\[class:/ {
        id = $0
        sub(/.* uniqueId: /, "", id)
        if (id !~ /\[(method|test-factory|test-template):/) next
        name = id
        sub(/^[^\/]*\/\[class:/, "", name)
        class = name
        sub(/\].*/, "", class)
        group = name
        name = class
        if (!whole && sub(/^[^\]]*\]\/\[nested-class:/, "", group)) {
            sub(/\].*/, "", group)
            name = name "$" group
        }
        if (name !~ selection) next
        count = name ~ /MisuseTest$/ ? split(seeds, each, " ") : 0
        for (i = count > 0; i <= count; i++)
            print id >(folder "/" (alone ? "2" : "1") " " name (i ? " seed=" each[i] : ""))
    }' "$REPORTS/discovered.txt"
cd "$REPORTS/jobs" || exit 4
jobs_found=(*)
[ -e "${jobs_found[0]}" ] || { echo "$0: no class with the tag $TAG matches $selection" >&2; tail -3 "$REPORTS/discovered.txt" >&2; exit 2; }
for job in "${jobs_found[@]}"; do rm -rf "${REPORTS:?}/${job#? }"; done

# --- is there a GPU? --------------------------------------------------------------------------------------------------
lacking=
if [ "$TAG" = gpu ]; then
    found=$("$java" -cp "$class_path" --enable-native-access=ALL-UNNAMED io.gds4j.tools.GdsCommand check --json 2>&1)
    case $found in
        *'"driver":{"available":true'*) ;;
        *'"reason":"'*) lacking=$(echo "$found" | grep -o '"driver":{[^}]*"reason":"[^"]*"' | sed 's/.*:"//;s/"$//') ;;
        *) lacking=$(echo "$found" | tail -1) ;;
    esac
fi

# --- JVMs -------------------------------------------------------------------------------------------------------------
one() { # name of the job's file
    local name=${1#? } began=$SECONDS at=$root ids=() line heap=(-Xmx1g) own=("${properties_of_all[@]}") status
    [ "$(date +%s)" -lt "$deadline" ] || return 0
    while read -r line; do ids+=(--select-unique-id "$line"); done <"$REPORTS/jobs/$1"
    # Else what of the heap is resident, and what each of libc's many arenas has kept, comes and goes with what such a test measures.
    [ "${1:0:1}" = 2 ] && heap=(-Xms2g -Xmx2g -XX:+AlwaysPreTouch) && export MALLOC_ARENA_MAX=2
    [ "$name" != "${name#* seed=}" ] && own+=("-Dgds4j.property.seed=${name#* seed=}")
    local class=${name%% *} module first=
    class=${class%%$*}
    for module in $modules; do
        [ -e "$(tests_of "$module")/${class//.//}.class" ] && first=$module && break
    done
    [ -d "$root/$first/src" ] && at=$root/$first && mkdir -p "$at/target"
    local to=$REPORTS/$name
    mkdir -p "$to"
    { (cd "$at" && exec timeout -s QUIT -k 5 "$each" "$java" "${heap[@]}" "${own[@]}" --enable-native-access=ALL-UNNAMED \
        --sun-misc-unsafe-memory-access=allow "-XX:ErrorFile=$to/crash.txt" \
        -cp "$(tests_of "$first"):$class_path" org.junit.platform.console.ConsoleLauncher execute --include-engine junit-jupiter --include-tag "$TAG" \
        --details=testfeed --disable-banner --disable-ansi-colors --reports-dir "$to" "${ids[@]}"); } >"$to/output.txt" 2>&1
    status=$?
    echo "$status $((SECONDS - began))" >"$to/status"
    echo "$name: status $status, $((SECONDS - began)) s" >&2
}
run() { # JVMs at a time, files of jobs
    local at_a_time=$1
    shift
    [ -e "$1" ] && printf '%s\0' "$@" | xargs -0 -P "$at_a_time" -n 1 bash -c 'properties_of_all=($PROPERTIES); one "$1"' one
}
export -f one tests_of
export root java class_path modules REPORTS TAG TESTS="${TESTS:-}" PROPERTIES="${properties[*]}"
export each=$((${SECONDS_EACH:-120} + 4 * seconds)) deadline=$(($(date +%s) + ${BUDGET:-1000000}))
if [ -z "$lacking" ]; then
    run "${JOBS:-5}" 1\ *
    run 1 2\ *
fi

# --- kernels: the assembler says more than the driver, and of all GPUs -------------------------------------------------
bad=0 programs=
ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)
if [ -n "$ptxas" ] && mkdir -p "$REPORTS/ptx" && "$java" -cp "$class_path" io.gds4j.engine.kernel.PtxFiles "$REPORTS/ptx"; then
    for program in "$REPORTS"/ptx/*.ptx; do
        # The oldest that this assembler knows and the program allows.
        for arch in $(sed -n 's/^\.target //p' "$program") sm_75 sm_90; do
            "$ptxas" -arch="$arch" -o /dev/null "$program" >"$program.txt" 2>&1 && programs="$programs ${program##*/}:$arch" && continue 2
        done
        bad=1
        echo "ptxas refuses ${program##*/}: $(head -1 "$program.txt")" >&2
    done
fi

# --- table ------------------------------------------------------------------------------------------------------------
[ -n "$lacking" ] && printf 'NOTHING RAN, no GPU here: %s\n\n' "$lacking"
printf '| %-52s | %6s | %6s | %6s | %7s | %7s | %s |\n' class tests passed failed aborted seconds failure
printf '|%s|%s|%s|%s|%s|%s|---|\n' "$(printf -- '-%.0s' {1..54})" -------: -------: -------: --------: --------:
sums=(0 0 0 0)
for job in "${jobs_found[@]}"; do
    name=${job#? } to=$REPORTS/${job#? } note=
    if [ ! -s "$to/status" ]; then
        [ -n "$lacking" ] && note="skipped, no GPU" || note="not run, out of time"
        bad=1
        counts=("$(wc -l <"$job")" 0 0 0) took=-
    else
        read -r status took <"$to/status"
        # From the summary at the end; where a JVM died or was killed, from what it told of each test.
        read -r -a counts < <(awk '
            / :: (STARTED|SUCCESSFUL|FAILED|ABORTED)$/ { told[$NF]++ }
            /^\[ *[0-9]+ (tests|containers) / { sum[$3 " " $4] = $2; ended = 1 }
            END {
                if (ended) {
                    told["SUCCESSFUL"] = sum["tests successful"]; told["FAILED"] = sum["tests failed"] + sum["containers failed"]
                    told["ABORTED"] = sum["tests aborted"] + sum["containers aborted"]
                } else {
                    told["FAILED"]++
                }
                all = told["SUCCESSFUL"] + told["FAILED"] + told["ABORTED"]
                tests = ended ? sum["tests found"] : told["STARTED"]
                print (tests > all ? tests : all), told["SUCCESSFUL"] + 0, told["FAILED"] + 0, told["ABORTED"] + 0
            }' "$to/output.txt")
        if [ "$status" != 0 ] || [ "${counts[2]}" != 0 ]; then
            bad=1
            # The message of the first failure: all lines before the first frame.
            note=$(awk '/ :: FAILED$/ { test = $0; sub(/ :: FAILED$/, "", test); sub(/.* > /, "", test); taking = 1; next }
                taking && (/^[\t ]*(at |\[\.\.\.\])/ || / :: [A-Z]+$/) { if (text != "") exit; taking = 0 }
                taking && NF { text = text " " $0 }
                END { if (text != "") print test ":" text }' "$to/output.txt")
            running=$(awk '/ :: STARTED$/ { at = $0 } / :: (SUCCESSFUL|FAILED|ABORTED)$/ { at = "" }
                END { sub(/ :: STARTED$/, "", at); sub(/^JUnit Jupiter > /, "", at); print at }' "$to/output.txt")
            case $status in
                124) note="took more than $each s $note" ;;
                137) note="killed after $took s in $running" ;;
                0 | 1) [ -n "$running" ] && note="ended in $running" ;;
                *) note="died with status $status in $running $(grep -h -A1 'Problematic frame' "$to/crash.txt" 2>/dev/null | tail -1)" ;;
            esac
            [ -n "$note" ] || note=$(grep -v '^\[\|^$' "$to/output.txt" | tail -1)
        elif [ "${counts[1]}" = 0 ]; then
            note="nothing passed: $(grep -A1 ' :: ABORTED$' "$to/output.txt" | tail -1)"
        fi
    fi
    for i in 0 1 2 3; do sums[i]=$((sums[i] + counts[i])); done
    printf '| %-52s | %6s | %6s | %6s | %7s | %7s | %s |\n' "${name#io.gds4j.}" "${counts[@]}" "$took" \
        "$(echo "$note" | tr -s '\t |' ' ' | cut -c 1-240)"
done
echo
for job in "${jobs_found[@]}"; do grep -h -A1 ' :: ABORTED$' "$REPORTS/${job#? }/output.txt" 2>/dev/null; done |
    grep -v '^--$' | sed 's/^JUnit Jupiter > /aborted: /;s/ :: ABORTED$//;s/^\t/    /' | head -40
[ -n "$programs" ] && echo "ptxas takes$programs"
echo "${sums[0]} tests: ${sums[1]} passed, ${sums[2]} failed, ${sums[3]} aborted by an assumption, $((sums[0] - sums[1] - sums[2] - sums[3])) not run; $((SECONDS - began)) s; outputs in $REPORTS"
[ -n "$lacking" ] && exit 4
[ "$bad" = 0 ] && [ "${sums[1]}" -gt 0 ] && exit 0
exit 5
