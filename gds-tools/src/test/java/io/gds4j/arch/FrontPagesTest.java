package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The pages that a newcomer reads first, beside the modules that there are. */
class FrontPagesTest {
    /** Tests run in their module's folder. */
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    /** What comes with the coordinate gds4j, and what no program depends on. */
    private static final List<String> UNNAMED = List.of("gds-api", "gds-native", "gds-engine", "gds-compat",
            "gds-libcufile", "gds-loader", "gds-testkit-contract", "gds-tools");

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

    @Test
    void overviewOfTheJavadocNamesThePackagesOfEveryModule() throws IOException {
        String overview = page("docs/overview.html");
        try (Stream<Path> modules = Files.list(ROOT.resolve("docs/api"))) {
            assertThat(modules.map(file -> file.getFileName().toString().replace(".txt", "")))
                    .contains("io.gds4j.remote", "io.gds4j.dataset")
                    .allMatch(module -> overview.contains("{@code " + module), "is in docs/overview.html");
        }
    }
}
