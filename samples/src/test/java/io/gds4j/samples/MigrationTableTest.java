package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** docs/migrating-from-c.md covers every function, and the links of the documents work. */
class MigrationTableTest {
    private static final Path FUNCTIONS =
            Path.of("../gds-native/src/main/java/io/gds4j/ffi/cufile/CuFileFunction.java");
    private static final Path DOCUMENT = Path.of("../docs/migrating-from-c.md");
    private static final Pattern NAME = Pattern.compile("\"(cuFile\\w+)\"");

    @Test
    void everyFunctionOfTheLibraryIsCovered() throws IOException {
        List<String> functions =
                NAME.matcher(Files.readString(FUNCTIONS)).results().map(found -> found.group(1)).toList();
        String document = Files.readString(DOCUMENT);

        assertThat(functions).hasSizeGreaterThan(40);
        assertThat(functions).allSatisfy(
                name -> assertThat(Pattern.compile("`" + name + "\\b").matcher(document).find()).as(name).isTrue());
    }

    @Test
    void linksBetweenDocumentsLeadToFiles() throws IOException {
        for (String name : List.of("migrating-from-c.md", "tools.md", "choosing.md", "testing.md", "architecture.md")) {
            Path document = Path.of("../docs").resolve(name);
            List<MatchResult> links = Pattern.compile("]\\(([^)#]+?)(?:#[^)]*)?\\)").matcher(Files.readString(document))
                    .results().toList();
            assertThat(links).allSatisfy(link -> {
                if (!link.group(1).startsWith("http")) {
                    assertThat(document.resolveSibling(link.group(1))).exists();
                }
            });
        }
    }
}
