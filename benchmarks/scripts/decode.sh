#!/bin/bash
# tensor.copyFloats beside gguf-py's dequantize (NumPy), one thread each, the same tensors in memory: alternated, one table of medians of
# millions of elements per second.
#
#   benchmarks/scripts/decode.sh
#
# Needs java 25 and python3 with gguf and numpy. gds4j comes from GPU_CP and TEST_CP (class paths of its jars, and of
# benchmarks), else from the target folders that mvn package leaves.
#
#   PYTHON=python3   ROUNDS=3   TURNS=10 of a tensor, of which the best counts   ELEMENTS=16777216 of a tensor
set -u
. "$(dirname "$0")/common.sh"
need_gds
tests=${TEST_CP:-$root/benchmarks/target/classes}
python=${PYTHON:-python3} ROUNDS=${ROUNDS:-3} TURNS=${TURNS:-10} ELEMENTS=${ELEMENTS:-16777216}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$here/decode.py" write "$work/blocks.gguf" "$ELEMENTS" || exit 6
for ((round = 0; round < ROUNDS; round++)); do
    "$java" --enable-native-access=ALL-UNNAMED -cp "$class_path:$tests" io.gds4j.benchmarks.DecodeFigures "$work/blocks.gguf" "$TURNS" \
        >"$work/java" || exit 4
    "$python" "$here/decode.py" time "$work/blocks.gguf" "$TURNS" >"$work/python" || exit 6
    for side in java python; do
        while read -r name speed; do echo "$speed" >>"$work/$name.$side"; done <"$work/$side"
    done
done
echo "$(machine host); medians of $ROUNDS; millions of elements per second, one thread"
echo '| type | gds4j | gguf-py | ratio |'
echo '| --- | ---: | ---: | ---: |'
while read -r name _; do
    awk -v n="$name" -v j="$(median "$work/$name.java")" -v p="$(median "$work/$name.python")" \
        'BEGIN { printf "| %s | %.0f | %.0f | %.1f |\n", n, j, p, j / p }'
done <"$work/java"
