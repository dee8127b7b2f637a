#!/bin/bash
# Makes the site of the documentation and the Javadoc in target/site.
#
#   dev/site.sh                 makes it
#   dev/site.sh test            makes it, then looks at every page in headless Chromium; without Chromium it says so and leaves that out
#   dev/site.sh pictures        makes it, and writes docs/images/site-1400.png, site-400.png and readme.png
#   dev/site.sh serve [PORT]    makes it and serves it on 127.0.0.1
#
# Needs Python 3.10 or newer with venv. The first run installs what dev/site/requirements.txt pins, with checksums, into target/site-tools.
# The Javadoc comes from target/apidocs, which mvn verify writes; the site is made without it where it is not there.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
here=$root/dev/site tools=$root/target/site-tools pages=$root/target/site-pages
cd "$root"

if ! cmp -s "$here/requirements.txt" "$tools/requirements.txt"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$tools/requirements.txt"
fi

rm -rf "$pages"
mkdir -p "$pages"/{samples,gds-spark,examples,api}
cp -r docs/. "$pages"
rm -rf "$pages/api"/*.txt "$pages/overview.html" "$pages"/notes/{experiments,measurements}.md
cp README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md "$pages"
for module in samples gds-spark examples; do
    cp $module/README.md "$pages/$module"
done
cp "$here"/site.css "$here"/search.js "$here"/logo.svg "$pages"
if [ -d target/apidocs ]; then
    cp -r target/apidocs/. "$pages/api"
else
    echo "site: no Javadoc, because mvn verify has not written target/apidocs" >&2
    echo '<!DOCTYPE html><title>gds4j API</title><p>mvn verify writes the API documentation.' >"$pages/api/index.html"
fi
NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" -q build -f "$here/mkdocs.yml"
echo "site: target/site/index.html"

case ${1:-} in
    test) "$tools/bin/python" "$here/check.py" "$root" ;;
    pictures) "$tools/bin/python" "$here/check.py" "$root" pictures ;;
    serve) exec "$tools/bin/python" -m http.server -b 127.0.0.1 -d target/site "${2:-8000}" ;;
esac
