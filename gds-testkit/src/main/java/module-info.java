/** Doubles, faults, guard zones and a JUnit extension for tests. */
module io.gds4j.testkit {
    requires static transitive org.jspecify;
    requires transitive io.gds4j;
    requires transitive org.junit.jupiter.api;

    exports io.gds4j.testkit;
}
