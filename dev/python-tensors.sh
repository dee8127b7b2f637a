#!/bin/bash
# Runs the sample PythonTensors: python3 of this machine in the JVM, tensors shared with its PyTorch, or NumPy, without a copy.
#
#   dev/python-tensors.sh [--memory KIND] [--gpu N] [--size BYTES]
#
# Needs java 25, python3 with a shared libpython and torch or numpy. GDS4J_PYTHON names another program than python3. Status 0 if
# both sides had the same address and the same sum, and 5 if not or if Python was left out. Class paths: see test-jvm.sh.
set -u
. "$(dirname "$0")/test-jvm.sh"
need_java
class_path=$(class_path_of samples)
output=$("$java" -cp "$class_path" --enable-native-access=ALL-UNNAMED io.gds4j.samples.PythonTensors "$@" 2>&1)
status=$?
echo "$output"
[ $status = 0 ] || exit 5
case $output in
    *'left out'* | *'VERIFICATION FAILED'*) exit 5 ;;
esac
