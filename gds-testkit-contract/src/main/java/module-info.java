/** The contract suite that every backend is held to. */
module io.gds4j.testkit.contract {
    requires static transitive org.jspecify;
    requires transitive io.gds4j;
    requires transitive io.gds4j.testkit;
    requires java.management;
    requires transitive org.junit.jupiter.api;
    requires transitive org.junit.jupiter.params;
    requires transitive org.assertj.core;

    exports io.gds4j.testkit.contract;

    opens io.gds4j.testkit.contract;
}
