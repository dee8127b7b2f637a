# Sourced by the benchmarks: sets here, root, java and what compiles C programs; CUDA and CUDALIB name other folders than the usual.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/dev/java.sh"

# gcc $flags -o PROGRAM FILE.c $libs -lcuda
cuda=${CUDA:-/usr/local/cuda}
flags="-O2 -pthread -I$cuda/include"
libs=
for folder in ${CUDALIB:-} "$cuda/lib64" "$cuda"/targets/*/lib /usr/local/nvidia/lib64 "$cuda/lib64/stubs"; do
    [ -d "$folder" ] && libs="$libs -L$folder"
done

# Sets class_path to one with gds-tools and all that it needs: GPU_CP, else what mvn package leaves. Ends the script without.
need_gds() {
    class_path=${GPU_CP:-$(ls "$root"/gds-tools/target/gds-tools-*.jar "$root"/gds-tools/target/lib/*.jar 2>/dev/null | paste -sd:)}
    [ -n "$class_path" ] || { echo "$0: no GPU_CP, and gds-tools is not built (mvn -DskipTests package)" >&2; exit 6; }
    need_java
}

# The day and the machine, with its first GPU if that is asked for.
machine() { # gpu or nothing
    local gpu=
    [ "${1:-}" = gpu ] && gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)
    echo "$(date -u +%F), $(uname -r), $(nproc) processors${gpu:+, $gpu}"
}

# Of the numbers in a file, or on standard input; nothing if there are none.
median() {
    [ $# = 0 ] || [ -s "$1" ] || return
    sort -g "$@" | awk '{v[NR] = $1} END {if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}

# A number of a JSON object on standard input: the first with that name, or the first behind a pattern.
number() { # name, pattern or nothing
    grep -o "${2:-}\"$1\":[0-9.eE+-]*" | head -1 | sed 's/.*://'
}

# Programs that answer each line with a line, in the folder $work: start begins one, ask sets answer, finish ends all.
declare -A to=() from=()
start() { # name, command
    local name=$1 fd
    shift
    trap '' PIPE # one that dies ends no script: it is asked no more
    mkfifo "$work/$name.in" "$work/$name.out"
    "$@" <"$work/$name.in" >"$work/$name.out" 2>>"$work/errors" &
    exec {fd}>"$work/$name.in"
    to[$name]=$fd
    exec {fd}<"$work/$name.out"
    from[$name]=$fd
}
ask() { # name, line, seconds
    answer=
    [ -n "${to[$1]:-}" ] || return
    echo "$2" 2>/dev/null >&"${to[$1]}" && read -r -t "$3" -u "${from[$1]}" answer && [ -n "$answer" ] && return
    unset "to[$1]"
    echo "$(basename "$0"): $1 does not answer $2" >>"$work/errors"
    return 1
}
finish() {
    local name fd
    for name in "${!to[@]}"; do fd=${to[$name]}; exec {fd}>&-; done
    wait
}

# The options of a JVM that measures, and of one in which the launcher runs gds load.
jvm_options="-XX:+UseSerialGC -Xms128m -Xmn96m --enable-native-access=ALL-UNNAMED"
launcher_options="$jvm_options -Xms352m -Xmn320m -XX:SurvivorRatio=30 -Xmx2g -XX:+UseTransparentHugePages -XX:ReservedCodeCacheSize=128m -Djdk.httpclient.bufsize=262144 -XX:TieredStopAtLevel=1"
