package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Several threads make random calls with random arguments, also after close. {@code -Dgds4j.property.seconds} sets the length of
 * the class, {@code -Dgds4j.property.seed} repeats a run.
 */
class MisuseStormTest {
    private static final Duration LENGTH = Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 1));
    private static final int MACHINES = 2;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void everyCallEndsWithAValueOrADocumentedException(boolean direct) throws IOException, InterruptedException {
        FakeMachine machine = direct ? new FakeMachine().withDirectStorage() : new FakeMachine();
        new MisuseStorm(
                machine::backend,
                List.of(MemoryKind.CUDA_DEVICE, MemoryKind.HOST),
                folder,
                Long.getLong("gds4j.property.seed", System.nanoTime()))
                .run(LENGTH.dividedBy(MACHINES));
        assertThat(machine.fake.violations()).isEmpty();
        assertThat(machine.fake.transfers().openFiles()).isZero();
        assertThat(machine.cuda.violations()).isEmpty();
    }
}
