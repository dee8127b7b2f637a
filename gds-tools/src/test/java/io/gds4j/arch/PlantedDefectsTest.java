package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Each defect of dev/planted still fits the sources, so that dev/planted.sh can plant it. */
class PlantedDefectsTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final int DEFECTS = 9;

    private static String apply(Path patch) throws InterruptedException {
        try {
            Process git = new ProcessBuilder("git", "apply", "--check", patch.toString())
                    .directory(ROOT.toFile())
                    .redirectErrorStream(true)
                    .start();
            String said = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(git.waitFor(1, TimeUnit.MINUTES)).isTrue();
            return git.exitValue() == 0 ? "" : patch.getFileName() + ": " + said;
        } catch (IOException e) {
            String line = "planted defects are not checked: git is missing";
            System.out.println(line);
            throw new TestAbortedException(line, e);
        }
    }

    @Test
    void patchesApplyAndTouchMainSourcesOnly() throws IOException, InterruptedException {
        List<Path> patches;
        try (Stream<Path> files = Files.list(ROOT.resolve("dev/planted"))) {
            patches = files.sorted().toList();
        }
        assertThat(patches).hasSize(DEFECTS);
        for (Path patch : patches) {
            assertThat(apply(patch)).isEmpty();
            List<String> lines = Files.readAllLines(patch);
            assertThat(lines.getFirst()).as("what the defect is").doesNotStartWith("diff").endsWith(".");
            assertThat(lines.stream().filter(line -> line.startsWith("+++ ")))
                    .isNotEmpty()
                    .allSatisfy(line -> assertThat(line).matches("\\+\\+\\+ b/gds-[a-z]+/src/main/java/.*\\.java"));
        }
    }
}
