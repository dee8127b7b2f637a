package io.gds4j.tools;

/** Names of the JSON objects: within a number, fields are only ever added. */
final class Schemas {
    private Schemas() {
    }

    static String of(String command) {
        return "gds4j." + command + "/1";
    }
}
