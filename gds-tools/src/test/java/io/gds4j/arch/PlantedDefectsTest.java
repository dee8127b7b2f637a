package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Each defect of dev/planted still fits the sources, so that dev/planted.sh can plant it. */
class PlantedDefectsTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final int DEFECTS = 61;

    /** Returns why a patch no longer applies; an empty text if it does. */
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
        List<String> stale = new ArrayList<>();
        for (Path patch : patches) {
            String why = apply(patch);
            if (!why.isEmpty()) {
                stale.add(why);
            }
            List<String> lines = Files.readAllLines(patch);
            assertThat(lines.getFirst()).as("what the defect is").doesNotStartWith("diff").endsWith(".");
            assertThat(lines.stream().filter(line -> line.startsWith("+++ ")))
                    .isNotEmpty()
                    .allSatisfy(line -> assertThat(line).matches("\\+\\+\\+ b/gds-[a-z]+/src/main/java/.*\\.java"));
            if (lines.get(1).startsWith("Tests: ")) {
                assertTestsExist(patch, List.of(lines.get(1).split(" ")));
            }
        }
        assertThat(stale).as("patches that no longer apply: renew each so that its defect comes back, or remove it")
                .isEmpty();
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** @param words {@code Tests:}, a module, and classes with or without a method */
    private static void assertTestsExist(Path patch, List<String> words) throws IOException {
        assertThat(words).as("tests of %s", patch).hasSizeGreaterThan(2);
        for (String name : words.subList(2, words.size())) {
            String[] parts = name.split("\\.");
            try (Stream<Path> files = Files.walk(ROOT.resolve(words.get(1)).resolve("src/test/java"))) {
                List<Path> sources = files.filter(file -> file.toString().endsWith(".java")).toList();
                assertThat(sources).as("test %s of %s", name, patch)
                        .anyMatch(file -> file.endsWith(parts[0] + ".java"));
                // The class may inherit it.
                String method = parts.length == 1 ? "class " + parts[0] : "void " + parts[1] + "(";
                assertThat(sources).as("method %s of %s", name, patch).anyMatch(file -> text(file).contains(method));
            }
        }
    }
}
