package io.gds4j.diagnosis;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.Logged;
import io.gds4j.config.CuFileConfig;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class AdviceTest {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j");

    @TempDir
    private Path folder;

    private Diagnosis diagnosis(String jdk, List<Gpu> gpus, CuFileConfig config, PathReport... paths) {
        Platform platform = Platform.of(
                "Linux 6.8", "amd64", 2, OptionalLong.empty(), OptionalLong.empty(), jdk, "vendor", "/jdk");
        return new Diagnosis(
                platform, Optional.empty(), "", List.of(), gpus, Optional.empty(), Optional.of(config), List.of(paths));
    }

    private static Gpu gpu(OptionalLong bar1) {
        return Gpu.of(
                0, "H200", "GPU-1", Optional.empty(), OptionalLong.of(80L << 30), bar1, "9.0", OptionalInt.empty(),
                Optional.empty(), OptionalInt.empty());
    }

    private static PathReport path(String fileSystem) {
        IoPathReport served = new IoPathReport(IoPath.COMPAT_BUFFERED, "test");
        return PathReport.of(
                Path.of("/data/a\nb"), "file", Optional.of(new Mount("/data", fileSystem, "/dev/sda", "8:0", false)),
                Optional.empty(), Optional.of(served), Optional.of(served), Optional.empty(), "", Optional.empty());
    }

    @Test
    void soundMachineNeedsNone() {
        assertThat(diagnosis("25.0.3+9", List.of(gpu(OptionalLong.empty())), CuFileConfig.defaults(), path("tmpfs"))
                .advice()).isEmpty();
    }

    @Test
    void eachProblemHasOneLineAndARemedy() throws Exception {
        Path file = Files.writeString(
                folder.resolve("cufile.json"),
                "{\"properties\": {\"force_compat_mode\": true,\n\"no_such_key\": 1}}");
        CuFileConfig config = CuFileConfig.load(file);

        List<Advice> advice = diagnosis("25.0.1+8", List.of(gpu(OptionalLong.of(256 << 20))), config, path("nfs"))
                .advice();

        assertThat(advice).extracting(Advice::what).satisfiesExactly(
                jdk -> assertThat(jdk).contains("25.0.1", "JDK-8377811"),
                bar1 -> assertThat(bar1).contains("gpu:0", "256 of 81920 MiB"),
                compat -> assertThat(compat).contains("force_compat_mode"),
                key -> assertThat(key).contains(file + ":2:", "no_such_key"),
                direct -> assertThat(direct).contains("/data/a\\nb", "no direct I/O").doesNotContain("\n"));
        assertThat(advice).extracting(Advice::remedy).noneMatch(String::isBlank);
    }
}
