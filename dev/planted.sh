#!/bin/bash
# Plants known defects, one at a time, and tells what finds them, and in how many seconds.
#
#   dev/planted.sh [NUMBER ...]
#
# Each dev/planted/NUMBER.patch plants a defect; its first line says which. The script applies it to a copy of the built tree and compiles what it
# changes. The second line may name tests: "Tests: MODULE NAME ...", each a class or CLASS.METHOD. JUnit runs them then. For other defects, and for
# all with ALL=yes, dev/faults.sh and dev/campaign.sh run. First JUnit runs all these tests without a defect.
#
# Status 0 if each defect was found, 5 if one was not; 6 if a patch no longer applies or compiles, or a test fails without a defect.
#
#   TEST_SECONDS=60     longest time of the tests of a defect
#   ALL=yes             the matrix and the campaign for defects with tests, too
#   SECONDS_EACH=60     longest time of a campaign
#   MATRIX=WORD         cells of the matrix whose names contain it (all)
#   MATRIX_SECONDS=900  longest time of the matrix
#   MODE=fake           mode of the campaign
#   SEED=11             of the campaign; its first two rounds have the default configuration
#   HANG=20             seconds after which a step counts as a hang
#   REPORTS=FOLDER      what was said (a new folder)
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/test-jvm.sh"
need_java
javac=$(dirname "$(readlink -f "$(command -v "$java")")")/javac
REPORTS=${REPORTS:-$(mktemp -d)}
mkdir -p "$REPORTS" || exit 4
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
patches=("$@")
[ $# = 0 ] && patches=($(cd "$here/planted" && ls *.patch | sed 's/\.patch$//' | sort -n))

# Main sources, classes and libraries. A patch is applied to nothing else.
(cd "$root" && tar cf - pom.xml dev gds-*/pom.xml gds-*/src/main $(ls -d gds-*/target/classes gds-*/target/test-classes samples/target/classes gds-tools/target/lib 2>/dev/null)) |
    tar xf - -C "$copy" || exit 4
root=$copy

tests_of_patch() { sed -n '2s/^Tests: //p' "$here/planted/$1.patch"; }

# Runs tests for at most SECONDS: run_tests LOG SECONDS MODULE NAME ...
run_tests() {
    local log=$1 seconds=$2 module=$3 name class selection=()
    shift 3
    for name; do
        class=$(cd "$copy/$module/target/test-classes" && find . -name "${name%%.*}.class" | sed 's:^\./::; s/\.class$//; s:/:.:g')
        selection+=(--select-class "$class")
        [[ $name == *.* ]] && selection+=(--include-methodname ".*#${name#*.}")
    done
    class_path=$(class_path_of "$module" gds-{loader,rdma,compat,libcufile,engine,native,testkit,testkit-contract,api})
    (cd "$copy/$module" && timeout -s KILL "$seconds" "$java" --enable-native-access=ALL-UNNAMED -Xmx1g -XX:TieredStopAtLevel=1 -cp "$class_path" \
        org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors --details=summary --fail-if-no-tests \
        --exclude-tag gpu --exclude-tag guest --exclude-tag rdma "${selection[@]}") >"$log" 2>&1
}

# Which test failed first, for a JUnit that has found a defect.
first_failure() { sed -n "s/.*MethodSource \[className = '.*\.\([A-Za-z0-9]*\)', methodName = '\([^']*\)'.*/\1.\2/p" "$1" | head -1; }

found() { # status that means found, status and seconds of the run before
    case $2 in
        "$1") echo "in $3 s" ;;
        0 | 124 | 137) echo "not in $3 s" ;;
        *) echo "status $2" ;;
    esac
}

# The tests without a defect, by module: what fails there proves nothing. A run with a choice of methods is one of its own.
for number in "${patches[@]}"; do
    tests_of_patch "$number"
done | awk '{ for (i = 2; i <= NF; i++) print ($i ~ /\./ ? $1 " " $i : $1 " CLASSES " $i) }' | sort -u |
    awk '$2 != "CLASSES" { print; next } { names[$1] = names[$1] " " $3 } END { for (m in names) print m names[m] }' >"$REPORTS/tests.txt"
while read -r module names; do
    run_tests "$REPORTS/without-$module.txt" 900 "$module" $names </dev/null || {
        echo "$0: without a defect, a test of $module fails: $(first_failure "$REPORTS/without-$module.txt"), see $REPORTS/without-$module.txt" >&2
        exit 6
    }
done <"$REPORTS/tests.txt"

status=0
worse() { [ "$status" = 6 ] || status=$1; }
printf '| %2s | %-14s | %-14s | %-14s | %s |\n' N tests matrix campaign defect
printf '|---:|----------------|----------------|----------------|---|\n'
for number in "${patches[@]}"; do
    patch=$here/planted/$number.patch
    changed=$(sed -n 's:^+++ b/::p' "$patch")
    tests="no tests" matrix="not asked" campaign="not asked" first=
    row() { printf '| %2s | %-14s | %-14s | %-14s | %s |\n' "$number" "$tests" "$matrix" "$campaign" "$(head -1 "$patch")$first"; }
    if ! (cd "$copy" && git apply "$patch") >"$REPORTS/apply-$number.txt" 2>&1; then
        tests="no longer fits"
        worse 6
        row
        continue
    fi
    rm -rf "$copy/planted"
    mkdir "$copy/planted"
    if ! (cd "$copy" && "$javac" -nowarn -proc:none -d planted -cp "$(ls -d gds-*/target/classes | paste -sd:):$(ls gds-tools/target/lib/*.jar | paste -sd:)" $changed) \
        >"$REPORTS/javac-$number.txt" 2>&1; then
        tests="no javac"
        worse 6
        row
        (cd "$copy" && git apply -R "$patch") || exit 6
        continue
    fi
    for file in $changed; do
        module=${file%%/*}
        rm -rf "$copy/saved-$module"
        cp -r "$copy/$module/target/classes" "$copy/saved-$module"
    done
    for file in $changed; do
        module=${file%%/*} class=${file#*/src/main/java/}
        class=${class%.java}
        mkdir -p "$copy/$module/target/classes/$(dirname "$class")"
        cp "$copy/planted/$class"*.class "$copy/$module/target/classes/$(dirname "$class")/"
    done
    names=$(tests_of_patch "$number")
    if [ -n "$names" ]; then
        began=$SECONDS
        run_tests "$REPORTS/tests-$number.txt" "${TEST_SECONDS:-60}" $names </dev/null
        tests=$(found 1 $? $((SECONDS - began)))
        first=$(first_failure "$REPORTS/tests-$number.txt")
        first=${first:+" Found by $first."}
    fi
    if [ -z "$names" ] || [ -n "${ALL:-}" ]; then
        if [ -x "$here/faults.sh" ]; then
            began=$SECONDS
            (cd "$copy" && timeout "${MATRIX_SECONDS:-900}" dev/faults.sh ${MATRIX:+"$MATRIX"}) >"$REPORTS/matrix-$number.txt" 2>&1
            matrix=$(found 5 $? $((SECONDS - began)))
        fi
        began=$SECONDS
        (cd "$copy" && SEED="${SEED:-11}" DIRS="$(dirname "$copy") /dev/shm" HANG="${HANG:-20}" REPORTS="$REPORTS/campaign-$number" dev/campaign.sh "${MODE:-fake}" "${SECONDS_EACH:-60}") \
            >"$REPORTS/campaign-$number.txt" 2>&1
        campaign=$(found 5 $? $((SECONDS - began)))
    fi
    row
    [[ $tests == in* || -z $names && ( $matrix == in* || $campaign == in* ) ]] || worse 5
    (cd "$copy" && git apply -R "$patch") || exit 6
    for saved in "$copy"/saved-*; do
        module=${saved##*/saved-}
        rm -rf "$copy/$module/target/classes"
        mv "$saved" "$copy/$module/target/classes"
    done
done
echo "said: $REPORTS"
exit "$status"
