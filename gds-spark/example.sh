#!/bin/bash
# Loads a checkpoint by Spark on this machine, and prints what each rank did:
#
#     gds-spark/example.sh PATH [EXECUTORS]
#
# Starts an executor for each GPU, or two that load into host memory where there is no GPU. Builds gds-spark first if it has changed.
# Needs java 25 and Maven; the first build fetches 300 MB. Waits up to 5 minutes for the executors; SLOTS_TIMEOUT=20min changes that.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../dev/java.sh"

fail() {
    echo "$0: $*" >&2
    exit 2
}

[ $# = 1 ] || [ $# = 2 ] || fail "usage: $0 PATH [EXECUTORS]"
[ -e "$1" ] || fail "$1 does not exist"
path=$(readlink -f "$1")
gpus=$("$here/gpus.sh" | grep -o '"[^"]*"' | tail -n +4 | wc -l)
executors=${2:-$((gpus > 0 ? gpus : 2))}
[[ $executors =~ ^[1-9][0-9]{0,3}$ ]] || fail "EXECUTORS is $executors; allowed are 1 to 9999"
[ "$gpus" = 0 ] || [ "$executors" -le "$gpus" ] || fail "EXECUTORS is $executors; each needs a GPU, and this host has $gpus"
need_java
jdk=$("$java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.home = //p')

# local-cluster starts executors as an installation of Spark does; a folder with jars/ stands in for it.
home=$here/target/example
list=$home/classpath
mkdir -p "$home/jars"
if [ ! -s "$list" ] || [ -n "$(find "$here"/../pom.xml "$here"/../*/pom.xml "$here"/../*/src/main -newer "$list" -print -quit 2>/dev/null)" ]; then
    echo "building gds-spark" >&2
    rm -f "$list"
    # Maven may run on an older JDK and finds ours by this variable.
    (cd "$here/.." && JAVA25_HOME=$jdk mvn -q -B -Pspark -pl gds-spark -am -DskipTests package dependency:build-classpath \
        -Dmdep.includeScope=compile -Dmdep.outputFile="$list.new") >&2
    mv "$list.new" "$list"
fi
class_path=$(ls "$here"/target/gds-spark-*.jar | grep -v -e sources -e javadoc):$(cat "$list")

options=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow)
conf=(
    # one worker has all GPUs, and gives each executor one
    "spark.master=local-cluster[1,$executors,$((executors * 1024))]"
    spark.executor.cores=1
    spark.executor.memory=1g
    spark.plugins=io.gds4j.spark.GdsPlugin
    "spark.gds4j.slots.timeout=${SLOTS_TIMEOUT:-5min}"
    "spark.executor.extraClassPath=$class_path"
    "spark.executor.extraJavaOptions=${options[*]}"
    "spark.executorEnv.JAVA_HOME=$jdk"
    "spark.local.dir=$home/scratch"
    "spark.sql.warehouse.dir=$home/warehouse"
    spark.driver.host=127.0.0.1
    spark.driver.bindAddress=127.0.0.1
    spark.ui.enabled=false
    spark.log.level=ERROR
)
if [ "$gpus" != 0 ]; then
    conf+=(
        "spark.worker.resource.gpu.discoveryScript=$here/gpus.sh"
        "spark.worker.resource.gpu.amount=$executors"
        spark.executor.resource.gpu.amount=1
        spark.task.resource.gpu.amount=1
    )
fi
SPARK_HOME=$home SPARK_SCALA_VERSION=2.13 SPARK_LOCAL_IP=127.0.0.1 exec "$java" "${options[@]}" "${conf[@]/#/-D}" \
    -cp "$class_path" io.gds4j.spark.example.LoadCheckpoint "$path" "$executors"
