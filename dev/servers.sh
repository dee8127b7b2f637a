#!/bin/bash
# Builds the S3 server of another project that tests of gds-remote run against: versitygw, from the Go module proxy. Needs Go 1.24 or
# newer, 1 GB below the Go folders and a few minutes. nginx comes from the packages of the system: apt install nginx.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=v1.8.0

command -v go >/dev/null || {
    echo "no go here: https://go.dev/dl" >&2
    exit 1
}
GOBIN="$root/target/servers" go install "github.com/versity/versitygw/cmd/versitygw@$version"
echo "target/servers/versitygw $version"
