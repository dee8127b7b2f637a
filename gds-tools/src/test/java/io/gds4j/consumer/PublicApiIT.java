package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The public API against its baseline, docs/api; docs/support.md says what may change. */
class PublicApiIT {
    private static final Path BASELINE = Path.of("").toAbsolutePath().resolveSibling("docs").resolve("api");
    /** Set to write the baseline anew. */
    private static final boolean RENEW = Boolean.getBoolean("gds4j.api.renew");

    private static Map<String, Set<String>> api = Map.of();

    @BeforeAll
    static void read() throws IOException {
        api = PublicApi.ofTheClassPath();
    }

    @TestFactory
    Stream<DynamicTest> moduleKeepsTheLinesOfItsBaseline() throws IOException {
        Set<String> names = new TreeSet<>(api.keySet());
        try (Stream<Path> files = Files.list(BASELINE)) {
            files.forEach(file -> names.add(file.getFileName().toString().replaceFirst("\\.txt$", "")));
        }
        return names.stream()
                .map(name -> DynamicTest.dynamicTest(name, () -> compare(name, api.getOrDefault(name, Set.of()))));
    }

    /** A record freezes its constructor and its patterns, so a new one needs a reason in docs/notes/records.md. */
    @Test
    void eachPublicRecordHasAReason() throws IOException {
        Set<String> records = api.values().stream()
                .flatMap(Set::stream)
                .filter(line -> line.contains(" is ") && line.contains(" extends java.lang.Record"))
                .map(line -> line.substring("io.gds4j.".length(), line.indexOf(" is ")).replace('$', '.'))
                .collect(Collectors.toCollection(TreeSet::new));
        Set<String> explained = Files.readAllLines(BASELINE.resolveSibling("notes").resolve("records.md")).stream()
                .filter(line -> line.startsWith("| `"))
                .map(line -> line.split("\\|")[1])
                .flatMap(names -> Pattern.compile("`([\\w.]+)`").matcher(names).results().map(name -> name.group(1)))
                .collect(Collectors.toCollection(TreeSet::new));

        assertThat(records).isEqualTo(explained);
    }

    private static void compare(String module, Set<String> lines) throws IOException {
        Path file = BASELINE.resolve(module + ".txt");
        if (RENEW) {
            Files.write(file, lines);
        }
        // A module that is newer than the baseline has only additions.
        Set<String> gone = new TreeSet<>(Files.exists(file) ? Files.readAllLines(file) : List.of());
        gone.removeAll(lines);
        assertThat(gone).as("changed or removed public API, see docs/support.md").isEmpty();
    }
}
