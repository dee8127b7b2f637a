/** The contract suite that every backend is held to, and doubles for tests. */
module io.gds4j.testkit {
    requires static transitive org.jspecify;
    requires transitive io.gds4j;
    requires java.management;
    requires transitive org.junit.jupiter.api;
    requires transitive org.junit.jupiter.params;
    requires transitive org.assertj.core;

    exports io.gds4j.testkit;
    exports io.gds4j.testkit.contract;
    exports io.gds4j.testkit.random;

    opens io.gds4j.testkit.contract;
}
