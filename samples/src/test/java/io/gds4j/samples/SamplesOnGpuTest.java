package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.samples.Samples.Named;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** All samples in GPU memory, including the parts that need a GPU. */
@Tag("gpu")
class SamplesOnGpuTest {
    @TempDir
    private Path folder;

    static List<Named> samples() {
        return Samples.all();
    }

    @ParameterizedTest
    @MethodSource("samples")
    void sampleVerifiesItsBytesInGpuMemory(Named sample) throws IOException, InterruptedException {
        List<String> lines = new ArrayList<>();
        SampleArguments arguments = SampleArguments.read(
                folder, lines::add, "--size", "16M", "--io", "1M", "--memory", "cuda_device", "--backend", "compat");

        assertThat(sample.sample().run(arguments).verified()).as("%s said %s", sample.name(), lines).isTrue();
        assertThat(lines).noneMatch(line -> line.contains("DIFFERENT"));
        assertThat(lines.stream().filter(line -> line.contains("left out")))
                .allMatch(line -> line.contains("second GPU") || line.contains("RDMA") || line.contains("libibverbs")
                        || line.contains("Python"));
    }
}
