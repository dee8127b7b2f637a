package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The fault matrix of verbs, which {@code dev/faults.sh verbs} runs with a table. */
@Tag("slow")
class VerbFaultsTest {
    @TempDir
    Path folder;

    @Test
    void failedVerbIsNamedAndLeavesNothingBehind() throws Exception {
        List<String> findings = new ArrayList<>();
        try (VerbFaults matrix = new VerbFaults(folder)) {
            for (VerbFaults.Cell cell : matrix.cells()) {
                matrix.run(cell).ifPresent(findings::add);
            }
            assertThat(matrix.hits()).isGreaterThan(200);
        }
        assertThat(findings).isEmpty();
    }
}
