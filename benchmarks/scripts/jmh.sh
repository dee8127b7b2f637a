#!/bin/sh
# Builds and runs the JMH benchmarks of gds-compat; arguments go to JMH (a regular expression, -f 2, -prof gc, ...).
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
mvn -B -q -pl gds-compat -am test-compile dependency:build-classpath \
    -Dmdep.includeScope=test -Dmdep.outputFile=target/jmh.classpath >&2
. dev/java.sh
exec "$java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
    -cp "gds-compat/target/test-classes:gds-compat/target/classes:$(cat gds-compat/target/jmh.classpath)" \
    org.openjdk.jmh.Main "$@"
