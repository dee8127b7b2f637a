#!/bin/bash
# gds load of a checkpoint from a server on loopback (serve.c), beside as many clients that read the same ranges: curl processes, which
# drop the bytes, and plain clients of the JDK in one process, which keep them; alternated; prints a table of medians. A second table is
# of one process that reads by both into the same host memory.
#
#   benchmarks/scripts/remote.sh [TARGET]      TARGET is host (the default) or gpu:N
#
# curl is timed as a whole. Of Java, both figures begin in the process, with the first use of HTTP, and include the allocation of the
# memory. Both run twice, and the second run counts: some virtual machines take a second per gigabyte to give memory for the first time.
# Needs a JDK 25 and gcc; without curl its column stays empty, and without openssl there is no https. gds4j comes from GPU_CP, else the launcher runs what mvn package leaves.
#
# A third table is of real servers, where they are installed: nginx, and versitygw and MinIO as S3 servers, by http and https; fake-gcs-server and
# Azurite, emulators of Google's and Azure's stores, by http. Beside gds load stand curl processes, rclone into DIR, and the store's SDK for Python with
# threads into memory. It gives MB/s and the processor time of each client: that of gds
# is without that of gds load --list. Rows "put" are uploads of the same file: gds convert and rclone, 4 parts of 16 MiB at a time, and the SDK with its own settings; fake-gcs-server
# has none, as it computes the digest of all bytes so far for each part. With RELAY, a command
# that relays the connections of a port to another one ("RELAY PORT TO"), such as toxiproxy with 10 ms each way, the table is of connections
# through it. With ONLY=servers there is no other table. Before each client the script touches and frees huge pages: some virtual machines take a
# second per gigabyte to give them, and gds loads into them. Clients and servers that are missing are named in one line each.
#
#   DIR=/dev/shm     folder of the checkpoint
#   SIZE_GIB=2       its size
#   ROUNDS=5         alternations
#   SERVERS=…        names of programs, those of the third table; all by default
#   CLIENTS=16       curl processes, and plain clients; gds4j begins with 16 connections
#   JAVA_OPTS        more options for the JVM
set -u
. "$(dirname "$0")/common.sh"
target=${1:-host}
DIR=${DIR:-/dev/shm} SIZE_GIB=${SIZE_GIB:-2} ROUNDS=${ROUNDS:-5} CLIENTS=${CLIENTS:-16}
need_gds
work=$(mktemp -d)
data=$(mktemp -d -p "$DIR") || exit 4
server=
trap 'kill $server 2>/dev/null; rm -rf "$work" "$data"' EXIT
trap 'exit 130' INT TERM
options="$launcher_options ${JAVA_OPTS:-}" # for both
gds() {
    if [ -n "${GPU_CP:-}" ]; then
        "$java" $options -cp "$class_path" io.gds4j.tools.GdsCommand "$@"
    else
        GDS_NO_BUILD=yes GDS_JAVA_OPTS=${JAVA_OPTS:-} "$root/gds" "$@"
    fi
}
"$java" -m jdk.compiler/com.sun.tools.javac.Main -cp "$class_path" -d "$work/classes" "$root"/benchmarks/src/main/java/io/gds4j/benchmarks/Http{Clients,Figures}.java ||
    exit 6
gcc $flags -o "$work/serve" "$here/serve.c" || exit 6
gds demo --keep --size "${SIZE_GIB}G" --dir "$data" --json >"$work/demo" || { cat "$work/demo" >&2; exit 4; }
file=$(find "$data" -name '*.safetensors' -size +1M | head -1)
size=$(stat -c %s "$file")
"$work/serve" "$file" >"$work/port" &
server=$!
until [ -s "$work/port" ]; do kill -0 $server || exit 4; sleep 0.1; done
url=http://127.0.0.1:$(cat "$work/port")/$(basename "$file")

clients() {
    command -v curl >/dev/null || return
    local begin=$EPOCHREALTIME part=$(((size + CLIENTS - 1) / CLIENTS)) i pids=()
    for ((i = 0; i < CLIENTS; i++)); do
        curl -s -o /dev/null -r "$((i * part))-$(((i + 1) * part - 1))" "$url" &
        pids+=($!)
    done
    wait "${pids[@]}" || exit 4
    awk -v b="$begin" -v e="$EPOCHREALTIME" -v s="$size" 'BEGIN {printf "%.3f\n", s / (e - b) / 1e9}' >>"$work/curl"
}
plain() {
    "$java" $options -cp "$work/classes" io.gds4j.benchmarks.HttpClients "$url" "$CLIENTS" >"$work/out" &&
        "$java" $options -cp "$work/classes" io.gds4j.benchmarks.HttpClients "$url" "$CLIENTS" >>"$work/plain" || exit 4
}
ours() {
    gds load "$url" --target "$target" --json >"$work/out" && gds load "$url" --target "$target" --json >"$work/out" || exit 4
    number bytesPerSecond <"$work/out" | awk '{printf "%.3f\n", $1 / 1e9}' >>"$work/ours"
}
[ "${ONLY:-}" = servers ] || for ((round = 0; round < ROUNDS; round++)); do
    if [ $((round % 2)) = 0 ]; then clients; plain; ours; else ours; plain; clients; fi
done
if [ "${ONLY:-}" != servers ]; then
c=$(median "$work/curl") p=$(median "$work/plain") o=$(median "$work/ours")
echo "$(machine); $((size >> 20)) MiB from serve.c on loopback, medians of $ROUNDS alternations, GB/s"
echo
echo "| $CLIENTS curl clients, bytes dropped | $CLIENTS plain Java clients, bytes kept | gds load --target $target, fresh process | of curl | of Java |"
echo "| ---: | ---: | ---: | ---: | ---: |"
echo "| $c | $p | $o | $(awk -v o="$o" -v c="$c" -v p="$p" 'BEGIN {printf "%s | %.2f", c ? sprintf("%.2f", o / c) : "", o / p}') |"
figures=($("$java" $options -cp "$work/classes:$class_path" io.gds4j.benchmarks.HttpFigures "$url" "$CLIENTS" "$ROUNDS")) || exit 4
echo
echo "| in one process, into host memory: plain Java clients | gds4j | ratio |"
echo "| ---: | ---: | ---: |"
echo "| ${figures[0]} | ${figures[1]} | $(awk -v p="${figures[0]}" -v o="${figures[1]}" 'BEGIN {printf "%.2f", o / p}') |"
fi

# --- real servers
has() { command -v "$1" >/dev/null || { echo "no $1 here: its rows are left out" >&2; return 1; }; }
sdk() { # scheme: whether Python has the SDK
    case $1 in s3) python3 -c 'import boto3' ;; gs) python3 -c 'import google.cloud.storage' ;; az) python3 -c 'import azure.storage.blob' ;; *) false ;; esac 2>/dev/null
}
wanted() { [[ " ${SERVERS:-nginx versitygw minio fake-gcs-server azurite-blob} " = *" $1 "* ]] && has "$1"; }
TIMEFORMAT='%R %U %S'
servers=()
trap 'kill $server "${servers[@]}" 2>/dev/null; rm -rf "$work" "$data"' EXIT
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
up() { # port
    local i
    for ((i = 0; i < 200; i++)); do (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return; sleep 0.1; done
    echo "the server at port $1 did not start" >&2
    return 1
}
through() { # port: prints the one that clients use
    [ -n "${RELAY:-}" ] || { echo "$1"; return; }
    local port
    port=$(free_port)
    $RELAY "$port" "$1" >/dev/null 2>&1 &
    echo $! >>"$work/relays"
    up "$port" && echo "$port"
}
trust=()
if has openssl; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key" -out "$work/cert" -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost >/dev/null 2>&1 &&
        "${java%java}keytool" -importcert -noprompt -file "$work/cert" -keystore "$work/trust" -storepass changeit >/dev/null 2>&1 &&
        trust=(-Djavax.net.ssl.trustStore="$work/trust" -Djavax.net.ssl.trustStorePassword=changeit)
fi
touch='import mmap, sys
size = int(sys.argv[1])
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_HUGEPAGE)
for at in range(0, size, 4096):
    memory[at] = 1'
# timed ROW CLIENT SECONDS-OR-EMPTY COMMAND...: notes MB/s and processor time
timed() {
    local row=$1 client=$2 wall user sys seconds
    shift 2
    python3 -c "$touch" "$size"
    { time "$@" >"$work/out" 2>"$work/err"; } 2>"$work/time" || { echo "$row: $client failed: $(head -c 300 "$work/err")" >&2; return 1; }
    read -r wall user sys <"$work/time"
    seconds=$wall
    [ "$client" = gds ] && seconds=$(number seconds <"$work/out")
    awk -v s="$size" -v t="$seconds" -v u="$user" -v y="$sys" 'BEGIN {print s / t / 1e6; print u + y >"/dev/stderr"}' \
        >>"$work/rate.$row.$client" 2>>"$work/cpu.$row.$client"
}
curls() { # url
    local part=$(((size + CLIENTS - 1) / CLIENTS)) i pids=()
    for ((i = 0; i < CLIENTS; i++)); do
        curl -s -f --cacert "$work/cert" -o /dev/null -r "$((i * part))-$(((i + 1) * part - 1))" "$1" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i" || return 1; done
}
gds_of() { GDS_JAVA_OPTS="${trust[*]} ${JAVA_OPTS:-}" JAVA_OPTS="${trust[*]} ${JAVA_OPTS:-}" gds load "$@" --json; }
copied() { rclone copyto --ca-cert "$work/cert" --multi-thread-streams "$CLIENTS" --multi-thread-cutoff 1M "$@" "$data/copy" && rm -f "$data/copy"; }
cat >"$work/sdk.py" <<'END'
import sys, threading
scheme, way, name, file, size, threads, ca = *sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6]), sys.argv[7]
if scheme == "s3":
    import boto3, botocore.config
    s3 = boto3.client("s3", verify=ca, config=botocore.config.Config(max_pool_connections=threads, s3={"addressing_style": "path"}))
    read = lambda at, end: s3.get_object(Bucket="bench", Key=name, Range=f"bytes={at}-{end - 1}")["Body"].read()
    write = lambda: s3.upload_file(file, "bench", name)
elif scheme == "gs":
    import requests.adapters
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage
    client = storage.Client(project="bench", credentials=AnonymousCredentials())
    client._http.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=threads))
    blob = client.bucket("bench").blob(name)
    read = lambda at, end: blob.download_as_bytes(start=at, end=end - 1, raw_download=True, checksum=None)
    write = lambda: blob.upload_from_filename(file)
else:
    import os
    from azure.storage.blob import BlobServiceClient
    service = BlobServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"], max_single_get_size=8 << 20)
    if way == "make":
        service.create_container("bench")
    blob = service.get_blob_client("bench", name)
    read = lambda at, end: blob.download_blob(at, end - at).readall()
    write = lambda: blob.upload_blob(open(file, "rb"), overwrite=True, max_concurrency=4)
if way != "get":
    write()
    sys.exit()
memory, part = bytearray(size), 8 << 20
def work(first):
    for at in range(first * part, size, threads * part):
        end = min(at + part, size)
        memory[at:end] = read(at, end)
all = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
[t.start() for t in all]
[t.join() for t in all]
END
rows=()
row() { # name url rclone-source...
    local name=$1 url=$2 i
    shift 2
    rows+=("$name")
    gds_of "$url" --list >/dev/null 2>&1
    for ((i = 0; i < ROUNDS; i++)); do
        timed "$name" gds gds_of "$url" --target "$target"
        { time gds_of "$url" --list >/dev/null 2>&1; } 2>"$work/time"
        awk '{print $2 + $3}' "$work/time" >>"$work/list.$name"
        case $url in
            http*) [ -n "$curl" ] && timed "$name" curl curls "$url" ;;
            *) sdk "${url%%:*}" && timed "$name" sdk python3 "$work/sdk.py" "${url%%:*}" get "$base" "$file" "$size" "$CLIENTS" "$work/cert" ;;
        esac
        [ -n "$rclone" ] && timed "$name" rclone copied "$@"
    done
}
gds_put() { GDS_JAVA_OPTS="${trust[*]} ${JAVA_OPTS:-}" JAVA_OPTS="${trust[*]} ${JAVA_OPTS:-}" gds convert "$file" "$1" --json; }
uploads() { # name url-of-the-bucket folder-of-the-bucket-or-nothing rclone-bucket...
    local name="$1 put" url=$2 folder=$3 i
    shift 3
    rows+=("$name")
    for ((i = 0; i < ROUNDS; i++)); do
        timed "$name" gds gds_put "${url}put$i/"
        { time gds_of "$url$base" --list >/dev/null 2>&1; } 2>"$work/time"
        awk '{print $2 + $3}' "$work/time" >>"$work/list.$name"
        sdk "${url%%:*}" && timed "$name" sdk python3 "$work/sdk.py" "${url%%:*}" put "put$i/sdk" "$file" "$size" "$CLIENTS" "$work/cert"
        [ -n "$rclone" ] && timed "$name" rclone rclone copyto --ca-cert "$work/cert" "${@:1:$#-1}" "$file" "${!#}/put$i/rclone"
        [ -z "$folder" ] || rm -rf "$folder"/put*
    done
}
curl= rclone=
has curl && curl=yes
has rclone && rclone=yes
base=$(basename "$file")
export RCLONE_CONFIG=/dev/null
if wanted nginx; then
    http=$(free_port) https=$(free_port)
    {
        echo "daemon off; pid $work/nginx.pid; error_log stderr; worker_processes auto; user $(id -un) $(id -gn); events {} http { access_log off; sendfile on; keepalive_requests 100000;"
        for each in body proxy fastcgi uwsgi scgi; do echo "${each/body/client_body}_temp_path $work/$each;"; done
        echo "server { listen 127.0.0.1:$http; root $(dirname "$file"); }"
        [ ${#trust[@]} = 0 ] || echo "server { listen 127.0.0.1:$https ssl; ssl_certificate $work/cert; ssl_certificate_key $work/key; root $(dirname "$file"); }"
        echo "}"
    } >"$work/nginx.conf"
    chmod 755 "$data" "$work"
    nginx -c "$work/nginx.conf" 2>"$work/nginx.log" &
    servers+=($!)
    if up "$http"; then
        port=$(through "$http")
        row nginx-http "http://localhost:$port/$base" --http-url "http://localhost:$port" ":http:$base"
        if [ ${#trust[@]} != 0 ]; then
            port=$(through "$https")
            row nginx-https "https://localhost:$port/$base" --http-url "https://localhost:$port" ":http:$base"
        fi
    fi
fi
s3() { # row scheme port folder-of-the-bucket
    export AWS_ENDPOINT_URL_S3=$2://localhost:$(through "$3")
    local bucket=(--s3-provider Other --s3-env-auth --s3-no-check-bucket --s3-endpoint "$AWS_ENDPOINT_URL_S3" :s3:bench)
    row "$1-$2" "s3://bench/$base" "${bucket[@]}/$base"
    uploads "$1-$2" s3://bench/ "$4" --s3-upload-cutoff 16M --s3-chunk-size 16M --s3-upload-concurrency 4 "${bucket[@]}"
}
unset AWS_CA_BUNDLE AWS_PROFILE
if wanted versitygw; then
    export AWS_ACCESS_KEY_ID=bench AWS_SECRET_ACCESS_KEY=benchbench AWS_REGION=us-east-1
    mkdir -p "$data/s3/bench" && ln "$file" "$data/s3/bench/$base"
    for scheme in http https; do
        [ $scheme = http ] || [ ${#trust[@]} != 0 ] || continue
        port=$(free_port) tls=()
        [ $scheme = http ] || tls=(--cert "$work/cert" --key "$work/key")
        versitygw --access bench --secret benchbench --port "127.0.0.1:$port" --quiet "${tls[@]}" posix "$data/s3" >"$work/versity.log" 2>&1 &
        servers+=($!)
        up "$port" && s3 versitygw $scheme "$port" "$data/s3/bench"
    done
fi
if wanted minio && has curl; then
    export AWS_ACCESS_KEY_ID=bench AWS_SECRET_ACCESS_KEY=benchbench AWS_REGION=us-east-1 MINIO_ROOT_USER=bench MINIO_ROOT_PASSWORD=benchbench
    for scheme in http https; do
        [ $scheme = http ] || [ ${#trust[@]} != 0 ] || continue
        port=$(free_port) certificates=$work/none
        [ $scheme = http ] || { certificates=$work/certificates; mkdir "$certificates"; cp "$work/cert" "$certificates/public.crt"; cp "$work/key" "$certificates/private.key"; }
        minio server --quiet --address "127.0.0.1:$port" --console-address 127.0.0.1:0 --certs-dir "$certificates" "$data/minio" >"$work/minio.log" 2>&1 &
        servers+=($!)
        up "$port" || continue
        put() { curl -s -f --cacert "$work/cert" --aws-sigv4 aws:amz:us-east-1:s3 -u bench:benchbench --retry 9 --retry-all-errors -X PUT "$@" >/dev/null; }
        [ $scheme = https ] || { put "$scheme://localhost:$port/bench" && put -T "$file" "$scheme://localhost:$port/bench/$base"; } || continue
        s3 minio $scheme "$port" "$data/minio/bench"
    done
fi
if wanted fake-gcs-server; then
    port=$(free_port)
    mkdir -p "$data/gcs/bench" && ln "$file" "$data/gcs/bench/$base"
    fake-gcs-server -backend memory -scheme http -host 127.0.0.1 -port "$port" -public-host localhost -log-level error -data "$data/gcs" >"$work/gcs.log" 2>&1 &
    servers+=($!)
    if up "$port"; then
        export STORAGE_EMULATOR_HOST=http://localhost:$(through "$port")
        row fake-gcs-server "gs://bench/$base" --gcs-anonymous --gcs-endpoint "$STORAGE_EMULATOR_HOST/storage/v1/" ":gcs:bench/$base"
    fi
fi
if wanted azurite-blob && sdk az; then
    port=$(free_port) key=$(head -c 32 "$file" | base64)
    AZURITE_ACCOUNTS=bench:$key azurite-blob --blobHost 127.0.0.1 --blobPort "$port" --location "$data/azurite" --silent --disableTelemetry --skipApiVersionCheck >"$work/azurite.log" 2>&1 &
    servers+=($!)
    if up "$port"; then
        endpoint=http://localhost:$(through "$port")/bench
        export AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=http;AccountName=bench;AccountKey=$key;BlobEndpoint=$endpoint"
        container=(--azureblob-no-check-container --azureblob-account bench --azureblob-key "$key" --azureblob-endpoint "$endpoint" :azureblob:bench)
        python3 "$work/sdk.py" az make "$base" "$file" "$size" "$CLIENTS" "$work/cert" &&
            row azurite "az://bench/bench/$base" "${container[@]/%:bench/:bench/$base}" &&
            uploads azurite az://bench/bench/ "" --azureblob-chunk-size 16M --azureblob-upload-concurrency 4 "${container[@]}"
    fi
fi
[ ! -f "$work/relays" ] || kill $(cat "$work/relays") 2>/dev/null
[ ${#rows[@]} = 0 ] && exit
echo
echo "MB/s (processor seconds of the client), medians of $ROUNDS alternations${RELAY:+, through a relay}"
echo
echo "| server, put: uploads | gds load, gds convert | curl, $CLIENTS ranges, dropped | rclone, $CLIENTS streams | the SDK, $CLIENTS threads |"
echo "| --- | ---: | ---: | ---: | ---: |"
for name in "${rows[@]}"; do
    printf '| %s |' "$name"
    for client in gds curl rclone sdk; do
        rate=$(median "$work/rate.$name.$client" 2>/dev/null) cpu=$(median "$work/cpu.$name.$client" 2>/dev/null) less=0
        [ $client = gds ] && less=$(median "$work/list.$name")
        [ -n "$rate" ] && printf ' %.0f (%.2f) |' "$rate" "$(awk -v c="$cpu" -v l="$less" 'BEGIN {print c - l}')" || printf ' |'
    done
    echo
done
