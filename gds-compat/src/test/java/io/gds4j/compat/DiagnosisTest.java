package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.config.ConfigSource;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DirectStorage;
import io.gds4j.diagnosis.BackendReport;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a driver tells about itself and its machine. */
class DiagnosisTest {
    private static final CuFileConfig OFF = CuFileConfig.builder()
            .withoutEnvironment()
            .directStorage(DirectStorage.OFF)
            .set(CuFileKeys.IO_BATCHSIZE, 64L)
            .build();

    @TempDir
    private Path folder;

    @Test
    void directStorageIsThatOfAllPaths() {
        try (CuFileDriver driver = CuFileDriver.open(OFF)) {
            Diagnosis here = driver.diagnose(folder);
            assertThat(here.directStorage()).isFalse();
            PathReport buffered = here.paths().getFirst();
            PathReport served = PathReport.of(folder, "file", buffered.mount(), buffered.alignment(),
                    Optional.of(new IoPathReport(IoPath.COMPAT_BUFFERED, "")),
                    Optional.of(new IoPathReport(IoPath.NVFS, "")), Optional.empty(), "", Optional.empty());
            assertThat(here.withPaths(List.of(served)).directStorage()).isTrue();
            assertThat(here.withPaths(List.of(served, buffered)).directStorage()).isFalse();
            assertThat(here.withPaths(List.of()).directStorage()).isFalse();
        }
    }

    @Test
    void driverTellsMachineBackendConfigurationAndPaths() throws IOException {
        Path file = Files.writeString(folder.resolve("data"), "twelve bytes");
        try (CuFileDriver driver = CuFileDriver.open(OFF)) {
            Diagnosis diagnosis = driver.diagnose(file, folder, folder.resolve("missing"));

            assertThat(diagnosis.platform().kernel()).startsWith("Linux");
            assertThat(diagnosis.platform().memoryBytes()).isPresent();
            assertThat(diagnosis.backend()).contains("compat");
            assertThat(diagnosis.config().orElseThrow().source(CuFileKeys.IO_BATCHSIZE)).isEqualTo(ConfigSource.API);
            assertThat(diagnosis.noGpu().isEmpty()).isNotEqualTo(diagnosis.gpus().isEmpty());
            assertThat(diagnosis.paths()).extracting(PathReport::kind).containsExactly("file", "folder", "");

            PathReport read = diagnosis.paths().getFirst();
            assertThat(read.path()).isEqualTo(file);
            assertThat(read.mount()).isPresent();
            assertThat(read.buffered().orElseThrow().path()).isIn(IoPath.COMPAT_BUFFERED, IoPath.COMPAT_CACHED);
            assertThat(diagnosis.paths().getLast().failure().orElseThrow().errno()).hasValue(Errno.ENOENT);
            try (var names = Files.list(folder)) {
                assertThat(names).containsExactly(file);
            }
            assertThat(diagnosis.lines()).allMatch(line -> !line.contains("\n"))
                    .anyMatch(line -> line.startsWith("platform: Linux"))
                    .anyMatch(line -> line.startsWith("backend: compat ("))
                    .contains("config: properties.io_batchsize=64 (program)")
                    .anyMatch(line -> line.startsWith("path " + file + ": "));
            assertThat(diagnosis).hasToString(String.join(System.lineSeparator(), diagnosis.lines()));
        }
    }

    @Test
    void backendIsExplainedByHowItWasChosen() {
        try (CuFileDriver driver = CuFileDriver.open(OFF, "compat")) {
            assertThat(driver.diagnose().why()).isEqualTo("requested by name");
        }
        try (CuFileDriver driver = CuFileDriver.open(new CompatBackendProvider().create(OFF))) {
            Diagnosis diagnosis = driver.diagnose();
            assertThat(diagnosis.why()).isEqualTo("the program opened this backend");
            assertThat(diagnosis.config()).isEmpty();
        }
    }

    @Test
    void machineWithoutAServingBackendIsDiagnosedBeforeOpening() {
        CuFileConfig required =
                CuFileConfig.builder().withoutEnvironment().directStorage(DirectStorage.REQUIRE).build();

        Diagnosis diagnosis = CuFileDriver.diagnose(required);

        BackendReport compat = diagnosis.backend("compat").orElseThrow();
        assertThat(compat.available()).isFalse();
        assertThat(compat.reason()).contains("properties.allow_compat_mode is false");
        assertThat(diagnosis.backend().isPresent())
                .isEqualTo(diagnosis.backends().stream().anyMatch(BackendReport::chosen));
        assertThat(diagnosis.paths()).isEqualTo(List.of());
    }

    @Test
    void closedDriverIsNotDiagnosed() {
        CuFileDriver driver = CuFileDriver.open(OFF);
        driver.close();

        assertThatThrownBy(() -> driver.diagnose(folder)).isInstanceOf(CuFileException.class);
    }
}
