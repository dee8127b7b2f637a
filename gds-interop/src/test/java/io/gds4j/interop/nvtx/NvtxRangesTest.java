package io.gds4j.interop.nvtx;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.CompatBackend;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.ffi.nvtx.TestProfiler;
import io.gds4j.loader.Checkpoint;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranges around operations, in a JVM that a profiler started. */
@Tag("slow")
class NvtxRangesTest {
    @Test
    void everyOperationHasARange(@TempDir Path folder) throws Exception {
        Path library = TestProfiler.compile(folder);
        Path log = folder.resolve("log");
        ChildJvm child = new ChildJvm(RangesChild.class, folder, CompatBackend.class, Checkpoint.class);
        ChildJvm.End end = child.runBehind(
                List.of("env", "CUDA_VISIBLE_DEVICES=", "NVTX_INJECTION64_PATH=" + library, "NVTX_TEST_LOG=" + log),
                child.places(),
                folder.toString());
        assertThat(end.status()).as("%s", end).isZero();
        List<String> lines = Files.readAllLines(log);
        assertThat(lines).filteredOn(line -> line.startsWith("push") || line.startsWith("start"))
                .extracting(line -> line.replaceAll("\\|category \\d", "").replaceAll(" of type.*", ""))
                .containsExactlyInAnyOrder(
                        "push gds4j|read|payload 1000",
                        "push gds4j|write|payload 1001",
                        "start gds4j|read|payload 1002",
                        "push gds4j|read|payload 1003",
                        "start gds4j|batch read|payload 1004",
                        "push gds4j|stream read|payload 1006",
                        "push gds4j|checkpoint load %s|payload 16".formatted(folder.resolve("m.safetensors")),
                        "push gds4j|read|payload 82");
        assertThat(lines).filteredOn(line -> line.equals("pop gds4j")).hasSize(6);
        assertThat(lines).contains("end gds4j 1", "end gds4j 2");
    }

    @Test
    void missingProfilerIsNoError(@TempDir Path folder) {
        ChildJvm child = new ChildJvm(RangesChild.class, folder, CompatBackend.class, Checkpoint.class);
        ChildJvm.End end = child.runBehind(
                List.of("env", "CUDA_VISIBLE_DEVICES=", "NVTX_INJECTION64_PATH=/no/such.so"),
                child.places(),
                folder.toString());
        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.error()).contains("no NVTX ranges", "/no/such.so");
    }
}
