#!/bin/bash
# Compares the public API of this checkout with that of an older commit, by japicmp. Status 0 if programs still compile and
# link, 1 if not. docs/support.md says what may change.
#
#   dev/api.sh [COMMIT]
#
# COMMIT is a tag or commit; without it the one that last changed docs/api.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
modules=${MODULES:-gds-api gds-native gds-loader gds-dataset gds-interop gds-rdma gds-remote gds-aws gds-gcs gds-azure gds-jcuda gds-testkit}
commit=${1:-$(git -C "$root" log -1 --format=%H -- docs/api)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/source" "$scratch/old"
git -C "$root" archive "$commit" | tar -x -C "$scratch/source"
(cd "$scratch/source" && mvn -B -q package -DskipTests -pl "${modules// /,}" -am)
for module in $modules; do
    find "$scratch/source/$module/target" -maxdepth 1 -name "$module-[0-9]*.jar" ! -name '*-tests.jar' \
        -exec cp {} "$scratch/old/$module.jar" \;
done
# Modules that are built along and have no API, and new ones, are compared with an empty jar.
for pom in "$root"/*/pom.xml; do
    jar=$scratch/old/$(basename "$(dirname "$pom")").jar
    [ -e "$jar" ] || printf 'PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$jar"
done
cd "$root"
if mvn -B -q package -Papi -Dgds4j.api.old="$scratch/old" -DskipTests -pl "${modules// /,}" -am; then
    echo "compatible with $commit"
else
    echo "not compatible with $commit; each module's report is in its target/japicmp" >&2
    exit 1
fi
