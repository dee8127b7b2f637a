package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Every row of the table in SECURITY.md names tests that exist. */
class SecurityTableTest {
    private static final int MIN_ROWS = 15;

    @TestFactory
    Stream<DynamicTest> rowNamesItsTests() throws IOException {
        List<String> rows = DocumentedTests.rows("SECURITY.md", "| threat");
        assertThat(rows).hasSizeGreaterThan(MIN_ROWS);
        return DocumentedTests.exist(rows);
    }
}
