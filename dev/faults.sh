#!/bin/bash
# Lets every native call of every public operation fail, one at a time, on the doubles of both backends. Prints what is wrong, and
# the table of native functions by operations with the number of cells. Status 5 if a cell fails, or hangs.
#
#   dev/faults.sh [WORD ...]
#
#   dev/faults.sh                                    all: about 17,000 cells, a few minutes on an idle machine
#   dev/faults.sh compat 'read CUDA_DEVICE' pread    the cells whose names contain each word
#
# Needs java 25 and the target folders that mvn verify leaves behind.
set -u
. "$(dirname "$0")/test-jvm.sh"
class_path=$(class_path_of gds-loader gds-compat gds-libcufile gds-engine gds-native gds-testkit gds-testkit-contract)
need_java
# Stubs of the doubles are not freed.
exec "$java" --enable-native-access=ALL-UNNAMED -Xmx1g -XX:ReservedCodeCacheSize=1g -cp "$class_path" \
    io.gds4j.loader.faults.FaultMatrixRun "$@"
