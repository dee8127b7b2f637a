package io.gds4j.tools.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.machine.SystemFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BusyProcessorsTest {
    @TempDir
    private Path root;

    @Test
    void onlyAMinuteOfWaitingIsReported() throws IOException {
        SystemFiles files = new SystemFiles(root);
        assertThat(BusyProcessors.advice(files)).as("an old kernel").isEmpty();
        Path file = Files.createDirectories(root.resolve("proc/pressure")).resolve("cpu");
        Files.writeString(file, "some avg10=99.00 avg60=12.50 avg300=1.00 total=7\nfull avg10=0.00 avg60=90.00\n");
        assertThat(BusyProcessors.advice(files)).isEmpty();
        Files.writeString(file, "some avg10=1.00 avg60=62.51 avg300=1.00 total=7\n");
        assertThat(BusyProcessors.advice(files).orElseThrow().what())
                .isEqualTo("the processors are busy: in 63 % of the last minute threads waited for one");
    }
}
