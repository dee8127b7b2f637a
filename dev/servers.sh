#!/bin/bash
# Gets the servers of other projects that tests of gds-remote run against: versitygw for S3 and fake-gcs-server for Google Cloud Storage, from the
# Go module proxy, with Go 1.26 or newer, 2 GB below the Go folders and some minutes; Azurite for Azure, from npm, with Node 20 or newer and 300 MB.
# nginx comes from the packages of the system: apt install nginx.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
versitygw=v1.8.0
gcs=v1.56.1
azurite=3.35.0

if command -v npm >/dev/null &&
    npm install --silent --no-audit --no-fund --prefix "$root/target/servers/azurite" "azurite@$azurite"; then
    ln -sf azurite/node_modules/.bin/azurite-blob "$root/target/servers/azurite-blob"
    echo "target/servers/azurite-blob $azurite"
else
    echo "no npm here, or no Azurite" >&2
fi

command -v go >/dev/null || {
    echo "no go here: https://go.dev/dl" >&2
    exit 1
}
# A server that cannot be had does not keep the next one away.
export GOBIN="$root/target/servers"
status=0
for server in "github.com/versity/versitygw/cmd/versitygw@$versitygw" "github.com/fsouza/fake-gcs-server@$gcs"; do
    if go install "$server"; then
        echo "target/servers/$(basename "${server/@/ }")"
    else
        status=1
    fi
done
exit $status
