package io.gds4j.tools.power;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.arch.DocumentedTests;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The tables of what a crash leaves name tests that exist, and all that the power run calls. */
class CrashTablesTest {
    private static List<String> rows() throws IOException {
        List<String> rows = new ArrayList<>();
        for (String document : List.of("docs/saving.md", "docs/operations.md")) {
            List<String> table = DocumentedTests.rows(document, "| call | crash");
            assertThat(table).as(document).isNotEmpty();
            rows.addAll(table);
        }
        return rows;
    }

    @TestFactory
    Stream<DynamicTest> rowNamesItsTests() throws IOException {
        return DocumentedTests.exist(rows());
    }

    @Test
    void rowsNameEveryOperationOfThePowerRun() throws IOException {
        try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend()); CachedReads cache = new CachedReads(0)) {
            List<String> operations = Recording.EXT4.operations(driver, cache).stream().map(Operation::name).toList();
            assertThat(rows().stream().map(row -> row.substring(row.lastIndexOf('|', row.length() - 2) + 1))
                    .map(cell -> cell.substring(0, cell.indexOf('|')).strip()).distinct())
                    .containsExactlyInAnyOrderElementsOf(operations);
        }
    }
}
