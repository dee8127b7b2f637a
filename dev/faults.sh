#!/bin/bash
# Lets every native call of every public operation fail, one at a time, on the doubles of both backends, and every verb on the
# double of RDMA. Prints what is wrong, and the tables of native functions by operations with the number of cells. Status 5 if a
# cell fails, or hangs.
#
#   dev/faults.sh [verbs] [WORD ...]
#
#   dev/faults.sh                                    all: about 30,000 cells, a few minutes on an idle machine
#   dev/faults.sh compat 'read CUDA_DEVICE' pread    the cells of the backends whose names contain each word
#   dev/faults.sh verbs transfer                     those of RDMA
#
# Needs java 25 and the target folders that mvn verify leaves behind.
set -u
. "$(dirname "$0")/test-jvm.sh"
class_path=$(class_path_of gds-loader gds-rdma gds-compat gds-libcufile gds-engine gds-native gds-testkit gds-testkit-contract)
need_java
# Stubs of the doubles are not freed.
matrix() {
    "$java" --enable-native-access=ALL-UNNAMED -Xmx1g -XX:ReservedCodeCacheSize=1g -cp "$class_path" "$@"
}
verbs=io.gds4j.rdma.VerbFaults backends=io.gds4j.loader.faults.FaultMatrixRun
case ${1:-} in
    verbs) shift && matrix $verbs "$@" ;;
    ?*) matrix $backends "$@" ;;
    *) matrix $verbs && matrix $backends ;;
esac
