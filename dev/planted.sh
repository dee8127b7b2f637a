#!/bin/bash
# Plants known defects, one at a time, and tells which of them the fault matrix and the campaign find, and in how many seconds.
#
#   dev/planted.sh [NUMBER ...]
#
# Each dev/planted/NUMBER.patch brings back a defect that gds4j had; its first line says which. The script applies it to a copy of the built
# tree, compiles what it changes, and runs dev/faults.sh and dev/campaign.sh there. Status 0 if one of both found each defect, 5 if not.
#
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

found() { # status and seconds of the run before
    case $1 in
        5) echo "in $2 s" ;;
        0 | 124) echo "not in $2 s" ;;
        *) echo "status $1" ;;
    esac
}
status=0
printf '| %2s | %-14s | %-14s | %s |\n' N matrix campaign defect
printf '|---:|----------------|----------------|---|\n'
for number in "${patches[@]}"; do
    patch=$here/planted/$number.patch
    changed=$(sed -n 's:^+++ b/::p' "$patch")
    (cd "$copy" && git apply "$patch") || { echo "$0: $patch does not apply" >&2; exit 6; }
    rm -rf "$copy/planted"
    mkdir "$copy/planted"
    (cd "$copy" && "$javac" -nowarn -proc:none -d planted -cp "$(ls -d gds-*/target/classes | paste -sd:):$(ls gds-tools/target/lib/*.jar | paste -sd:)" $changed) || exit 6
    for file in $changed; do
        module=${file%%/*} class=${file#*/src/main/java/}
        rm -rf "$copy/saved-$module"
        cp -r "$copy/$module/target/classes" "$copy/saved-$module"
    done
    for file in $changed; do
        module=${file%%/*} class=${file#*/src/main/java/}
        class=${class%.java}
        mkdir -p "$copy/$module/target/classes/$(dirname "$class")"
        cp "$copy/planted/$class"*.class "$copy/$module/target/classes/$(dirname "$class")/"
    done
    matrix="no matrix here" campaign=
    if [ -x "$here/faults.sh" ]; then
        began=$SECONDS
        (cd "$copy" && timeout "${MATRIX_SECONDS:-900}" dev/faults.sh ${MATRIX:+"$MATRIX"}) >"$REPORTS/matrix-$number.txt" 2>&1
        matrix=$(found $? $((SECONDS - began)))
    fi
    began=$SECONDS
    (cd "$copy" && SEED="${SEED:-11}" DIRS="$(dirname "$copy") /dev/shm" HANG="${HANG:-20}" REPORTS="$REPORTS/campaign-$number" dev/campaign.sh "${MODE:-fake}" "${SECONDS_EACH:-60}") \
        >"$REPORTS/campaign-$number.txt" 2>&1
    campaign=$(found $? $((SECONDS - began)))
    printf '| %2s | %-14s | %-14s | %s |\n' "$number" "$matrix" "$campaign" "$(head -1 "$patch")"
    [[ $matrix == in* || $campaign == in* ]] || status=5
    (cd "$copy" && git apply -R "$patch") || exit 6
    for saved in "$copy"/saved-*; do
        module=${saved##*/saved-}
        rm -rf "$copy/$module/target/classes"
        mv "$saved" "$copy/$module/target/classes"
    done
done
echo "said: $REPORTS"
exit "$status"
