package io.gds4j.tools;

/** Schema names of the JSON objects. Within a schema number, releases only add fields. */
final class Schemas {
    private Schemas() {
    }

    static String of(String command) {
        return "gds4j." + command + "/1";
    }
}
