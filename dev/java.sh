# Sourced by scripts: java is that of JAVA_HOME, else that of the PATH.
java=java
[ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ] && java=$JAVA_HOME/bin/java

# Ends the script where it is too old.
need_java() {
    "$java" -version 2>&1 | grep -qE 'version "(2[5-9]|[3-9][0-9])' || { echo "$0: java is not 25 or newer" >&2; exit 6; }
}
