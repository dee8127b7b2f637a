package io.gds4j.tools.explain;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class ReadFileTest {
    @TempDir
    private Path folder;

    @Test
    @Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void pipeInPlaceOfAFileIsNotWaitedFor() throws Exception {
        Path pipe = folder.resolve("model.safetensors");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();

        assertThat(ReadFile.of(pipe, List.of(), Optional.empty()).bytes()).isZero();
    }
}
