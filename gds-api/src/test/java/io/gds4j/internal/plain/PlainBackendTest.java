package io.gds4j.internal.plain;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.FileSource;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlainBackendTest {
    private static final int SIZE = 4096;

    @TempDir
    private Path folder;

    private final PlainBackend backend = new PlainBackend();

    private BackendFile register(String name) throws Exception {
        Path path = Files.write(folder.resolve(name), new byte[SIZE]);
        return backend.handleRegister(FileSource.Named.of(path, StandardOpenOption.READ));
    }

    /** A read that the test holds between its entry and its first byte, where the thread is asked for an interrupt. */
    private static final class HeldRead extends Thread {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch released = new CountDownLatch(1);

        private HeldRead(Runnable read) {
            super(read, "held-read");
            setDaemon(true);
        }

        @Override
        public boolean isInterrupted() {
            begun.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return super.isInterrupted();
        }
    }

    @Test
    void closeEndsOnlyTheSessionThatItClosed() throws Exception {
        try (MemoryAllocation memory = backend.allocator().allocate(MemoryKind.HOST, SIZE, MemoryRange.NO_DEVICE)) {
            MemoryRange range = memory.range();
            backend.driverOpen();
            BackendFile first = register("first");
            CompletableFuture<Long> read = new CompletableFuture<>();
            HeldRead reader = new HeldRead(() -> {
                try {
                    read.complete(backend.read(first, range, SIZE, 0, 0));
                } catch (RuntimeException e) {
                    read.completeExceptionally(e);
                }
            });
            reader.start();
            reader.begun.await();
            CompletableFuture<Void> close = CompletableFuture.runAsync(backend::driverClose);
            while (backend.useCount() > 0) {
                Thread.onSpinWait();
            }
            backend.driverOpen();
            BackendFile second = register("second");
            backend.bufRegister(range, 0);

            reader.released.countDown();
            close.join();

            assertThat(read.join()).isEqualTo(SIZE);
            assertThat(backend.read(second, range, SIZE, 0, 0)).isEqualTo(SIZE);
            backend.bufDeregister(range);
            backend.driverClose();
        }
    }
}
