#!/bin/bash
# Builds the sources of this checkout twice, with two JDKs that run Maven, and compares all jars: main, sources, Javadoc and tests.
# Status 0 if each jar has the same bytes in both builds, 1 if one differs.
#
#   dev/same-jars.sh JDK_HOME OTHER_JDK_HOME [REPORT]
#
# Both builds compile with the same JDK, 25 or newer, which Maven's toolchains choose. Each runs in a new folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
report=${3:-/dev/null}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build() { # name, JDK
    "$2/bin/java" -version >/dev/null 2>&1 || { echo "$0: no java in $2/bin" >&2; exit 2; }
    mkdir "$scratch/$1"
    git -C "$root" ls-files -coz --exclude-standard | tar -C "$root" --null --ignore-failed-read -cf - -T - 2>/dev/null | tar -C "$scratch/$1" -xf -
    (cd "$scratch/$1" && JAVA_HOME=$2 mvn -B -q package -Prelease -DskipTests)
    (cd "$scratch/$1" && sha256sum */target/*.jar) >"$scratch/$1.sums"
}

build first "$1"
build second "$2"
if diff "$scratch/first.sums" "$scratch/second.sums" >"$scratch/diff"; then
    cp "$scratch/first.sums" "$report"
    echo "$(wc -l <"$scratch/first.sums") jars are the same"
else
    cat "$scratch/diff"
    echo "jars differ" >&2
    exit 1
fi
