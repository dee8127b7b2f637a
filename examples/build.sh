#!/bin/bash
# Builds and runs every example whose tool is here, against the gds4j of this checkout; prints one line for each, and one for each that
# it leaves out. Ends with status 1 if an example fails.
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
mvn=(mvn -q -B ${REPO:+-Dmaven.repo.local="$REPO"})
command -v mvn >/dev/null || mvn=("$root/mvnw" -q -B ${REPO:+-Dmaven.repo.local="$REPO"})
failed=0

result() { # name, whether it worked, seconds
    if [ "$2" = 0 ]; then
        echo "$1: works, $3 s"
    else
        failed=1
        echo "$1: FAILED"
        sed 's/^/    /' "$work/out" | tail -30
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
    (cd "$root" && "${mvn[@]}" install -DskipTests -DskipITs -pl gds-spring-boot-starter,gds-remote,gds-testkit,gds-bom -am) || exit 1
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
example kotlin 'loaded weight \[3\]' "${mvn[@]}" compile exec:exec
example spring-boot 'loaded weight \[3\], health UP' boot
quiet_test() {
    "${mvn[@]}" test && echo tested
}
example s3 tested quiet_test
example cudf tested quiet_test
gradle=$(command -v gradle || true)
if [ -n "$gradle" ] && "$gradle" --version | grep -qE '^Gradle ([9]|[1-9][0-9])\.'; then
    example gradle 'loaded weight \[3\]' "$gradle" -q --no-daemon ${REPO:+-Dmaven.repo.local="$REPO"} run
else
    echo "gradle: left out, Gradle 9.1 or newer is not here"
fi
exit $failed
