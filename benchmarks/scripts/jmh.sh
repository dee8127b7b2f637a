#!/bin/sh
# Builds and runs the JMH benchmarks; arguments go to JMH (a regular expression, -f 2, -prof gc, ...).
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
mvn -B -q -pl benchmarks -am -DskipTests package dependency:build-classpath -Dmdep.outputFile=target/jmh.classpath >&2
. dev/java.sh
need_java
exec "$java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
    -cp "benchmarks/target/classes:$(cat benchmarks/target/jmh.classpath)" org.openjdk.jmh.Main "$@"
