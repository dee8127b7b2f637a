#!/bin/bash
# Changes the classes of a package one instruction at a time, by PIT, and prints the changes that no test sees: its mutation score.
#
#   dev/mutants.sh PACKAGE ...     of those below; all without an argument, in an hour or two
#
# Prints each survivor: file and line, mutator, change, and why it lives: survived, no test runs the line, the tests hang (timeout), or the JVM
# died. A mutant counts as killed only if a test failed. Mutants that behave as the program does are listed with a reason in
# dev/mutants/equivalent.txt and do not count. Status 5 if fewer than 90 % are killed.
#
#   ONLY=CLASS          mutates a class of the package only
#   MVN="mvn -o"        another Maven
#   REPORTS=FOLDER      keeps PIT's reports as PACKAGE.xml and what it said as PACKAGE.txt (a new folder)
#
# The modules that a module needs come from the local repository: mvn install -DskipTests -DskipITs.
set -u
cd "$(dirname "$0")/.." || exit 4
. dev/java.sh
need_java
JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v "$java")")")")
export JAVA_HOME
set -f
REPORTS=$(mkdir -p "${REPORTS:=$(mktemp -d)}" && cd "$REPORTS" && pwd) || exit 4

# The module, the classes (without those behind a minus) and the test classes of a package. Test classes are those that state what the package
# does; more of them cost their time for each survivor.
declare -A module classes tests
package() {
    module[$1]=$2 classes[$1]=$3 tests[$1]=$4
    packages+=("$1")
}
packages=()
package compat.plan gds-compat 'plan.* -plan.TransferPlanner' \
    'plan.*Test deliver.TransferResultTest deliver.BothEndsTest'
package compat.planner gds-compat plan.TransferPlanner \
    'plan.*Test deliver.*Test KernelErrorsTest'
package compat.deliver gds-compat 'deliver.*' \
    'deliver.*Test FragmentsTest ScatteredReadTest GatheredReadsTest KernelErrorsTest GpuTransfersTest file.SourcesTest file.PageCacheTest FlightRecordingTest'
package compat.transfer gds-compat 'transfer.*' \
    'transfer.*Test plan.*Test deliver.*Test batch.SmallBatchesTest ScatteredReadTest FragmentsTest GatheredReadsTest GpuTransfersTest KernelErrorsTest PreparationTest SessionLogTest'
package libcufile.stream gds-libcufile 'stream.*' \
    'stream.*Test'
package libcufile.batch gds-libcufile 'batch.*' \
    'batch.*Test LibraryStatisticsTest LibCuFileContractTest'
package loader.load gds-loader 'internal.load.* -internal.load.LayoutPlanner -internal.load.PlannedBlocks -internal.load.PlannedRun -internal.load.Ranges -internal.load.Gathering' \
    'internal.*Test LoadTest LoadFailureTest FakeGpuLoadTest FileIdentityTest CompatLoadTest MappedTensorsTest TensorLoanTest TensorsInTurnTest'
package loader.layout gds-loader 'internal.load.LayoutPlanner internal.load.PlannedBlocks internal.load.PlannedRun internal.load.Ranges internal.load.Gathering' \
    'internal.*Test LoadTest ParallelLoadTest SharedExtentsTest TensorOrderTest'
package loader.parallel gds-loader 'parallel.*' \
    'parallel.*Test GgufHeadsTest format.torch.DistcpFormatTest TensorOrderTest'
package loader.save gds-loader 'save.*' \
    'save.*Test VerificationTest TensorOrderTest'
package remote gds-remote 'AnswerHead ContentRange ObjectVersion RangeBody RangePart CountedBody Attempts FirstRequest HttpSource' \
    'ObjectVersionTest RangeBodyTest RangePartTest AttemptLimitsTest FirstRequestTest HttpSourceTest HttpSourceFaultTest HttpContractTest AttemptsTest ConnectionCountTest'
package remote.cache gds-remote 'CacheFolder SourceChannel' \
    'CacheFolderTest RemoteCacheTest ObjectPathTest'
package remote.upload gds-remote 'S3Upload Parts S3Parts UploadTarget' \
    'S3FilesTest S3FaultTest S3ContractTest S3ChecksumTest'
package dataset gds-dataset 'RecordOrder Permutation Itinerary Share BatchPlanner DoneRecords LeftRecords LoaderState' \
    'RecordOrderTest ItineraryTest BatchPlannerTest DoneRecordsTest LoaderStateTest'

# Words with a prefix, joined by commas.
join() {
    local prefix=$1 words
    read -ra words <<<"$2"
    (IFS=, && echo "${words[*]/#/$prefix}")
}

run() {
    local name=$1 in=${module[$1]} prefix=io.gds4j.${1%%.*}. one of= without= status=0 began=$SECONDS
    for one in ${classes[$1]}; do
        case $one in
            -*) without+=" ${one#-} ${one#-}\$*" ;;
            *\*) of+=" $one" ;;
            *) of+=" $one $one\$*" ;; # nested classes belong to their class
        esac
    done
    if [ -n "${ONLY:-}" ]; then
        one=${classes[$1]%%[A-Z*]*}$ONLY
        of="$one $one\$*" without=
    fi
    rm -f "$in/target/pit-reports/mutations.xml"
    ${MVN:-./mvnw} -B -Pmutants,slow -pl "$in" test-compile org.pitest:pitest-maven:mutationCoverage -Dspotless.check.skip=true \
        -DtargetClasses="$(join "$prefix" "$of")" -DexcludedClasses="$(join "$prefix" "$without")" \
        -DtargetTests="$(join "$prefix" "${tests[$name]}")" >"$REPORTS/$name.txt" 2>&1 || status=$?
    # A run that was ended leaves the beginning of a report.
    if [ "$status" != 0 ] || ! cp "$in/target/pit-reports/mutations.xml" "$REPORTS/$name.xml" 2>/dev/null; then
        echo "$0: no whole report of $name: $REPORTS/$name.txt" >&2
        exit 6
    fi
    grep ' did not pass without mutation' "$REPORTS/$name.txt"
    awk -v name="$name" -v source="$in/src/main/java" -v seconds=$((SECONDS - began)) -v table="$REPORTS/table" -f dev/mutants/survivors.awk \
        dev/mutants/equivalent.txt "$REPORTS/$name.xml" || status=$?
    return $status
}

[ $# = 0 ] && set -- "${packages[@]}"
rm -f "$REPORTS/table"
all=0
for name; do
    if [ -z "${module[$name]:-}" ]; then
        echo "$0: no package $name; there are: ${packages[*]}" >&2
        exit 2
    fi
    run "$name" || all=5
done
printf '| package | mutants | killed | survived | no test | timeout | JVM died | equivalent | score | seconds |\n'
printf '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n'
cat "$REPORTS/table"
echo "said: $REPORTS"
exit $all
