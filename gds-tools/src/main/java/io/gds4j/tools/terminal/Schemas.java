package io.gds4j.tools.terminal;

/** Schema names of the JSON objects. Within a schema number, releases only add fields. */
public final class Schemas {
    private Schemas() {
    }

    /** Returns the schema of a command's object. */
    public static String of(String command) {
        return "gds4j." + command + "/1";
    }
}
