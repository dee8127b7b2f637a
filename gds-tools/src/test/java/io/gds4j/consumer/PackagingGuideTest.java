package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.xml.sax.InputSource;

/** The snippets of the pages on packaging, and the example for Maven, against the build; {@link PackagingIT} runs them. */
class PackagingGuideTest {
    private static final Path POM = Path.of("").toAbsolutePath().resolveSibling("pom.xml");
    private static final Path EXAMPLE = POM.resolveSibling("examples/maven/pom.xml");

    static Stream<Arguments> pluginsAndTheirVersionProperty() {
        return Map.of(
                "maven-compiler-plugin", "compiler.plugin.version",
                "maven-jar-plugin", "jar.plugin.version",
                "exec-maven-plugin", "exec.plugin.version",
                "spring-boot-maven-plugin", "spring.boot.version")
                .entrySet().stream().map(entry -> Arguments.of(entry.getKey(), entry.getValue()));
    }

    @ParameterizedTest
    @MethodSource("pluginsAndTheirVersionProperty")
    void snippetsNameThePluginVersionsOfTheBuild(String plugin, String property) throws IOException {
        String ours = first(Files.readString(POM), "<" + Pattern.quote(property) + ">([^<]+)<");
        assertThat(all(PackagingGuide.read().text() + Files.readString(EXAMPLE),
                plugin + "</artifactId>\\s*<version>([^<]+)<"))
                .isNotEmpty()
                .containsOnly(ours);
    }

    @Test
    void mavenSnippetsAreWellFormed() throws IOException {
        for (String snippet : PackagingGuide.read().blocks("xml")) {
            assertThatCode(() -> DocumentBuilderFactory.newDefaultInstance().newDocumentBuilder()
                    .parse(new InputSource(new StringReader("<plugins>" + snippet + "</plugins>")))).as(snippet)
                    .doesNotThrowAnyException();
        }
    }

    private static String first(String text, String pattern) {
        return all(text, pattern).getFirst();
    }

    private static List<String> all(String text, String pattern) {
        return Pattern.compile(pattern).matcher(text).results().map((MatchResult match) -> match.group(1)).toList();
    }
}
