package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class PatienceTest {
    private static final String SECONDS = "gds4j.patience.seconds";

    @TempDir
    private Path folder;

    private Path pipe() throws Exception {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
        return pipe;
    }

    @Test
    void callThatNeverReturnsIsNamed() throws Exception {
        Path pipe = pipe();
        Patience patience = new Patience();
        System.setProperty(SECONDS, "1");
        try {
            assertThatThrownBy(() -> patience.with(() -> new FileInputStream(pipe.toFile())))
                    .isInstanceOf(CommandFailure.class)
                    .hasMessageStartingWith(pipe + ": no answer to open for ");
        } finally {
            System.clearProperty(SECONDS);
            new FileOutputStream(pipe.toFile()).close(); // frees the thread
        }
    }

    @Test
    void resultAndFailurePass() throws Exception {
        assertThat(new Patience().with(() -> "result")).isEqualTo("result");
        IOException failure = new IOException("failure");

        assertThatThrownBy(() -> new Patience().with(() -> {
            throw failure;
        })).isSameAs(failure);
    }
}
