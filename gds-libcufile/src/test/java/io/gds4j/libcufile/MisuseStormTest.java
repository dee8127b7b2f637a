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

/** Random calls with random arguments, from several threads and after close; {@code gds4j.misuse.seed} is the seed. */
class MisuseStormTest {
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
                Long.getLong("gds4j.misuse.seed", System.nanoTime()))
                .run(Duration.ofSeconds(3));
        assertThat(machine.fake.violations()).isEmpty();
        assertThat(machine.fake.transfers().openFiles()).isZero();
        assertThat(machine.cuda.violations()).isEmpty();
    }
}
