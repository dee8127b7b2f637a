package io.gds4j.tools.stats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.tools.GdsCommand;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The keys of {@code gds top} in a pseudo-terminal, which script(1) opens. */
@Timeout(120)
@Tag("slow")
class TopKeysTest {
    private static final Path SCRIPT = Path.of("/usr/bin/script");
    private static final String LEAVE = "\u001b[?1049l";

    @Test
    void keysHelpSortFilterAndEnd() throws Exception {
        assumeTrue(Files.isExecutable(SCRIPT), "no script(1)");
        String command = "stty cols 200 rows 40; exec '%s' -XX:TieredStopAtLevel=1 -cp '%s' %s top --interval 600"
                .formatted(
                        Path.of(System.getProperty("java.home"), "bin", "java"), System.getProperty("java.class.path"),
                        GdsCommand.class.getName());
        ProcessBuilder builder =
                new ProcessBuilder(SCRIPT.toString(), "-qefc", command, "/dev/null").redirectErrorStream(true);
        builder.environment().put("TERM", "xterm");
        builder.environment().put("SHELL", "/bin/sh");
        Process top = builder.start();
        try (InputStream screen = top.getInputStream(); OutputStream keys = top.getOutputStream()) {
            StringBuilder shown = new StringBuilder();
            // before the first round nothing is drawn: the first key that top hears draws
            press(keys, "?");
            await(screen, shown, "q ends, s sorts by process, speed or name");
            press(keys, "s");
            await(screen, shown, "by speed");
            press(keys, "/zebra");
            await(screen, shown, "/zebra_");
            press(keys, "\nq");
            await(screen, shown, LEAVE);
            assertThat(top.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(top.exitValue()).as(shown.toString()).isZero();
        } finally {
            top.destroyForcibly();
        }
    }

    private static void press(OutputStream keys, String text) throws IOException {
        keys.write(text.getBytes(StandardCharsets.UTF_8));
        keys.flush();
    }

    private static void await(InputStream screen, StringBuilder shown, String text) throws IOException {
        while (shown.indexOf(text) < 0) {
            int next = screen.read();
            assertThat(next).as("the screen ended: %s", shown).isNotNegative();
            shown.append((char) next);
        }
        shown.setLength(0);
    }
}
