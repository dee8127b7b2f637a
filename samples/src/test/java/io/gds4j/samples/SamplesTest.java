package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.samples.Samples.Named;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FaultInjectingBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** All samples in host memory. */
@Tag("slow")
class SamplesTest {
    private static final Path SOURCES = Path.of("src/main/java/io/gds4j/samples");
    private static final int MAX_PATTERN_LINES = 80;

    @TempDir
    private Path folder;

    static List<Named> samples() {
        return Samples.all();
    }

    static List<Named> patterns() {
        return Samples.all().stream().filter(sample -> sample.name().startsWith("pattern-")).toList();
    }

    @ParameterizedTest
    @MethodSource("samples")
    void sampleVerifiesItsBytes(Named sample) throws IOException, InterruptedException {
        List<String> lines = new ArrayList<>();
        SampleResult result = sample.sample()
                .run(SampleArguments.read(folder, lines::add, "--size", "1000003", "--io", "128K", "--memory", "host"));

        assertThat(result.verified()).as("%s said %s", sample.name(), lines).isTrue();
        assertThat(result.bytes()).isPositive();
        assertThat(result.seconds()).isPositive();
        assertThat(result.paths()).isNotEmpty();
        assertThat(result.lesson()).endsWith(".");
        assertThat(result.lines()).anyMatch(line -> line.matches(".* GB/s, by (COMPAT_|USER_SOURCE).*"));
    }

    /** A failed operation of a stream has no bytes: its result is an error number. */
    @ParameterizedTest
    @CsvSource({"pattern-7, STREAM_READ", "streams, STREAM_READ", "streams, STREAM_WRITE"})
    void failedOperationOfAStreamEndsTheSample(String name, Call call) {
        Named sample = Samples.all().stream().filter(any -> any.name().equals(name)).findFirst().orElseThrow();
        FaultInjectingBackend backend = new FaultInjectingBackend(FakeGpu.create().backend());
        backend.on(call).nth(2).fails(Errno.ENOSPC);

        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            SampleArguments arguments = SampleArguments.read(folder, line -> {
            }, "--size", "300003", "--io", "64K", "--memory", "host").sharing(driver);

            assertThatThrownBy(() -> sample.sample().run(arguments)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("ENOSPC");
        }
        backend.verify();
    }

    @ParameterizedTest
    @CsvSource({"growing-memory, REGISTER, cuda_device", "growing-memory, READ, cuda_device",
            "growing-memory, ALLOCATE, cuda_device",
            "data-loader, READ, host", "data-loader, OPEN, host", "resharding, OPEN, host"})
    void sampleThatFailsLeavesNothingOpen(String name, Call call, String memory) {
        Named sample = Samples.named(name).orElseThrow();
        FakeGpu gpu = FakeGpu.create();
        FaultInjectingBackend backend = new FaultInjectingBackend(gpu.backend());
        backend.on(call).nth(3).fails(Errno.EIO);
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            long free = gpu.availableBytes(0);
            SampleArguments arguments = SampleArguments.read(folder, line -> {
            }, "--size", "300003", "--io", "64K", "--memory", memory).sharing(driver);

            assertThatThrownBy(() -> sample.sample().run(arguments)).hasMessageContaining("EIO");
            assertThat(gpu.availableBytes(0)).isEqualTo(free);
            assertThat(backend.count(Call.CLOSE)).isEqualTo(backend.count(Call.OPEN) - (call == Call.OPEN ? 1 : 0));
        }
        backend.verify();
    }

    @ParameterizedTest
    @MethodSource("patterns")
    void patternIsShortAndUsesNoOtherSample(Named pattern) throws IOException {
        String source = Files.readString(SOURCES.resolve(pattern.program().getSimpleName() + ".java"));

        assertThat(source.lines()).hasSizeLessThanOrEqualTo(MAX_PATTERN_LINES);
        List<String> others = Samples.all().stream().map(sample -> sample.program().getSimpleName())
                .filter(name -> !name.equals(pattern.program().getSimpleName())).toList();
        assertThat(source).doesNotContain(others).doesNotContain("GpuContext", "GpuStream");
    }

    @Test
    void namesAreUniqueAndProgramsHaveMain() {
        assertThat(samples()).extracting(Named::name).doesNotHaveDuplicates();
        assertThat(samples()).allSatisfy(
                sample -> assertThat(sample.program().getMethod("main", String[].class)).isNotNull());
    }
}
