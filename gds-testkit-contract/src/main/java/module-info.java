/** The contract suite that every backend is held to, and the campaign of random operations; not published. */
module io.gds4j.testkit.contract {
    requires static transitive org.jspecify;
    requires transitive io.gds4j;
    requires transitive io.gds4j.testkit;
    requires java.management;
    requires transitive org.junit.jupiter.api;
    requires transitive org.junit.jupiter.params;
    requires transitive org.assertj.core;

    exports io.gds4j.testkit.contract;
    exports io.gds4j.testkit.random;

    opens io.gds4j.testkit.contract;
}
