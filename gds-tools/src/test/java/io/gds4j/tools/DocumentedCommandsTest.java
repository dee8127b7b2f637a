package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The command accepts every command line of the documents: commands, options and values. */
class DocumentedCommandsTest {
    private static final Path ROOT = Path.of("..");
    /** An indented line, or code within a sentence. */
    private static final Pattern LINE = Pattern.compile("(?m)^    (?:\\./)?gds ([^\\n]+)$");
    private static final Pattern INLINE = Pattern.compile("`(?:\\./)?gds ([a-z][^`]*)`");
    private static final Pattern WORD = Pattern.compile("'([^']*)'|(\\S+)");
    private static final int MIN = 20;

    @TestFactory
    Stream<DynamicTest> commandLineIsAccepted() throws IOException {
        return found(LINE).map(line -> DynamicTest.dynamicTest("gds " + line, () -> parse(line)));
    }

    /** A sentence may name a command or an option without what it needs. */
    @TestFactory
    Stream<DynamicTest> commandInASentenceExists() throws IOException {
        return found(INLINE).map(line -> DynamicTest.dynamicTest("gds " + line, () -> {
            try {
                parse(line);
            } catch (CommandLine.MissingParameterException incomplete) {
                assertThat(incomplete).hasMessageStartingWith("Missing required");
            }
        }));
    }

    /** As a newcomer types them: in the order of the page, after a demo whose checkpoint stays. */
    @TestFactory
    Stream<DynamicTest> commandOfTheReadmeWorksAfterADemo(@TempDir Path folder) throws IOException {
        List<String> lines = LINE.matcher(Files.readString(ROOT.resolve("README.md"))).results()
                .map(match -> match.group(1)).toList();
        assertThat(lines).hasSizeGreaterThan(5).first().asString().startsWith("demo");
        assertThat(gds("demo", "--keep", "-q", "--size", "64M", "--dir", folder.toString()).status()).isZero();
        return lines.stream().skip(1).map(line -> DynamicTest.dynamicTest("gds " + line, () -> {
            GdsRun run = gds(words(line.replace("target/", folder + "/")));
            assertThat(run.status()).as(run.err()).isZero();
        }));
    }

    private static void parse(String line) {
        GdsCommand.commandLine(Terminal.ofProcess()).setCaseInsensitiveEnumValuesAllowed(true).parseArgs(words(line));
    }

    private static Stream<String> found(Pattern pattern) throws IOException {
        TreeSet<String> lines = new TreeSet<>();
        for (Path document : documents()) {
            pattern.matcher(Files.readString(document)).results().forEach(match -> lines.add(match.group(1)));
        }
        assertThat(lines).hasSizeGreaterThan(MIN);
        return lines.stream();
    }

    private static List<Path> documents() throws IOException {
        List<Path> documents = new ArrayList<>(List.of(ROOT.resolve("README.md"), ROOT.resolve("samples/README.md")));
        try (Stream<Path> guides = Files.list(ROOT.resolve("docs"))) {
            guides.filter(path -> path.toString().endsWith(".md")).forEach(documents::add);
        }
        return documents;
    }

    /** Splits as a shell does, up to a comment, a redirection, a pipe or the next command. */
    private static String[] words(String line) {
        String first = line.split("\\s+#|\\s+[>|]|\\s+&&|\\)$")[0];
        return WORD.matcher(first.replace("PID", "4711"))
                .results()
                .map(DocumentedCommandsTest::unquoted)
                .toArray(String[]::new);
    }

    private static String unquoted(MatchResult word) {
        return word.group(1) != null ? word.group(1) : word.group(2);
    }
}
