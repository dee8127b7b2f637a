package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;

/** The pages that a newcomer reads first, beside the modules that there are. */
class FrontPagesTest {
    /** Tests run in their module's folder. */
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    /** What comes with the coordinate gds4j, and what no program depends on. */
    private static final List<String> UNNAMED = List.of("gds-api", "gds-native", "gds-engine", "gds-compat",
            "gds-libcufile", "gds-loader", "gds-testkit-contract", "gds-tools");

    /** Libraries that only tests use. */
    private static final List<String> OF_TESTS =
            List.of("djl.pytorch", "ort", "s3proxy", "junit", "assertj", "jsonschema", "archunit", "slf4j", "jmh");

    private static List<String> matches(String text, String pattern) {
        return Pattern.compile(pattern).matcher(text).results().map((MatchResult found) -> found.group(1)).toList();
    }

    private static String page(String name) throws IOException {
        return Files.readString(ROOT.resolve(name));
    }

    @Test
    void readmeNamesEveryArtifactOfItsOwn() throws IOException {
        List<String> modules = matches(page("pom.xml"), "<module>(gds-[a-z-]+)</module>");
        assertThat(modules).contains("gds-spark", "gds-remote").hasSizeGreaterThan(12);
        String readme = page("README.md");
        assertThat(modules).filteredOn(module -> !UNNAMED.contains(module))
                .allMatch(module -> readme.contains("`io.gds4j:" + module + "`"), "is in README.md");
    }

    /** {@code mvn install} builds no module of a profile. */
    @Test
    void readmeSaysWhichModulesAProfileBuilds() throws IOException {
        String pom = page("pom.xml");
        List<String> ofProfiles = matches(pom.substring(pom.indexOf("<profiles>")), "<module>(gds-[a-z-]+)</module>");
        assertThat(ofProfiles).containsExactly("gds-spark");
        assertThat(page("README.md")).contains("`mvn install -DskipTests` puts all but gds-spark", "`-Pspark`");
    }

    /** What a newcomer looks for is a link of the README, or a link of a page that the README links. */
    @Test
    void everyGuideIsAtMostTwoClicksFromTheReadme() throws IOException {
        Set<Path> reached = new TreeSet<>(List.of(ROOT.resolve("README.md")));
        for (int click = 0; click < 2; click++) {
            for (Path page : List.copyOf(reached)) {
                for (String link : matches(Files.readString(page), "]\\(([^)#:]+\\.md)(?:#[^)]*)?\\)")) {
                    reached.add(page.resolveSibling(link).normalize());
                }
            }
        }
        try (Stream<Path> guides = Files.list(ROOT.resolve("docs"))) {
            assertThat(guides.filter(guide -> guide.toString().endsWith(".md"))).hasSizeGreaterThan(20)
                    .allMatch(reached::contains, "is at most two clicks from README.md");
        }
    }

    /** Projects to copy, and snippets, depend on the version that this build makes. */
    @Test
    void snippetsAndExamplesHaveTheVersionOfTheBuild() throws IOException {
        String version = matches(page("pom.xml"), "<version>([^<]+)</version>").get(0);
        List<String> found = new ArrayList<>();
        for (String place : List.of("README.md", "docs/spring-boot.md", "docs/testing.md", "docs/packaging.md",
                "examples")) {
            try (Stream<Path> files = Files.walk(ROOT.resolve(place))) {
                for (Path file : files.filter(name -> name.toString().matches(".*\\.(md|xml|kts)")).toList()) {
                    String text = Files.readString(file);
                    found.addAll(matches(text, "\"io\\.gds4j:[a-z0-9-]+:([^\"]+)\""));
                    found.addAll(matches(text, "<artifactId>gds[a-z0-9-]+</artifactId>\\s*<version>([^<]+)</version>"));
                }
            }
        }
        assertThat(found).hasSizeGreaterThan(9).containsOnly(version);
    }

    @Test
    void overviewOfTheJavadocNamesThePackagesOfEveryModule() throws IOException {
        String overview = page("docs/overview.html");
        try (Stream<Path> modules = Files.list(ROOT.resolve("docs/api"))) {
            assertThat(modules.map(file -> file.getFileName().toString().replace(".txt", "")))
                    .contains("io.gds4j.remote", "io.gds4j.dataset")
                    .allMatch(module -> overview.contains("{@code " + module), "is in docs/overview.html");
        }
    }

    /** Who releases reads the advisories of these versions. */
    @Test
    void releasingListsTheVersionsOfTheBuild() throws IOException {
        String poms = page("pom.xml") + page("gds-spark/pom.xml");
        List<String> rows = DocumentedTests.rows("RELEASING.md", "   | property");
        assertThat(rows).hasSizeGreaterThan(10).allSatisfy(row -> assertThat(poms)
                .contains(row.replaceFirst("[ |]+`([a-z.]+)`[^|]*[| ]+([0-9.-]+) .*", "<$1.version>$2</$1.version>")));
        assertThat(matches(poms.substring(0, poms.indexOf("<!-- plugins -->")), "<([a-z.]+)\\.version>"))
                .filteredOn(name -> !OF_TESTS.contains(name))
                .allMatch(name -> rows.stream().anyMatch(row -> row.contains("`" + name + "`")), "is in the table");
    }

    /** The dates are those of the newest files in the jars. */
    @Test
    void releasingTellsTheAgeOfWhatTheArchiveBrings() throws IOException {
        List<String> rows = DocumentedTests.rows("RELEASING.md", "   | property");
        Set<String> compared = new TreeSet<>();
        for (String jar : System.getProperty("java.class.path").split(File.pathSeparator)) {
            String name = Path.of(jar).getFileName().toString().toLowerCase(Locale.ROOT);
            Optional<String> row = rows.stream().filter(text -> text.matches("[ |]+`" + name.replaceFirst(
                    "^(jackson-annotations|[a-z]+).*", "$1").replace('-', '.') + "`.*")
                    && name.contains("-" + text.replaceFirst("[^|]*\\|[^|]*\\| ([0-9.]+) .*", "$1"))).findFirst();
            if (row.isPresent() && row.get().matches(".*archive.*") && !name.contains("natives")
                    && !name.startsWith("jspecify")) {
                try (ZipFile zip = new ZipFile(jar)) {
                    LocalDate newest = zip.stream().filter(entry -> !entry.isDirectory())
                            .map(entry -> entry.getTimeLocal().toLocalDate()).max(Comparator.naturalOrder())
                            .orElseThrow();
                    assertThat(row.get()).as(name).contains("| " + newest + " |");
                    compared.add(name.replaceFirst("[^a-z].*", ""));
                }
            }
        }
        assertThat(compared).containsExactlyInAnyOrder("jackson", "picocli", "progressbar", "hdrhistogram", "batik",
                "jcuda");
    }
}
