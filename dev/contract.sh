#!/bin/bash
# Runs the contract over the compat backend and over libcufile on this machine's GPU, each group in a JVM of its own, and
# writes one table of all cases. Status 5 if a case failed or was not run.
#
#   dev/contract.sh REPORT.md [REPORTS_FOLDER]
#
# Needs a GPU, libcufile, java 25. Class paths: see test-jvm.sh.
#
#   JOBS=5 (JVMs at a time) SECONDS_EACH=90 GROUPS_OF_CONTRACT="Read Write ..." JAVA_OPTS (options of the JVMs)
#   LIBRARIES="1.15.1=FOLDER 1.20.0=FOLDER"   several libcufile, each with a column; a folder has libcufile.so.0
set -u
. "$(dirname "$0")/test-jvm.sh"
report=${1:?name of the report}
reports=${2:-$(mktemp -d)}
class_path=$(class_path_of gds-compat gds-libcufile gds-engine gds-native gds-testkit gds-testkit-contract)
need_test_jvm
export class_path java reports SECONDS_EACH=${SECONDS_EACH:-90}
groups=${GROUPS_OF_CONTRACT:-Read Scatter Vector Later Write DataMatrix Threads Lifecycle Driver Buffer Window Cache Handle Misuse Parameter Statistics Batch Streams Async Unbuilt}
one() { # name of the column, class, group, folder of the library or nothing
    mkdir -p "$reports/$1/$3"
    [ -z "${4:-}" ] || export LD_LIBRARY_PATH=$4:${LD_LIBRARY_PATH:-}
    timeout -s KILL "$SECONDS_EACH" "$java" ${JAVA_OPTS:-} -cp "$class_path" --enable-native-access=ALL-UNNAMED \
        org.junit.platform.console.ConsoleLauncher execute --include-tag gpu --details=tree --details-theme=ascii \
        --disable-banner --disable-ansi-colors --reports-dir "$reports/$1/$3" \
        --select-unique-id "[engine:junit-jupiter]/[class:$2]/[nested-class:$3]" >"$reports/$1/$3/output.txt" 2>&1
    echo "$1 $3: status $?" >&2
}
export -f one
libraries=${LIBRARIES:-libcufile=}
for group in $groups; do
    echo "compat io.gds4j.compat.GpuContractTest $group"
    for library in $libraries; do
        folder=${library#*=} # no blank at the end of a line, where xargs goes on with the next one
        echo "${library%%=*} io.gds4j.libcufile.GpuLibCuFileContractTest $group${folder:+ $folder}"
    done
done | xargs -P "${JOBS:-5}" -L 1 bash -c 'one "$@"' one
columns=(compat="$reports/compat")
for library in $libraries; do columns+=("${library%%=*}=$reports/${library%%=*}"); done
"$java" -cp "$class_path" io.gds4j.testkit.report.ContractReport "${columns[@]}" >"$report"
status=$?
head -2 "$report"
grep -E '\| (FAILED|not run) \|' "$report" | head -40
exit $status
