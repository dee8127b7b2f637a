package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the compiled classes no longer show. */
class SourcesTest {
    /** Tests run in their module's folder. */
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    /** The words are put together here, so that this file does not contain them. */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = ';', textBlock = """
            an exception swallowed without a word         ; catch \\([^)]*\\) \\{\\s*\\}
            a wildcard import                             ; import [\\w. ]+\\.[*]
            a work left for later                         ; \\b(TO|FIX)(DO|ME)\\b|\\bX{3}\\b
            a test that never runs                        ; @(Disab)(led)\\b
            """)
    void noSourceHas(String what, String pattern) throws IOException {
        Pattern forbidden = Pattern.compile(pattern);
        List<String> found = new ArrayList<>();
        for (Path source : sources()) {
            String text = Files.readString(source);
            Matcher matcher = forbidden.matcher(text);
            while (matcher.find()) {
                long line = text.substring(0, matcher.start()).lines().count();
                found.add("%s:%d %s".formatted(ROOT.relativize(source), line, matcher.group()));
            }
        }
        assertThat(found).as(what).isEmpty();
    }

    @Test
    void theRulesSeeTheSourcesOfEveryModule() throws IOException {
        assertThat(sources()).extracting(source -> ROOT.relativize(source).getName(0).toString()).contains(
                "gds-api", "gds-native", "gds-engine", "gds-libcufile", "gds-compat", "gds-jcuda", "gds-loader",
                "gds-interop", "gds-remote", "gds-aws", "gds-gcs", "gds-azure",
                "gds-testkit", "gds-testkit-contract", "gds-tools", "gds4j", "samples", "benchmarks");
    }

    /** A call with {@code true, false} tells no reader what it asks for: options, enums and sets of them do. */
    @Test
    void noPublicSignatureHasABooleanBesideABoolean() throws IOException {
        List<String> found = new ArrayList<>();
        try (Stream<Path> pages = Files.list(ROOT.resolve("docs/api"))) {
            for (Path page : pages.toList()) {
                Files.readAllLines(page).stream().filter(line -> line.matches(".*[(,] ?boolean, ?boolean[,)].*"))
                        .forEach(found::add);
            }
        }
        assertThat(found).isEmpty();
    }

    /** An interface with one class is a class cut in two. A value is no such interface: its record is not public. */
    @Test
    void aSealedInterfaceWithOneImplementationIsAValue() throws IOException {
        Pattern alone = Pattern.compile("sealed interface \\w+(?:<[^>]*>)?(?: extends [\\w, ]+)? permits (\\w+) \\{");
        List<String> found = new ArrayList<>();
        for (Path source : sources()) {
            Matcher matcher = alone.matcher(Files.readString(source));
            while (matcher.find()) {
                Path only = source.resolveSibling(matcher.group(1) + ".java");
                if (!Files.exists(only) || !Files.readString(only).contains("\nrecord " + matcher.group(1))) {
                    found.add(ROOT.relativize(source) + ": " + matcher.group());
                }
            }
        }
        assertThat(found).isEmpty();
    }

    /** A service that one module asks for and gives hides a cycle of its packages, unless programs give it too. */
    @Test
    void noServiceStaysInsideOneModule() throws IOException {
        Pattern service = Pattern.compile("\\buses ([\\w.]+)\\.\\w+;");
        List<String> found = new ArrayList<>();
        List<Path> descriptors = sources().stream().filter(source -> source.endsWith("module-info.java")).toList();
        for (Path descriptor : descriptors) {
            String module = Files.readString(descriptor);
            service.matcher(module).results()
                    .filter(uses -> module.contains(uses.group().replace("uses", "provides").replace(";", " with")))
                    .filter(uses -> !module.contains("exports " + uses.group(1) + ";"))
                    .forEach(uses -> found.add(ROOT.relativize(descriptor) + ": " + uses.group()));
        }
        assertThat(descriptors).hasSizeGreaterThan(15);
        assertThat(found).isEmpty();
    }

    private static List<Path> sources() throws IOException {
        List<Path> all = new ArrayList<>();
        try (Stream<Path> modules = Files.list(ROOT)) {
            for (Path folder : modules.map(module -> module.resolve("src")).filter(Files::isDirectory).toList()) {
                try (Stream<Path> files = Files.walk(folder)) {
                    files.filter(file -> file.toString().endsWith(".java")).forEach(all::add);
                }
            }
        }
        return all;
    }
}
