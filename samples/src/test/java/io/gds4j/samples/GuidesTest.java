package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The guides in docs are short, and their lists match the code. */
class GuidesTest {
    private static final Path DOCS = Path.of("../docs");
    private static final int MAX_GUIDE = 150;
    private static final int MAX_LINE = 120;
    private static final Pattern LINK = Pattern.compile("]\\(([^)#]+?)(?:#[^)]*)?\\)");

    private static String text(String guide) throws IOException {
        return Files.readString(DOCS.resolve(guide));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"loading.md", "mapping.md", "parallel.md", "io.md", "fragments.md", "datasets.md",
                    "interop.md", "operations.md",
                    "troubleshooting.md", "comparison.md", "try.md", "faq.md", "network-storage.md", "glossary.md",
                    "next-steps.md",
                    "sizing.md", "choosing.md", "contexts.md", "huggingface.md", "spring-boot.md", "kubernetes.md",
                    "support.md", "performance.md", "libcufile.md", "packaging.md", "packaging-jars.md",
                    "packaging-modules.md"})
    void guideIsShort(String guide) throws IOException {
        List<String> lines = text(guide).lines().toList();

        assertThat(lines).hasSizeLessThanOrEqualTo(MAX_GUIDE);
        assertThat(lines.stream().filter(line -> !line.startsWith("|") && !line.contains("](")))
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(MAX_LINE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"loading.md", "mapping.md", "parallel.md", "io.md", "fragments.md", "datasets.md",
            "interop.md",
            "operations.md",
            "troubleshooting.md", "comparison.md", "support.md", "try.md", "faq.md", "network-storage.md",
            "next-steps.md",
            "sizing.md", "choosing.md", "contexts.md", "huggingface.md", "spring-boot.md", "kubernetes.md",
            "testing.md", "performance.md", "libcufile.md", "packaging.md", "packaging-jars.md",
            "packaging-modules.md", "notes/engine.md", "notes/libcufile.md", "notes/tests.md", "../README.md",
            "../SECURITY.md", "../CODE_OF_CONDUCT.md"})
    void linksOfGuideLeadToFiles(String guide) throws IOException {
        Path document = DOCS.resolve(guide);
        List<String> targets = LINK.matcher(text(guide)).results().map(link -> link.group(1)).toList();

        assertThat(targets).isNotEmpty().allSatisfy(target -> {
            if (!target.startsWith("http")) {
                assertThat(document.resolveSibling(target)).exists();
            }
        });
    }

    @Test
    void troubleshootingHasARowForEveryErrorCode() throws IOException {
        List<String> rows = Pattern.compile("(?m)^\\| (\\d+ [A-Z_0-9]+) \\|")
                .matcher(text("troubleshooting.md"))
                .results()
                .map(row -> row.group(1))
                .toList();

        assertThat(rows).containsExactlyElementsOf(
                Stream.of(CuFileError.values()).map(error -> error.code() + " " + error.name()).toList());
    }

    @Test
    void troubleshootingExplainsEveryIoPath() throws IOException {
        assertThat(text("troubleshooting.md"))
                .contains(Stream.of(IoPath.values()).map(IoPath::name).toArray(String[]::new));
    }

    @Test
    void operationsListsEveryEventAndLogger() throws IOException {
        assertThat(inSources("@Name\\(\"(gds4j\\.\\w+)\"\\)")).isNotEmpty().allSatisfy(
                event -> assertThat(text("operations.md")).contains("| `" + event + "` |"));
        TreeSet<String> loggers = inSources("getLogger\\(\"([\\w.]+)\"\\)");
        loggers.addAll(inSources("NAME = \"(io\\.gds4j\\.[\\w.]+)\""));
        loggers.remove("io.gds4j.testkit");
        assertThat(loggers).hasSizeGreaterThan(3).allSatisfy(
                logger -> assertThat(text("operations.md")).contains("| `" + logger + "` |"));
    }

    @Test
    void operationsQuotesWarningsOfTheSources() throws IOException {
        String sources = String.join("\n", inSources("(.+)"));
        String rows = text("operations.md").split("\\| warning \\|")[1].split("\n\n")[0];
        List<String> quoted = rows.lines().skip(2)
                .map(row -> row.split("\\|")[1])
                .flatMap(cell -> Pattern.compile("`([^`]+)`").matcher(cell).results())
                .flatMap(quote -> Stream.of(quote.group(1).split("…")))
                .map(String::strip)
                .filter(part -> part.length() > 3)
                .toList();

        assertThat(quoted).hasSizeGreaterThan(20).allSatisfy(part -> assertThat(sources).contains(part));
    }

    @Test
    void operationsListsEveryJmxAttribute() throws IOException {
        assertThat(text("operations.md")).contains(CuFileStatisticsMXBean.NAME_PATTERN);
        for (Method getter : CuFileStatisticsMXBean.class.getMethods()) {
            assertThat(text("operations.md")).contains("`" + getter.getName().substring("get".length()) + "`");
        }
    }

    /** Returns what a group of an expression matches in the main sources of the libraries. */
    private static TreeSet<String> inSources(String expression) throws IOException {
        Pattern pattern = Pattern.compile(expression);
        TreeSet<String> found = new TreeSet<>();
        try (DirectoryStream<Path> modules = Files.newDirectoryStream(Path.of(".."), "gds-*")) {
            for (Path module : modules) {
                Path sources = module.resolve("src/main/java");
                if (Files.isDirectory(sources)) {
                    collect(sources, pattern, found);
                }
            }
        }
        return found;
    }

    private static void collect(Path sources, Pattern pattern, TreeSet<String> found) throws IOException {
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
                pattern.matcher(Files.readString(file)).results().forEach(match -> found.add(match.group(1)));
            }
        }
    }
}
