package io.gds4j.tools.explain;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.ReferenceBackend;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HotLoadTest {
    private static final int FILES = 64;
    private static final int NUMBERS = 10_000;

    @TempDir
    private Path folder;

    /** Opens the first file as slowly as thousands of files open. */
    private static final class SlowToOpen extends ForwardingBackend {
        private boolean opened;

        SlowToOpen() {
            super(new ReferenceBackend());
        }

        @Override
        public BackendFile handleRegister(FileSource source) {
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(700);
            while (!opened && System.nanoTime() < end) {
                LockSupport.parkNanos(end - System.nanoTime());
            }
            opened = true;
            return super.handleRegister(source);
        }
    }

    @Test
    void timeToOpenFilesIsNoSpeed() throws Exception {
        SavePlan.Builder tensors = SavePlan.builder().options(SaveOptions.DEFAULTS.withMaxShardBytes(4 * NUMBERS));
        for (int i = 0; i < FILES; i++) {
            tensors.tensor("t" + i, new float[NUMBERS], NUMBERS);
        }
        try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend())) {
            tensors.toFolder(folder).save(driver);
        }
        LoadPlan plan = Checkpoint.open(folder).plan();
        List<ReadFile> cached = plan.requests().stream()
                .map(read -> new ReadFile(
                        read.file(), read.length(), OptionalLong.of(read.length()), Optional.empty()))
                .toList();
        assertThat(cached).hasSize(FILES);
        try (CuFileDriver driver = CuFileDriver.open(new SlowToOpen())) {
            HotLoad hot = HotLoad.measure(driver, List.of(LoadDestination.host()), plan, cached);

            assertThat(hot.seconds(plan.bytes())).as("%s", hot).isBetween(0.6, 5.0);
        }
    }
}
