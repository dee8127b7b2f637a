package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The bill of versions, {@code gds-bom}, against the modules of the build. */
class BomTest {
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    private static final String BOM = "gds-bom";

    @Test
    void bomManagesEveryPublishedModule() throws IOException {
        List<String> published = new ArrayList<>();
        for (String module : all(pom(""), "<module>([^<]+)</module>")) {
            String pom = pom(module);
            if (!module.equals(BOM) && !pom.contains("<maven.deploy.skip>true</maven.deploy.skip>")) {
                published.add(all(pom.substring(pom.indexOf("</parent>")), "<artifactId>([^<]+)</artifactId>").get(0));
            }
        }
        String managed = pom(BOM).split("</?dependencyManagement>")[1];
        assertThat(all(managed, "<artifactId>([^<]+)</artifactId>")).containsExactlyInAnyOrderElementsOf(published);
        assertThat(all(managed, "<groupId>([^<]+)</groupId>")).containsOnly("io.gds4j");
    }

    @Test
    void bomHasTheVersionOfTheModules() throws IOException {
        assertThat(pom(BOM)).doesNotContain("<parent>");
        assertThat(all(pom(BOM), "<version>([^<]+)</version>").get(0))
                .isEqualTo(all(pom(""), "<version>([^<]+)</version>").get(0));
    }

    private static String pom(String module) throws IOException {
        return Files.readString(ROOT.resolve(module).resolve("pom.xml"));
    }

    private static List<String> all(String text, String pattern) {
        return Pattern.compile(pattern).matcher(text).results().map((MatchResult match) -> match.group(1)).toList();
    }
}
