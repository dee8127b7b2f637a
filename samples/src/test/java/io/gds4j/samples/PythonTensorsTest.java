package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tensors shared with the Python of this machine. */
class PythonTensorsTest {
    @TempDir
    private Path folder;

    private final List<String> lines = new ArrayList<>();

    @Test
    void pythonAndJavaShareHostMemory() {
        SampleResult result = PythonTensors.run(
                SampleArguments.read(folder, lines::add, "--size", "1M", "--memory", "host"));
        assertThat(result.verified()).as("%s", lines).isTrue();
        assumeTrue(lines.stream().noneMatch(line -> line.contains("left out")), () -> lines.toString());
        assertBothDirections();
    }

    @Test
    @Tag("gpu")
    void pyTorchAndJavaShareGpuMemory() {
        SampleResult result = PythonTensors.run(
                SampleArguments.read(folder, lines::add, "--size", "16M", "--memory", "cuda_device"));
        assertThat(result.verified()).as("%s", lines).isTrue();
        assumeTrue(lines.stream().noneMatch(line -> line.contains("left out")), () -> lines.toString());
        assertThat(lines).allMatch(line -> line.contains("PyTorch"));
        assertBothDirections();
    }

    private void assertBothDirections() {
        assertThat(lines).hasSize(2);
        assertThat(lines.getFirst()).startsWith("gds4j's memory");
        assertThat(lines.getLast()).startsWith("Python's memory");
        assertThat(lines).allSatisfy(line -> {
            String[] addresses =
                    line.replaceAll("[^0-9a-fx ]", "").replaceAll(".*?(0x\\w+).*?(0x\\w+).*", "$1 $2").split(" ");
            assertThat(addresses).hasSize(2);
            assertThat(addresses[0]).isEqualTo(addresses[1]);
        });
    }
}
