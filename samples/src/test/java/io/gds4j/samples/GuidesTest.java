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
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The guides in docs are short, and their lists match the code. */
class GuidesTest {
    private static final Path DOCS = Path.of("../docs");
    private static final int MAX_GUIDE = 150;
    private static final int MAX_LINE = 120;
    private static final Pattern LINK = Pattern.compile("]\\(([^)#]+?)(?:#[^)]*)?\\)");

    private static String text(String guide) throws IOException {
        return Files.readString(DOCS.resolve(guide));
    }

    /** Pages that the limits do not hold for yet: the first is generated, the others have tables. */
    private static final Set<String> LONGER = Set.of(
            "configuration.md", "formats.md", "remote.md", "testing.md", "tools.md");
    private static final Set<String> WIDER = Set.of("architecture.md", "configuration.md", "formats.md",
            "migrating-from-c.md", "rdma.md", "remote.md", "saving.md", "testing.md", "tools.md");

    static List<String> guides() throws IOException {
        try (Stream<Path> files = Files.list(DOCS)) {
            return files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".md")).sorted()
                    .toList();
        }
    }

    static List<String> guidesAndNotes() throws IOException {
        List<String> pages = new ArrayList<>(guides());
        pages.addAll(List.of("notes/engine.md", "notes/functions.md", "notes/libcufile.md", "notes/measurements.md",
                "notes/prove.md",
                "notes/tests.md", "../README.md", "../SECURITY.md", "../CODE_OF_CONDUCT.md", "../CONTRIBUTING.md"));
        return pages;
    }

    @ParameterizedTest
    @MethodSource("guides")
    void guideIsShort(String guide) throws IOException {
        List<String> lines = text(guide).lines().toList();

        assertThat(lines).hasSizeLessThanOrEqualTo(LONGER.contains(guide) ? 230 : MAX_GUIDE);
        assertThat(lines.stream().filter(line -> !line.startsWith("|") && !line.contains("](")))
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(WIDER.contains(guide) ? 300 : MAX_LINE));
    }

    /** What users may read has a size: the guides, README, and what CHANGELOG says of 0.1. */
    @Test
    void pagesAreFewAndShort() throws IOException {
        int words = words(text("../README.md"));
        for (String guide : guides()) {
            words += words(text(guide));
        }
        assertThat(guides()).hasSizeLessThanOrEqualTo(30);
        assertThat(words).isLessThanOrEqualTo(38_000);
        String changes = text("../CHANGELOG.md");
        assertThat(words(changes.substring(0, changes.indexOf("### ")))).isLessThanOrEqualTo(600);
    }

    private static int words(String text) {
        return text.strip().split("\\s+").length;
    }

    @ParameterizedTest
    @MethodSource("guidesAndNotes")
    void linksOfGuideLeadToFiles(String guide) throws IOException {
        Path document = DOCS.resolve(guide);
        List<String> targets = LINK.matcher(text(guide)).results().map(link -> link.group(1)).toList();

        assertThat(targets).allSatisfy(target -> {
            if (!target.startsWith("http")) {
                assertThat(document.resolveSibling(target)).exists();
            }
        });
    }

    /** Outside the list stays only the class that asks for the size. */
    @Test
    void pageOnFunctionsListsTheFilesOfMain() throws IOException {
        List<String> listed = Pattern.compile("(?m)^\\| gds-\\w+ `(\\w+)`")
                .matcher(text("notes/functions.md")).results().map(row -> row.group(1)).toList();
        Set<String> named = new TreeSet<>();
        for (String module : List.of("gds-api", "gds-native", "gds-engine", "gds-compat", "gds-libcufile",
                "gds-testkit")) {
            try (Stream<Path> files = Files.walk(DOCS.resolveSibling(module + "/src/main/java"))) {
                for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    if (Files.readString(file).matches("(?is).*BarSizeInKb\\(.*|.*\"cuFileGetBARSizeInKB\".*")) {
                        named.add(file.getFileName().toString().replace(".java", ""));
                    }
                }
            }
        }

        assertThat(listed).hasSizeLessThanOrEqualTo(8);
        assertThat(named).contains("PinningLimits").containsAll(listed).hasSize(listed.size() + 1);
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
