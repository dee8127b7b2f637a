#!/bin/bash
# gds records over a WebDataset tar of 100 KiB samples, beside gds io with reads of the same size and WebDataset's own reader;
# alternated on the same file in the page cache; prints medians. Host memory.
#
#   benchmarks/scripts/tars.sh
#
# Needs java 25 and python3; with webdataset (PYTHON=python3 names another Python) its reader takes part. gds4j comes from GPU_CP,
# else from gds-tools/target as mvn package leaves it.
#
#   DIR=/tmp  SAMPLES=5000  ROUNDS=5  DEPTH=2  SECONDS_EACH=3
set -u
. "$(dirname "$0")/common.sh"
need_gds
DIR=${DIR:-/tmp} SAMPLES=${SAMPLES:-5000} ROUNDS=${ROUNDS:-5} DEPTH=${DEPTH:-2} SECONDS_EACH=${SECONDS_EACH:-3} PYTHON=${PYTHON:-python3}
work=$(mktemp -d -p "$DIR") || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
"$PYTHON" - "$work/a.tar" "$SAMPLES" <<'PY' || exit 4
import io, os, sys, tarfile
with tarfile.open(sys.argv[1], 'w') as tar:
    for i in range(int(sys.argv[2])):
        for name, size in (('jpg', 102400), ('cls', 2)):
            member = tarfile.TarInfo('%06d.%s' % (i, name))
            member.size = size
            tar.addfile(member, io.BytesIO(os.urandom(size)))
PY
gds() {
    "$java" --enable-native-access=ALL-UNNAMED ${JAVA_OPTS:-} -cp "$class_path" io.gds4j.tools.GdsCommand "$@" --json >"$work/json" || exit 4
    number bytesPerSecond <"$work/json"
}
own() {
    "$PYTHON" - "$work/a.tar" <<'PY' 2>/dev/null
import sys, time
from webdataset.tariterators import group_by_keys, tar_file_expander
begun, size = time.time(), 0
with open(sys.argv[1], 'rb') as stream:
    for sample in group_by_keys(tar_file_expander([dict(url='', stream=stream)])):
        size += len(sample['jpg']) + len(sample['cls'])
print(int(size / (time.time() - begun)))
PY
}
for ((round = 0; round < ROUNDS; round++)); do
    cat "$work/a.tar" >/dev/null
    gds records "$work/a.tar" --batch 32 --readers "$DEPTH" -t host --epochs 1000000 -T "$SECONDS_EACH" --warm-up 1 >>"$work/records"
    gds records "$work/a.tar" --batch 32 --readers "$DEPTH" -t host --shuffle --epochs 1000000 -T "$SECONDS_EACH" --warm-up 1 >>"$work/shuffled"
    gds io -f "$work/a.tar" -d host -I 0 -i 100K -w "$DEPTH" -T "$SECONDS_EACH" --warm-up 1 >>"$work/io"
    own >>"$work/own"
done
echo "$(machine); tar of $SAMPLES samples of 100 KiB in the page cache, $DEPTH readers, medians of $ROUNDS; bytes per second"
for name in records shuffled io own; do
    printf '%-9s %s\n' "$name" "$(median "$work/$name")"
done
