#!/bin/bash
# Loads checkpoints that torch, numpy, safetensors, gguf, mlx, compressed-tensors and transformers wrote, and compares the SHA-256
# of every tensor with what these libraries computed themselves. Converts them, and lets safetensors read the result. Files that
# must be refused are refused by name; what a load leaves out must be in its warnings. Status 5 on a difference.
#
#   dev/formats.sh FOLDER [TARGET]      TARGET is host or gpu:0 (the default: gpu:0)
#
# Writes the files into FOLDER if it has none, with a storage above 4 GiB if LARGE=yes. Needs java 25, and python3 with torch,
# numpy and safetensors; uses gguf, mlx, compressed-tensors and transformers if they are there. Class path: GPU_CP, else what
# mvn verify leaves behind.
#
#   PYTHON=python3   LARGE=yes
set -u
. "$(dirname "$0")/test-jvm.sh"
folder=${1:?folder for the files}
target=${2:-gpu:0}
python=${PYTHON:-python3}
script=$root/dev/formats_gpu.py
class_path=$(class_path_of gds-tools)
need_java
gds() { "$java" --enable-native-access=ALL-UNNAMED -cp "$class_path" io.gds4j.tools.GdsCommand "$@" </dev/null; }
mkdir -p "$folder" || exit 4
if [ ! -e "$folder/expected.json" ]; then
    "$python" -W ignore "$script" write "$folder" ${LARGE:+--large} || exit 6
fi
rm -rf "$folder/results"
mkdir -p "$folder/results"
"$python" "$script" list "$folder" | while read -r number path convert; do
    gds load "$folder/$path" --digest --json --target "$target" >"$folder/results/$number.json" \
        2>"$folder/results/$number.txt"
    echo $? >"$folder/results/$number.status"
    [ -z "$convert" ] || gds convert "$folder/$path" "$folder/results/$number.converted" --quiet 2>>"$folder/results/$number.txt"
done
"$python" "$script" compare "$folder"
