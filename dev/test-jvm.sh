# Sourced by the scripts that run tests outside of Maven: sets root, java and class_path.
#
# Class paths come from GPU_CP (jars, with JUnit's console launcher) and TESTS (folder with a folder of test classes for each
# module), else from the target folders and ~/.m2 as mvn verify leaves them; GPU_CP may then add jars.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/dev/java.sh"

# Folder of a module's test classes.
tests_of() {
    [ -n "${TESTS:-}" ] && echo "$TESTS/$1" || echo "$root/$1/target/test-classes"
}

# A class path on which the test classes of these modules come first, in this order.
class_path_of() {
    local module
    for module; do printf '%s:' "$(tests_of "$module")"; done
    if [ -z "${TESTS:-}" ]; then
        printf '%s:' "$root"/gds-{api,native,engine,libcufile,compat,jcuda,loader,dataset,interop,rdma,remote,aws,gcs,azure,testkit,testkit-contract,tools}/target/classes "$root/samples/target/classes"
        ls "$root"/gds-tools/target/lib/*.jar ~/.m2/repository/org/junit/platform/junit-platform-console-standalone/*/*.jar \
            ~/.m2/repository/{net/bytebuddy/byte-buddy,org/jcuda/jcuda*}/*/*.jar \
            ~/.m2/repository/org/assertj/assertj-core/"$(sed -n 's/.*<assertj.version>\(.*\)<.*/\1/p' "$root/pom.xml")"/*.jar \
            ~/.m2/repository/com/networknt/json-schema-validator/"$(sed -n 's/.*<jsonschema.version>\(.*\)<.*/\1/p' "$root/pom.xml")"/*.jar \
            ~/.m2/repository/com/ethlo/time/itu/*/*.jar \
            ~/.m2/repository/org/slf4j/slf4j-{api,nop}/"$(sed -n 's/.*<slf4j.version>\(.*\)<.*/\1/p' "$root/pom.xml")"/*.jar 2>/dev/null | paste -sd: | tr '\n' :
    fi
    echo "${GPU_CP:-}"
}

# Ends the script where its programs are not there.
need_test_jvm() {
    need_java
    "$java" -cp "$class_path" org.junit.platform.console.ConsoleLauncher --version >/dev/null 2>&1 && return
    echo "$0: no console launcher of JUnit. Name its jar in GPU_CP, or have Maven fetch it into ~/.m2 by
    mvn dependency:get -Dartifact=org.junit.platform:junit-platform-console-standalone:$(sed -n 's/.*<junit.version>5\(.*\)<.*/1\1/p' "$root/pom.xml")" >&2
    exit 6
}
