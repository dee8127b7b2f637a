package io.gds4j.ffi.posix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads through an io_uring. */
class IoUringTest {
    private static final int BLOCK = 4096;
    private static final int SIZE = 40 * BLOCK + 100;

    @TempDir
    private Path folder;

    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final byte[] content = new byte[SIZE];
    private int fd;

    @BeforeEach
    void make() throws IOException {
        new Random(7).nextBytes(content);
        Path file = Files.write(folder.resolve("file"), content);
        fd = posix.open(file.toString(), PosixConstants.O_RDONLY, 0);
    }

    @AfterEach
    void everythingIsReleased() {
        posix.close(fd);
        assertThat(posix.leaks()).isEmpty();
    }

    private IoUring open() {
        try {
            return IoUring.open(posix, 16);
        } catch (CuFileException e) {
            assumeTrue(false, "io_uring is not tested: " + e.getMessage());
            throw e;
        }
    }

    @Test
    void readsEndWithTheirTagsAndBytesAlsoPastTheEndOfTheFile() {
        try (IoUring uring = open(); Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(48L * BLOCK, BLOCK);
            for (int first = 0; first < 48; first += 16) {
                TreeMap<Long, Integer> results = new TreeMap<>();
                for (int i = first; i < first + 16; i++) {
                    long offset = (long) i * BLOCK;
                    uring.read(fd, memory.address() + offset, BLOCK, offset, 1000 + i);
                }
                assertThat(uring.run(results::put)).isTrue();
                assertThat(results).hasSize(16);
                results.forEach((tag, result) -> assertThat(result).as("block %d", tag - 1000)
                        .isEqualTo(Math.clamp(SIZE - (tag - 1000) * BLOCK, 0, BLOCK)));
            }
            assertThat(memory.asSlice(0, SIZE).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(content);
        }
    }

    @Test
    void failedReadHasItsOwnError() {
        try (IoUring uring = open(); Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(2L * BLOCK, BLOCK);
            int[] results = new int[2];
            uring.read(-1, memory.address(), BLOCK, 0, 0);
            uring.read(fd, memory.address() + BLOCK, BLOCK, BLOCK, 1);
            assertThat(uring.run((tag, result) -> results[(int) tag] = result)).isTrue();
            assertThat(results).containsExactly(-Errno.EBADF, BLOCK);
            assertThat(memory.asSlice(BLOCK).toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(Arrays.copyOfRange(content, BLOCK, 2 * BLOCK));
        }
    }

    @Test
    void readsBeyondTheCapacityAreRefused() {
        try (IoUring uring = open(); Arena arena = Arena.ofConfined()) {
            long address = arena.allocate(BLOCK, BLOCK).address();
            for (int i = 0; i < uring.capacity(); i++) {
                uring.read(fd, address, 1, 0, i);
            }
            assertThatThrownBy(() -> uring.read(fd, address, 1, 0, 0)).isInstanceOf(IllegalStateException.class);
            assertThat(uring.run((tag, result) -> assertThat(result).isEqualTo(1))).isTrue();
        }
    }

    @Test
    void interruptedWaitContinuesAndRefusalIsReported() {
        try (IoUring uring = open(); Arena arena = Arena.ofConfined()) {
            long address = arena.allocate(BLOCK, BLOCK).address();
            int[] done = new int[1];
            posix.on(PosixCall.IO_URING_ENTER).fails(Errno.EINTR);
            uring.read(fd, address, BLOCK, 0, 0);
            assertThat(uring.run((tag, result) -> done[0] += result)).isTrue();
            assertThat(done[0]).isEqualTo(BLOCK);

            posix.on(PosixCall.IO_URING_ENTER).fails(Errno.ENOMEM);
            uring.read(fd, address, BLOCK, 0, 0);
            assertThat(uring.run((tag, result) -> done[0] += result)).isFalse();
            assertThat(uring.works()).isFalse();
            assertThat(done[0]).isEqualTo(BLOCK);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EPERM, Errno.ENOSYS, Errno.ENOMEM})
    void refusedSetupHasItsErrnoAndLeavesNothingOpen(int errno) {
        posix.on(PosixCall.IO_URING_SETUP).fails(errno);
        assertThatThrownBy(() -> IoUring.open(posix, 16))
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(errno));
        posix.heal();
        posix.on(PosixCall.MMAP).fails(Errno.ENOMEM);
        assertThatThrownBy(() -> IoUring.open(posix, 16)).isInstanceOf(CuFileException.class);
    }
}
