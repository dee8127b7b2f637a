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

/** Tables of documents whose rows name tests, as {@code `ClassTest.method`}. */
public final class DocumentedTests {
    private static final Path ROOT = Path.of("..");
    private static final Pattern TEST = Pattern.compile("`(\\w+Test)\\.(\\w+)`");

    private DocumentedTests() {
    }

    /** Returns the rows of the table whose header begins like this. */
    public static List<String> rows(String document, String header) throws IOException {
        return Files.readAllLines(ROOT.resolve(document)).stream()
                .dropWhile(line -> !line.startsWith(header))
                .skip(2)
                .takeWhile(line -> line.strip().startsWith("| "))
                .toList();
    }

    /** Returns a test for each row, which fails unless all that it names exists. */
    public static Stream<DynamicTest> exist(List<String> rows) throws IOException {
        Map<String, String> sources = new HashMap<>();
        try (Stream<Path> files = Files.walk(ROOT, 12)) {
            for (Path file : files.filter(path -> path.toString().matches(".*/src/test/.*Test\\.java")).toList()) {
                sources.put(file.getFileName().toString().replace(".java", ""), Files.readString(file));
            }
        }
        return rows.stream().map(row -> DynamicTest.dynamicTest(row.split("\\|")[1].strip(), () -> {
            List<MatchResult> tests = TEST.matcher(row).results().toList();
            assertThat(tests).as(row).isNotEmpty();
            assertThat(tests).allSatisfy(test -> assertThat(sources.getOrDefault(test.group(1), ""))
                    .as(test.group()).contains("void " + test.group(2) + "("));
        }));
    }
}
