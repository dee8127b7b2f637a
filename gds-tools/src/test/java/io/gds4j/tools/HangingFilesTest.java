package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A file system that never answers leaves a command with one line. */
@Tag("slow")
@Timeout(60)
class HangingFilesTest {
    private static final String SECONDS = "gds4j.patience.seconds";

    @TempDir
    private Path folder;

    @AfterEach
    void giveUpLate() {
        System.clearProperty(SECONDS);
    }

    @Test
    void commandsThatLookEndWithOneLine() throws Throwable {
        System.setProperty(SECONDS, "1");
        for (String[] command : new String[][]{{"load", "--list"}, {"explain", "-t", "host"}}) {
            Path mount = Files.createDirectory(folder.resolve(command[0]));
            try (DeadMount dead = DeadMount.on(mount)) {
                Path file = dead.file("model.safetensors");
                String[] arguments = Arrays.copyOf(command, command.length + 2);
                arguments[command.length] = file.toString();
                arguments[command.length + 1] = "--json";
                GdsRun run = gds(arguments);

                assertThat(run.status()).isEqualTo(4);
                assertThat(run.errorLine()).startsWith("gds: " + file + ": no answer to stat for ").endsWith(" hangs");
                JsonNode error = run.json().get("error");
                assertThat(error.get("name").asText()).isEqualTo("NO_ANSWER");
                assertThat(error.get("file").asText()).isEqualTo(file.toString());
            }
        }
    }

    @Test
    void checkReportsTheOtherPaths() throws Throwable {
        System.setProperty(SECONDS, "2"); // a part of it for each path
        Path mount = Files.createDirectory(folder.resolve("mount"));
        try (DeadMount dead = DeadMount.on(mount)) {
            GdsRun run = gds("check", dead.file("data").toString(), folder.toString());

            assertThat(run.status()).isEqualTo(4);
            assertThat(run.errorLine()).contains(": no answer to ");
            assertThat(run.out()).startsWith("Fails: ").contains("\n" + folder + "\n");
        }
    }
}
