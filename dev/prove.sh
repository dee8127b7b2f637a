#!/bin/bash
# Proves gds4j on this machine, for owners of machines that the project lacks: nvidia-fs, p2pdma, NVMe, RDMA adapters, Lustre, more
# than four GPUs. Writes FOLDER/proof.md, one file to send.
#
#   dev/prove.sh FOLDER [PART ...]          all parts that have no verdict in FOLDER, or these again
#   dev/prove.sh --list                     the parts
#   dev/prove.sh --archive FILE.tar.gz      packs this built checkout, for machines without Maven: unpack it there, run ./prove FOLDER
#
# A part takes at most 10 minutes and can be stopped; the next call goes on with the parts that are left. Nothing leaves this machine.
# docs/notes/prove.md says what each part shows. Status 0 if every part that can run here is right, 5 if one is wrong, 4 if one is not done.
#
#   DATA=FOLDER         on the storage to prove (FOLDER); 20 GB free are enough
#   BUDGET=540          seconds that a part may take
#   DEVICE=mlx5_0 GID=3 the RDMA device and the entry of its address table; OTHER=mlx5_1 a second one, joined to it
#   GPUS=N              GPUs that a load goes to (all)
#   JAVA_HOME           java 25. Class paths: see test-jvm.sh
set -u
. "$(dirname "$0")/test-jvm.sh"

usage() {
    sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"
    exit 2
}

modules="gds-native gds-engine gds-libcufile gds-compat gds-jcuda gds-loader gds-dataset gds-interop gds-rdma gds-remote gds-testkit gds-testkit-contract gds-tools samples"

# --- the archive ------------------------------------------------------------------------------------------------------
archive() { # FILE.tar.gz
    local name=gds4j-proof to module
    need_java
    to=$(mktemp -d)
    trap 'rm -rf "$to"' EXIT
    # Tests that read schemas run in the folder of their module.
    mkdir -p "$to/$name"/{lib,tests,benchmarks,docs,gds-tools/src} || exit 4
    cp -r "$root/docs/schemas" "$to/$name/docs/"
    cp -r "$root/dev" "$to/$name/"
    cp -r "$root/benchmarks/scripts" "$to/$name/benchmarks/"
    cp "$root/LICENSE" "$root/docs/notes/prove.md" "$to/$name/"
    for module in gds-api $modules; do
        [ ! -d "$root/$module/target/test-classes" ] || cp -r "$root/$module/target/test-classes" "$to/$name/tests/$module"
        cp "$root/$module"/target/*-SNAPSHOT.jar "$root/$module"/target/*[0-9].jar "$to/$name/lib/" 2>/dev/null
    done
    tr : '\n' <<<"$(class_path_of)" | grep '\.jar$' | grep -v '/gds-[a-z-]*-[0-9][^/]*$' | while read -r jar; do cp "$jar" "$to/$name/lib/"; done
    cat >"$to/$name/prove" <<'P'
#!/bin/bash
# Proves gds4j on this machine; see prove.md.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GPU_CP=$(ls "$here"/lib/*.jar | paste -sd:) TESTS=$here/tests
exec "$here/dev/prove.sh" "$@"
P
    chmod +x "$to/$name/prove"
    [ -f "$to/$name"/lib/gds-tools-*.jar ] && [ -d "$to/$name/tests/gds-compat" ] && ls "$to/$name"/lib/junit-platform-console-standalone-*.jar >/dev/null 2>&1 ||
        { echo "$0: this checkout is not built, or JUnit's console launcher is not in ~/.m2; see test-jvm.sh" >&2; exit 6; }
    (cd "$root" && git log -1 --format=%H 2>/dev/null) >"$to/$name/commit"
    tar -C "$to" --sort=name --owner=0 --group=0 --numeric-owner -czf "$1" "$name" || exit 4
    ls -l "$1"
    exit 0
}

# --- what is here -----------------------------------------------------------------------------------------------------
gpus_here() { nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU'; }
gpu() { [ "$(gpus_here)" -gt 0 ] || { echo "no GPU here"; return 1; }; }
libcufile() {
    gpu || return
    "$java" -cp "$class_path" --enable-native-access=ALL-UNNAMED io.gds4j.tools.GdsCommand check --json 2>/dev/null >"$to/check.json"
    ! grep -q '"libcufile":{"available":false' "$to/check.json" || { echo "no libcufile here"; return 1; }
}
adapter() { [ -n "$(ls /sys/class/infiniband 2>/dev/null)" ] || { echo "no RDMA device here"; return 1; }; }
compiler() { command -v gcc >/dev/null || { echo "no gcc here"; return 1; }; }
python() { gpu && { command -v python3 >/dev/null || { echo "no python3 here"; return 1; }; }; }
anything() { :; }

# --- parts: name | what it needs | function | what it shows ------------------------------------------------------------
parts=(
    "machine|anything|what gds4j sees of this machine"
    "contract-host|anything|the contract on host memory and on the doubles of both backends, on the storage of DATA"
    "campaign-host|anything|random operations beside a model of each byte, on the storage of DATA"
    "campaign-fake|anything|the same on a fake GPU"
    "matrix-compat|anything|each native call of each operation fails, compat backend"
    "matrix-libcufile|anything|the same, libcufile backend on its double"
    "matrix-verbs|anything|the same, RDMA verbs"
    "golden|libcufile|libcufile answers as it did on other machines"
    "contract-gpu|libcufile|the contract on both backends with this GPU and this libcufile"
    "campaign-gpu|gpu|random operations on every kind of GPU memory"
    "gpu-tests-1|gpu|tests tagged gpu: bindings, engine, compat"
    "gpu-tests-2|gpu|tests tagged gpu: libcufile and all others"
    "rdma|adapter|regions, windows, queue pairs and transfers of an RDMA device, to the byte"
    "compare|compiler|speed beside the limits of this machine, and libcufile's where it is there"
    "load|python|first loads of a checkpoint to the GPUs, beside the Python loaders that are installed"
)

junit() { # options of the console launcher
    local folder
    folder=$(mktemp -d "$DATA/gds4j-prove-XXXXXX") || return 4
    mkdir "$folder/target"
    (cd "$folder" && "$java" -Xmx1g --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow -cp "$class_path" \
        org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors --details=summary "$@")
    local status=$?
    rm -rf "$folder"
    return $status
}
campaign() { # mode, kinds of storage
    DIRS="$DATA${2:+ $2}" REPORTS="$to/campaign-$1" "$here/campaign.sh" "$1" $((BUDGET / 3))
}
gpu_tests() { # regular expression of classes, more options
    BUDGET=$((BUDGET * 4 / 5)) SECONDS_EACH=$((BUDGET / 6)) REPORTS="$to/$part" "$here/gpu-tests.sh" "-Dgds4j.gpu.directory=$DATA" "$@"
}
run_part() {
    local classes=io.gds4j.compat
    case $1 in
        machine)
            "$java" -version 2>&1
            uname -srm
            grep -E 'MemTotal' /proc/meminfo
            grep -m1 'model name' /proc/cpuinfo
            nproc
            lsmod 2>/dev/null | grep -E '^(nvidia_fs|nvidia_peermem|nvme|nvme_tcp|nvme_rdma|mlx5_ib|lustre|ib_uverbs) '
            cat /proc/driver/nvidia-fs/version /sys/module/lustre/version 2>/dev/null
            nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv 2>/dev/null
            nvidia-smi topo -m 2>/dev/null
            ls /sys/class/infiniband 2>/dev/null
            df -T "$DATA" | awk '{print $1, $2, $3}'
            grep -h . /sys/class/nvme/*/model 2>/dev/null
            "$java" -cp "$class_path" --enable-native-access=ALL-UNNAMED io.gds4j.tools.GdsCommand check "$DATA" 2>&1
            ;;
        contract-host)
            junit --select-class "$classes.HostContractTest" --select-class "$classes.ForcedDirectContractTest" --select-class "$classes.FakeGpuContractTest" \
                --select-class io.gds4j.libcufile.LibCuFileContractTest --select-class io.gds4j.libcufile.LaterLibCuFileContractTest
            ;;
        campaign-host) campaign host ;;
        campaign-fake) campaign fake /dev/shm ;;
        campaign-gpu) JOBS=4 campaign gpu /dev/shm ;;
        matrix-compat) "$here/faults.sh" compat ;;
        matrix-libcufile) "$here/faults.sh" libcufile ;;
        matrix-verbs) "$here/faults.sh" verbs ;;
        golden) gpu_tests LibCuFileAnswers ;;
        contract-gpu) JAVA_OPTS="-Dgds4j.gpu.directory=$DATA" "$here/contract.sh" "$to/contract.md" "$to/contract" && cat "$to/contract.md" ;;
        gpu-tests-1) gpu_tests '^io[.]gds4j[.](ffi|engine|compat[.](Gpu[^C]|Random))' ;;
        gpu-tests-2) gpu_tests '^io[.]gds4j[.](libcufile[.]Gpu([^L]|LibCuFileStream)|jcuda|loader|dataset|interop|remote|testkit|tools|samples)' ;;
        rdma)
            TAG=rdma JOBS=1 gpu_tests Wire "-Dgds4j.rdma.device=${DEVICE:-$(ls /sys/class/infiniband | head -1)}" \
                "-Dgds4j.rdma.gid=${GID:-1}" "-Dgds4j.rdma.other=${OTHER:-}"
            ;;
        compare)
            local mode=host
            [ "$(gpus_here)" = 0 ] || mode=gpu
            DIR=$DATA PEERS=no BUDGET=$((BUDGET / 3)) "$root/benchmarks/scripts/compare.sh" $mode
            ;;
        load)
            local shared=/dev/shm
            [ "$(df --output=avail -B1G /dev/shm | tail -1)" -ge 40 ] || shared=$DATA
            DIR=$shared ROUNDS=3 GPUS=${GPUS:-$(gpus_here)} "$root/benchmarks/scripts/first.sh"
            ;;
    esac
}

# --- one part, with its verdict ----------------------------------------------------------------------------------------
prove() { # name, need
    local part=$1 why status began=$SECONDS verdict
    if ! why=$("$2"); then
        verdict="not here|0|$why"
    else
        echo "$part: begins" >&2
        # A part that is stopped has no verdict, and is begun again.
        rm -rf "$to/$part" "$to/$part.verdict"
        (run_part "$part") >"$to/$part.txt" 2>"$to/$part.log" &
        running=$!
        (sleep "$((BUDGET + 30))" && stop_all TERM "$running" && sleep 5 && stop_all KILL "$running") >/dev/null 2>&1 &
        watch=$!
        { wait "$running"; status=$?; kill "$watch"; wait "$watch"; } 2>/dev/null
        running=
        rm -rf "$DATA"/gds4j-prove-*
        took=$((SECONDS - began))
        case $status in
            0) verdict="right|$took|" ;;
            4) verdict="not done|$took|$(tail -1 "$to/$part.log")" ;;
            1 | 5) verdict="WRONG|$took|$(grep -hiE 'fail|wrong|not run' "$to/$part.txt" "$to/$part.log" | tail -1)" ;;
            137 | 143) verdict="not done|$took|stopped after $took s" ;;
            *) verdict="not done|$took|status $status: $(tail -1 "$to/$part.log")" ;;
        esac
    fi
    echo "$verdict" | tr -s '\t ' ' ' | cut -c 1-300 >"$to/$part.verdict"
    echo "$part: ${verdict//|/ }" >&2
}
stop_all() { # signal, process: with all that it began, which first gets the chance to remove its files
    local child
    for child in $(ps -o pid= --ppid "$2" 2>/dev/null); do stop_all "$1" "$child"; done
    kill -s "$1" "$2" 2>/dev/null
    return 0
}

# --- the file to send ---------------------------------------------------------------------------------------------------
report() {
    local entry name verdict took note what
    echo "# gds4j proved on a machine"
    echo
    echo "$(date -u +%F), commit $(cat "$root/commit" 2>/dev/null || git -C "$root" log -1 --format=%H 2>/dev/null || echo unknown)"
    echo
    echo '| part | verdict | seconds | what it shows | note |'
    echo '| --- | --- | ---: | --- | --- |'
    for entry in "${parts[@]}"; do
        IFS='|' read -r name _ what <<<"$entry"
        verdict="not run" took= note=
        [ ! -s "$to/$name.verdict" ] || IFS='|' read -r verdict took note <"$to/$name.verdict"
        echo "| $name | $verdict | $took | $what | ${note//|//} |"
    done
    for entry in "${parts[@]}"; do
        name=${entry%%|*}
        [ -s "$to/$name.txt" ] || continue
        printf '\n## %s\n\n' "$name"
        # Tables of figures whole, all else by its end.
        sed 's/\x1b\[[0-9;]*m//g;s/^/    /' "$to/$name.txt" | tail -n "$(case $name in machine | compare | load | contract-gpu | rdma | gpu-tests*) echo 3000 ;; *) echo 60 ;; esac)" |
            sed "s|$to|FOLDER|g;s|$root|ROOT|g;s|\\b$(hostname)\\b|HOST|g"
    done
}

# --- what was asked for -------------------------------------------------------------------------------------------------
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
    --archive) [ $# = 2 ] || usage; archive "$2" ;;
    --list) for entry in "${parts[@]}"; do IFS='|' read -r name _ what <<<"$entry"; printf '%-16s %s\n' "$name" "$what"; done; exit 0 ;;
    "" | -*) usage ;;
esac
mkdir -p "$1" && to=$(cd "$1" && pwd) || exit 4
shift
DATA=$(mkdir -p "${DATA:-$to}" && cd "${DATA:-$to}" && pwd) || exit 4
BUDGET=${BUDGET:-540} running=
for name; do
    printf '%s\n' "${parts[@]}" | grep -q "^$name|" || { echo "$0: there is no part $name; --list names them" >&2; exit 2; }
done
class_path=$(class_path_of $modules)
need_test_jvm
trap '[ -z "$running" ] || stop_all TERM "$running"; exit 130' INT TERM
bad=0
for entry in "${parts[@]}"; do
    IFS='|' read -r name need _ <<<"$entry"
    if [ $# -gt 0 ]; then
        [[ " $* " = *" $name "* ]] || continue
    elif [ -s "$to/$name.verdict" ] && ! grep -qE '^not (here|done)' "$to/$name.verdict"; then
        continue
    fi
    prove "$name" "$need"
    report >"$to/proof.md"
done
report >"$to/proof.md"
cat "$to"/*.verdict | grep -q '^WRONG' && bad=5
[ $bad != 0 ] || ! cat "$to"/*.verdict | grep -q '^not done' || bad=4
sed -n '3,/^$/p;/^| /p' "$to/proof.md"
echo "send: $to/proof.md"
exit $bad
