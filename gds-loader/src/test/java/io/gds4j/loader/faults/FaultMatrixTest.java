package io.gds4j.loader.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A sample of the fault matrix, with every native function that an operation calls. {@code dev/faults.sh} runs the whole. */
@Tag("slow")
class FaultMatrixTest {
    private static final int CELLS = 120;

    @TempDir
    Path folder;

    @Test
    void failedCallIsReportedAndLeavesNothingBehind() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        List<String> findings = new ArrayList<>();
        try (FaultMatrix matrix = new FaultMatrix(folder)) {
            for (FaultMatrix.Cell cell : matrix.sample(CELLS, seed)) {
                matrix.run(cell).ifPresent(findings::add);
            }
        }
        assertThat(findings).as("findings of seed " + seed).isEmpty();
    }

    @Test
    void everyRowOfTheErrorsNamesAFunction() {
        assertThat(TypicalErrors.functions()).allMatch(function -> Arrays.stream(function.binding().getMethods())
                .map(Method::getName)
                .anyMatch(function.name()::equals));
    }
}
