#!/bin/bash
# Builds and runs the projects in dev/consumers as a user would: by Maven, from a repository that holds our artifacts. The kit runs
# with JUnit 5 and 6; examples has projects to copy. Nothing is installed: all that is made lies in a temporary folder, which is removed.
#
#   dev/consumers.sh [PROJECT...]      modules, junit; without one, both
#   BUILT=FOLDER dev/consumers.sh      takes our artifacts from a Maven repository in FOLDER and builds none
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
projects=${*:-modules junit}
version=$(sed -n '0,/<version>/s:.*<version>\(.*\)</version>.*:\1:p' "$root/pom.xml")
# The consumers are compiled for the JDK that gds4j needs, also where Maven runs on an older one.
# shellcheck source=dev/java.sh
. "$root/dev/java.sh"
need_java
JAVA_HOME=$(cd "$(dirname "$(readlink -f "$(command -v "$java")")")/.." && pwd)
export JAVA_HOME
scratch=$(mktemp -d)
built=${BUILT:-$scratch/built}
trap 'rm -rf "$scratch"' EXIT

cp -r "$root/dev/consumers" "$scratch/projects"
cat > "$scratch/settings.xml" <<XML
<settings>
  <profiles>
    <profile>
      <id>consumers</id>
      <repositories>
        <repository><id>built</id><url>file://$built</url></repository>
        <repository><id>fetched</id><url>file://$HOME/.m2/repository</url><releases><checksumPolicy>ignore</checksumPolicy></releases><snapshots><enabled>false</enabled></snapshots></repository>
      </repositories>
      <pluginRepositories>
        <pluginRepository><id>fetched</id><url>file://$HOME/.m2/repository</url><releases><checksumPolicy>ignore</checksumPolicy></releases><snapshots><enabled>false</enabled></snapshots></pluginRepository>
      </pluginRepositories>
    </profile>
  </profiles>
  <activeProfiles><activeProfile>consumers</activeProfile></activeProfiles>
</settings>
XML

maven() {
    mvn -B -q -s "$scratch/settings.xml" -Dmaven.repo.local="$scratch/m2" -Dgds4j.version="$version" "$@"
}

# Fails unless a program prints the sum, and nothing on standard error.
expect() {
    local out
    out=$("$@" 2>"$scratch/err")
    if ! grep -qx 'sum 6' <<<"$out" || [ -s "$scratch/err" ]; then
        printf '%s\n' "$out" >&2
        cat "$scratch/err" >&2
        echo "failed: $*" >&2
        exit 1
    fi
}

[ -n "${BUILT:-}" ] || (cd "$root" && mvn -B -q deploy -DskipTests -Dmaven.install.skip=true -pl gds4j,gds-bom,gds-testkit -am \
    -DaltDeploymentRepository="built::default::file://$built")
for project in $projects; do
    cd "$scratch/projects/$project"
    case $project in
        junit)
            for junit in 5.14.4 6.1.3; do
                maven test -Djunit.version=$junit
                echo "$project: $junit"
            done
            continue
            ;;
        *) maven package org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies -DincludeScope=runtime ;;
    esac
    case $project in
        modules) expect "$java" --enable-native-access=io.gds4j.ffi -p target/classes:target/dependency -m consumer/consumer.Program ;;
    esac
    echo "$project: as expected"
done
