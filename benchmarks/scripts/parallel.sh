#!/bin/bash
# A checkpoint to several GPUs, each byte read once: gds4j's loader beside hand-written pipelines, in turns; prints medians of GB/s
# delivered to all GPUs together and CPU milliseconds per delivered GB. "before" and "one" load to one GPU without and with ranks,
# "separate" loads everything for each GPU, "both" copies everything to each from the host.
#
#   benchmarks/scripts/parallel.sh
#
# Needs two NVIDIA GPUs or more, cuda.h, gcc, java 25, and room for the file in memory. gds4j comes from GPU_CP (a class path with the
# classes of benchmarks and all they need), else from the target folders that mvn package leaves.
#
#   GPUS=N               so many of them, a power of two (the largest number there is)
#   DIR=/dev/shm GIB=16  folder and size of the checkpoint, in the shape of Llama-3-8B
#   ROUNDS=5 PASSES=7    alternations, and loads in each
#   THREADS=16           threads of the pipelines
#   CHART=FILE           writes a chart of the medians as SVG
set -u
. "$(dirname "$0")/common.sh"
DIR=${DIR:-/dev/shm} GIB=${GIB:-16} ROUNDS=${ROUNDS:-5} PASSES=${PASSES:-7} THREADS=${THREADS:-16}
need_java
class_path=${GPU_CP:-$(ls -d "$root"/benchmarks/target/classes "$root"/gds-tools/target/lib/*.jar 2>/dev/null | paste -sd:)}
[ -n "$class_path" ] || { echo "parallel: no GPU_CP, and benchmarks are not built (mvn -DskipTests package)" >&2; exit 6; }
there=$(nvidia-smi --list-gpus | wc -l)
GPUS=${GPUS:-$((there < 4 ? 2 : there < 8 ? 4 : 8))}
[ "$there" -ge "$GPUS" ] || { echo "parallel: fewer than $GPUS GPUs here" >&2; exit 4; }
work=$(mktemp -d)
model=$DIR/gds4j-parallel data=$DIR/gds4j-parallel/model-1-of-1.safetensors
mkdir -p "$model" || exit 4
trap 'rm -rf "$work" "$model"' EXIT
trap 'exit 130' INT TERM
gcc $flags "$here/parallel.c" -o "$work/parallel" $libs -lcuda || exit 6
figures() {
    "$java" $jvm_options ${JAVA_OPTS:-} -cp "$class_path" \
        io.gds4j.benchmarks.ParallelFigures "$@"
}
figures create "$model" "$GIB" 1 || exit 4

keep() { # prefix
    while read -r name rate cpu; do
        echo "$rate" >>"$work/$1.$name.rate"
        echo "$cpu" >>"$work/$1.$name.cpu"
    done <"$work/out"
}
limit() { "$work/parallel" "$data" "$GPUS" "$THREADS" "$PASSES" >"$work/out" || exit 4; keep c; }
ours() { figures measure "$data" "$PASSES" gpu "$GPUS" >"$work/out" || exit 4; keep ours; }
for ((round = 0; round < ROUNDS; round++)); do
    if [ $((round % 2)) = 0 ]; then limit; ours; else ours; limit; fi
done

spread() { sort -g "$1" | awk 'NR == 1 {least = $1} END {print least " to " $1}'; }
cell() { [ -s "$work/$1.rate" ] && echo "$(median "$work/$1.rate") ($(spread "$work/$1.rate")) | $(median "$work/$1.cpu")" || echo "– | –"; }
ratio() { # ours, theirs
    [ -s "$work/$2.rate" ] || { echo –; return; }
    awk -v o="$(median "$work/$1.rate")" -v l="$(median "$work/$2.rate")" 'BEGIN {printf "%.2f", o / l}'
}
best=c.all
[ -s "$work/c.peers.rate" ] && best=c.peers
echo "$(machine gpu); GB/s delivered, medians of $ROUNDS alternations, $GIB GiB from memory, $THREADS threads in the pipelines"
echo
echo "| load | ours | CPU, ms/GB | pipeline | CPU, ms/GB | ratio |"
echo "| --- | ---: | ---: | ---: | ---: | ---: |"
echo "| one GPU, without ranks | $(cell ours.before) | $(cell c.one) | $(ratio ours.before c.one) |"
echo "| one GPU, one rank | $(cell ours.one) | $(cell c.one) | $(ratio ours.one c.one) |"
echo "| $GPUS GPUs, $GPUS loads | $(cell ours.separate) | – | – | – |"
echo "| $GPUS GPUs, replicated | $(cell ours.replicated) | $(cell $best) | $(ratio ours.replicated $best) |"
echo "| … without peer copies | $(cell ours.both) | $(cell c.all) | $(ratio ours.both c.all) |"
echo "| $GPUS GPUs, TP $GPUS | $(cell ours.sharded) | $(cell c.slices) | $(ratio ours.sharded c.slices) |"
echo
echo "one rank / without ranks: $(ratio ours.one ours.before); CPU of replicated / $GPUS loads: $(awk -v o="$(median "$work/ours.replicated.cpu")" \
    -v l="$(median "$work/ours.separate.cpu")" 'BEGIN {printf "%.2f", o / l}')"

if [ -n "${CHART:-}" ]; then
    {
        echo '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="260" font-family="sans-serif" font-size="13">'
        echo '<text x="10" y="20">GB/s delivered; dark: gds4j, light: C pipeline</text>'
        y=40
        for pair in "one GPU:one:one" "$GPUS GPUs, replicated:replicated:${best#c.}" "$GPUS GPUs, TP $GPUS:sharded:slices"; do
            IFS=: read -r label mine theirs <<<"$pair"
            for bar in "ours.$mine:#2b6cb0" "c.$theirs:#a0aec0"; do
                rate=$(median "$work/${bar%%:*}.rate")
                [ -n "$rate" ] || continue
                echo "<rect x=\"170\" y=\"$y\" width=\"$(awk -v r="$rate" 'BEGIN {printf "%.0f", r * 2}')\" height=\"22\" fill=\"${bar##*:}\"/>"
                echo "<text x=\"$(awk -v r="$rate" 'BEGIN {printf "%.0f", 176 + r * 2}')\" y=\"$((y + 16))\">$rate</text>"
                y=$((y + 26))
            done
            echo "<text x=\"10\" y=\"$((y - 22))\">$label</text>"
            y=$((y + 14))
        done
        echo '</svg>'
    } >"$CHART"
fi
