package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The public API against its baseline, docs/api; docs/compatibility.md says what may change. */
class PublicApiIT {
    private static final Path BASELINE = Path.of("").toAbsolutePath().resolveSibling("docs").resolve("api");
    /** Set to write the baseline anew. */
    private static final boolean RENEW = Boolean.getBoolean("gds4j.api.renew");

    @TestFactory
    Stream<DynamicTest> moduleKeepsTheLinesOfItsBaseline() throws IOException {
        Map<String, Set<String>> modules = PublicApi.ofTheClassPath();
        Set<String> names = new TreeSet<>(modules.keySet());
        try (Stream<Path> files = Files.list(BASELINE)) {
            files.forEach(file -> names.add(file.getFileName().toString().replaceFirst("\\.txt$", "")));
        }
        return names.stream()
                .map(name -> DynamicTest.dynamicTest(name, () -> compare(name, modules.getOrDefault(name, Set.of()))));
    }

    private static void compare(String module, Set<String> lines) throws IOException {
        Path file = BASELINE.resolve(module + ".txt");
        if (RENEW) {
            Files.write(file, lines);
        }
        // A module that is newer than the baseline has only additions.
        Set<String> gone = new TreeSet<>(Files.exists(file) ? Files.readAllLines(file) : List.of());
        gone.removeAll(lines);
        assertThat(gone).as("changed or removed public API, see docs/compatibility.md").isEmpty();
    }
}
