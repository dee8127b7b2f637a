package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cufile.AnswersChild;
import io.gds4j.ffi.cufile.AnswersSetting;
import io.gds4j.ffi.cufile.GpuMachine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The folder and the level of the log that NVIDIA's library writes. */
@Tag("gpu")
class GpuLogTest {
    private Path folder = Path.of("");

    @BeforeEach
    void makeFolder() throws IOException {
        folder = Files.createTempDirectory(GpuMachine.directory(), "log");
    }

    @AfterEach
    void deleteFolder() throws IOException {
        GpuMachine.deleteTree(folder);
    }

    private static List<Path> logs(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().contains("cufile")
                    && file.getFileName().toString().endsWith(".log")).toList();
        }
    }

    private AnswersChild open(String json) throws IOException, InterruptedException {
        AnswersSetting setting = new AnswersSetting("log", "log.json", json, Map.of());
        AnswersChild child = AnswersChild.run(ApiAnswers.class, setting, folder);
        assertThat(child.rows()).as(child.output()).containsEntry("open", "ok");
        return child;
    }

    @Test
    void workingDirectoryStaysCleanWithoutAConfiguredLog() throws IOException, InterruptedException {
        open("{}\n");
        assertThat(logs(folder)).isEmpty();
    }

    @Test
    void configurationSetsFolderAndLevelOfTheLog() throws IOException, InterruptedException {
        Path logs = Files.createDirectory(folder.resolve("logs"));
        open("{ \"logging\": { \"dir\": \"%s\", \"level\": \"TRACE\" } }\n".formatted(logs));
        assertThat(logs(folder)).isEmpty();
        assertThat(logs(logs)).hasSize(1);
        assertThat(Files.readString(logs(logs).getFirst())).contains("TRACE");
    }
}
