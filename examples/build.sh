#!/bin/bash
# Builds and runs every example whose tool is here, against the gds4j of this checkout; prints one line for each, and one for each that
# it leaves out, also where its artifacts cannot be fetched. Ends with status 1 if an example fails.
#
#   examples/build.sh              installs gds4j into the local repository first
#   INSTALLED=1 examples/build.sh  takes what is installed
#
#   REPO=DIR    the local repository; by default that of Maven
#   JAVA_HOME   a JDK 25
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
root=$(dirname "$here")
. "$root/dev/java.sh"
need_java
JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v "$java")")")")
export JAVA_HOME
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MAVEN_OPTS="${MAVEN_OPTS:-} -Djava.io.tmpdir=$work"
mvn=(mvn)
command -v mvn >/dev/null || mvn=("$root/mvnw")
# Kotlin's daemon would stay for hours.
mvn+=(-q -B -Dkotlin.compiler.daemon=false ${REPO:+-Dmaven.repo.local="$REPO"})
failed=0

# Whether the output names an artifact that no server could be asked for. One that a server does not have is a fault, as is gds4j.
unfetched() {
    artifact=$(sed -nE \
        -e 's/.*Could not transfer artifact ([^ ]+) .*/\1/p' \
        -e 's/.*in offline mode and the artifact ([^ ]+) has not been downloaded.*/\1/p' \
        -e 's/.* ([^ ]+:[^ ]+) failed to transfer from .*/\1/p' \
        -e "s/.*Could not (GET|HEAD) '([^']+)'.*/\\2/p" \
        -e 's/.*No cached version of ([^ ]+) available for offline mode.*/\1/p' "$work/out" | grep -v '^io\.gds4j:' | head -1)
    [ -n "$artifact" ]
}

result() { # name, whether it worked, seconds
    if [ "$2" = 0 ]; then
        echo "$1: works, $3 s"
    elif unfetched; then
        echo "$1: left out, $artifact cannot be fetched here"
    else
        failed=1
        echo "$1: FAILED"
        sed -e 's/^/    /' -e '$a\' "$work/out" | tail -30
    fi
}

example() { # name, what its output holds, command in its folder
    local name=$1 expected=$2 began=$SECONDS status=0
    shift 2
    cp -r "$here/$name" "$work/$name"
    (cd "$work/$name" && "$@") >"$work/out" 2>&1 </dev/null && grep -q "$expected" "$work/out" || status=1
    result "$name" $status $((SECONDS - began))
}

if [ -z "${INSTALLED:-}" ]; then
    echo "installs gds4j"
    status=0
    (cd "$root" && "${mvn[@]}" install -DskipTests -DskipITs -pl gds-spring-boot-starter,gds-dataset,gds-remote,gds-testkit,gds-bom -am) \
        >"$work/out" 2>&1 </dev/null || status=1
    if [ $status != 0 ]; then
        result "installation and all examples" $status 0
        exit $failed
    fi
fi

boot() {
    "${mvn[@]}" package && "$java" -jar target/app-boot-1.jar
}
tried() {
    tar -xzf "$root"/distribution/target/gds4j-*.tar.gz && "$java" --enable-native-access=ALL-UNNAMED -cp 'gds4j-0.1.0-SNAPSHOT/lib/*' Try.java
}

if ls "$root"/distribution/target/gds4j-*.tar.gz >/dev/null 2>&1; then
    mkdir "$work/try" && cp "$here/Try.java" "$work/try"
    began=$SECONDS status=0
    (cd "$work/try" && tried) >"$work/out" 2>&1 && grep -q 'weight F32 \[3\]' "$work/out" || status=1
    result Try.java $status $((SECONDS - began))
else
    echo "Try.java: left out, there is no archive; mvn -DskipTests package makes it"
fi
example maven 'loaded weight \[3\]' "${mvn[@]}" compile exec:exec
example kotlin '[1-9] records' "${mvn[@]}" compile exec:exec
example scala '[1-9] records' "${mvn[@]}" compile exec:exec
example spring-boot 'loaded weight \[3\], health UP' boot
quiet_test() {
    "${mvn[@]}" test && echo tested
}
example s3 tested quiet_test
example cudf tested quiet_test
example parquet tested quiet_test
example jlama tested quiet_test
example arrow tested quiet_test
example lucene tested quiet_test
gradle=$(command -v gradle || true)
if [ -n "$gradle" ] && "$gradle" --version | grep -qE '^Gradle ([9]|[1-9][0-9])\.'; then
    example gradle 'loaded weight \[3\]' "$gradle" -q --no-daemon ${REPO:+-Dmaven.repo.local="$REPO"} run
else
    echo "gradle: left out, Gradle 9.1 or newer is not here"
fi
exit $failed
