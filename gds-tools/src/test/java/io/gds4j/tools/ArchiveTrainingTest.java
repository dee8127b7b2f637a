package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.tools.terminal.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArchiveTrainingTest {
    @TempDir
    private Path folder;

    @Test
    void fileIsLoadedByHttp() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream print = new PrintStream(out, true, StandardCharsets.UTF_8);

        int status = ArchiveTraining.run(new Terminal(print, print, Map.of(), () -> false, () -> false),
                TestCheckpoints.odd(folder.resolve("model.safetensors")));

        assertThat(status).as(out.toString(StandardCharsets.UTF_8)).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("\"path\":\"http://127.0.0.1:", "\"USER_SOURCE\":");
    }
}
