package io.gds4j.ffi.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.Errno;
import io.gds4j.ffi.ChildJvm;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of many threads, and allocation per call. */
class FfmPosixThreadsTest {
    private final Posix posix = FfmPosix.instance();

    @TempDir
    Path folder;

    /** Four failures of different errno in turn, on many threads at once. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void threadsNeverSeeEachOthersErrno(boolean virtual) throws Exception {
        String missing = folder.resolve("none").toString();
        int fd = posix.open(Files.createFile(folder.resolve("file")).toString(), PosixConstants.O_RDONLY, 0);
        CountDownLatch start = new CountDownLatch(1);
        try (ExecutorService threads =
                virtual ? Executors.newVirtualThreadPerTaskExecutor() : Executors.newCachedThreadPool();
                Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(8);
            List<Future<?>> done = new ArrayList<>();
            for (int t = 0; t < 8; t++) {
                int first = t;
                done.add(threads.submit(() -> {
                    start.await();
                    for (int i = first; i < 4000; i++) {
                        long[] answerAndExpected = switch (i % 4) {
                            case 0 -> new long[]{posix.close(-1), -Errno.EBADF};
                            case 1 -> new long[]{posix.open(missing, 0, 0), -Errno.ENOENT};
                            case 2 -> new long[]{posix.pread(fd, memory.address(), 8, -1), -Errno.EINVAL};
                            default -> new long[]{posix.blockDeviceSize(fd), -Errno.ENOTTY};
                        };
                        assertThat(answerAndExpected[0]).isEqualTo(answerAndExpected[1]);
                    }
                    return null;
                }));
            }
            start.countDown();
            for (Future<?> each : done) {
                each.get();
            }
        }
        posix.close(fd);
    }

    /** Makes reads that each last far longer than an attempt to close, so that some attempt happens during a read. */
    @Test
    void sharedArenaCannotCloseDuringARead() throws Exception {
        int fd = posix.open("/dev/zero", PosixConstants.O_RDONLY, 0);
        AtomicInteger refused = new AtomicInteger();
        for (int round = 0; round < 100 && refused.get() == 0; round++) {
            closeDuringReads(fd, refused);
        }
        assertThat(refused).hasPositiveValue();
        posix.close(fd);
    }

    private void closeDuringReads(int fd, AtomicInteger refused) throws InterruptedException {
        Arena arena = Arena.ofShared();
        MemorySegment memory = arena.allocate(16 << 20, 4096);
        CountDownLatch started = new CountDownLatch(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread reader = Thread.ofPlatform().start(() -> {
            try {
                while (refused.get() == 0) {
                    assertThat(posix.pread(fd, memory, 4096, (16 << 20) - 4096, 0)).isEqualTo((16 << 20) - 4096);
                    started.countDown();
                }
            } catch (IllegalStateException closedBetweenTwoReads) {
                // allowed: nothing was read into freed memory
            } catch (Throwable t) {
                thrown.set(t);
            }
        });
        started.await();
        while (memory.scope().isAlive()) {
            try {
                arena.close();
            } catch (IllegalStateException inUse) {
                refused.incrementAndGet();
            }
        }
        reader.join();
        assertThat(thrown.get()).isNull();
    }

    /** In a JVM of its own: what other tests have taught the compiler may keep it from removing allocations. */
    @Test
    void readsAndWritesAllocateNothing() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[64]);

        ChildJvm.End end = new ChildJvm(AllocatedByCalls.class, folder)
                .with("-XX:TieredStopAtLevel=4")
                .run(file.toString());

        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output().strip()).isEqualTo("0");
    }
}
