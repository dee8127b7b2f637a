package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files in .github that only the host of the repository runs; .ci/run also lints them by actionlint, where there is a Go. */
class WorkflowsTest {
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    private static final Path GITHUB = ROOT.resolve(".github");
    private static final Set<String> TOOLS = Set.of("mvn", "go");
    private static final Pattern COMMAND = Pattern.compile("(?m)^ +(?:- )?run: (\\S+)(.*)$");
    private static final Pattern MODULE = Pattern.compile(" -pl (\\S+)");

    @ParameterizedTest
    @ValueSource(strings = {"ci.yml", "vulnerabilities.yml"})
    void commandsAndModulesOfAWorkflowExist(String name) throws IOException {
        String text = Files.readString(GITHUB.resolve("workflows").resolve(name));
        List<MatchResult> commands = COMMAND.matcher(text).results().toList();

        assertThat(text).doesNotContain("\t").contains("permissions:\n  contents: read\n");
        assertThat(commands).isNotEmpty().allSatisfy(command -> {
            assertThat(TOOLS.contains(command.group(1)) || Files.isExecutable(ROOT.resolve(command.group(1))))
                    .as(command.group()).isTrue();
            MODULE.matcher(command.group(2)).results()
                    .flatMap(modules -> Stream.of(modules.group(1).split(",")))
                    .forEach(module -> assertThat(ROOT.resolve(module).resolve("pom.xml")).isRegularFile());
        });
    }

    /** A tag may point to another commit tomorrow, a hash may not. */
    @ParameterizedTest
    @ValueSource(strings = {"ci.yml", "vulnerabilities.yml"})
    void actionsArePinnedByHashWithTheVersionBesideIt(String name) throws IOException {
        List<String> used = Files.readAllLines(GITHUB.resolve("workflows").resolve(name)).stream()
                .filter(line -> line.contains("uses:")).toList();
        assertThat(used).isNotEmpty()
                .allMatch(line -> line.matches(" +(- )?uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v\\d+\\.\\d+\\.\\d+"));
    }

    @Test
    void imagesArePinnedByDigestAndPodsMayDoNothing() throws IOException {
        Path containers = ROOT.resolve("examples/containers");
        assertThat(
                Files.readAllLines(containers.resolve("Dockerfile")).stream().filter(line -> line.startsWith("FROM")))
                .isNotEmpty().allMatch(line -> line.matches("FROM \\S+:\\S+@sha256:[0-9a-f]{64}"));
        assertThat(Files.readString(containers.resolve("kubernetes.yaml"))).contains(
                "automountServiceAccountToken: false", "runAsNonRoot: true", "seccompProfile: {type: RuntimeDefault}",
                "allowPrivilegeEscalation: false", "capabilities: {drop: [ALL]}", "readOnlyRootFilesystem: true");
    }

    @Test
    void renovateHasRulesWithAReason() throws IOException {
        JsonNode rules = new ObjectMapper().readTree(GITHUB.resolve("renovate.json").toFile()).get("packageRules");

        assertThat(rules.valueStream()).isNotEmpty().allMatch(rule -> rule.has("description"));
    }
}
