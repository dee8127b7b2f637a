# Sourced by scripts: java is that of JAVA_HOME, else that of the PATH.
java=java
[ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ] && java=$JAVA_HOME/bin/java

is_new_enough() {
    "$java" -version 2>&1 | grep -qE 'version "(2[5-9]|[3-9][0-9])'
}

# Looks for another one where it is too old, and ends the script where there is none.
need_java() {
    local folder
    is_new_enough && return
    for folder in /usr/lib/jvm/* "${HOME:-}"/.sdkman/candidates/java/*; do
        java=$folder/bin/java
        is_new_enough && return
    done
    echo "$0: java is not 25 or newer" >&2
    exit 6
}
