package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Every row of the table in SECURITY.md names tests that exist. */
class SecurityTableTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern TEST = Pattern.compile("`(\\w+Test)\\.(\\w+)`");
    private static final int LEAST_ROWS = 15;

    @TestFactory
    Stream<DynamicTest> rowNamesItsTests() throws IOException {
        Map<String, String> sources = new HashMap<>();
        try (Stream<Path> files = Files.walk(ROOT, 12)) {
            for (Path file : files.filter(path -> path.toString().matches(".*/src/test/.*Test\\.java")).toList()) {
                sources.put(file.getFileName().toString().replace(".java", ""), Files.readString(file));
            }
        }
        List<String> rows = Files.readAllLines(ROOT.resolve("SECURITY.md")).stream()
                .filter(line -> line.startsWith("| ") && !line.startsWith("| threat") && !line.startsWith("| ---"))
                .toList();
        assertThat(rows).hasSizeGreaterThan(LEAST_ROWS);
        return rows.stream().map(row -> DynamicTest.dynamicTest(row.split("\\|")[1].strip(), () -> {
            List<MatchResult> tests = TEST.matcher(row).results().toList();
            assertThat(tests).as(row).isNotEmpty();
            assertThat(tests).allSatisfy(test -> assertThat(sources.getOrDefault(test.group(1), ""))
                    .as(test.group()).contains("void " + test.group(2) + "("));
        }));
    }
}
