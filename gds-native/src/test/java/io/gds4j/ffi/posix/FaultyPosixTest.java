package io.gds4j.ffi.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.Errno;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The double injects faults and counts calls. */
class FaultyPosixTest {
    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment memory = arena.allocate(8192, 4096);

    @TempDir
    Path folder;

    private Path path;
    private int fd;

    @BeforeEach
    void openAFile() throws IOException {
        path = Files.write(folder.resolve("data"), new byte[8192]);
        fd = posix.open(path.toString(), PosixConstants.O_RDWR, 0);
    }

    @AfterEach
    void everythingIsReleased() {
        assertThat(posix.close(fd)).isZero();
        assertThat(posix.leaks()).isEmpty();
        arena.close();
    }

    private long read(long count, long offset) {
        return posix.pread(fd, memory.address(), count, offset);
    }

    @Test
    void withoutFaultsCallsReachTheRealFunctions() {
        assertThat(read(8192, 0)).isEqualTo(8192);
        assertThat(posix.pwrite(fd, memory, 0, 100, 8192)).isEqualTo(100);
        assertThat(posix.statx(fd).size()).isEqualTo(8292);
        assertThat(posix.io()).extracting(PosixRequest::call).containsExactly(PosixCall.PREAD, PosixCall.PWRITE);
        assertThat(posix.io().getFirst().path()).isEqualTo(path.toString());
    }

    @Test
    void faultHitsTheNthMatchingCallOnce() {
        PosixFault fault = posix.on(PosixCall.PREAD).nth(2).fails(Errno.EIO);
        assertThat(read(10, 0)).isEqualTo(10);
        assertThat(posix.pwrite(fd, memory.address(), 10, 0)).isEqualTo(10);
        assertThat(read(10, 0)).isEqualTo(-Errno.EIO);
        assertThat(read(10, 0)).isEqualTo(10);
        assertThat(fault.hits()).isEqualTo(1);
        assertThat(posix.calls(PosixCall.PREAD)).isEqualTo(3);
    }

    @Test
    void faultsMatchByRangeDescriptorAndPath() {
        posix.on(PosixCall.PREAD).covering(4096).times(2).fails(Errno.EINTR);
        assertThat(read(4096, 0)).isEqualTo(4096);
        assertThat(read(4097, 0)).isEqualTo(-Errno.EINTR);
        assertThat(read(1, 4096)).isEqualTo(-Errno.EINTR);
        assertThat(read(1, 4096)).isEqualTo(1);
        posix.on(PosixCall.PWRITE).fd(fd + 1000).fails(Errno.ENOSPC);
        assertThat(posix.pwrite(fd, memory.address(), 1, 0)).isEqualTo(1);
        posix.on(PosixCall.PWRITE).path("data").fails(Errno.ENOSPC);
        assertThat(posix.pwrite(fd, memory.address(), 1, 0)).isEqualTo(-Errno.ENOSPC);
        posix.on(PosixCall.OPEN).path("other").fails(Errno.EMFILE);
        assertThat(posix.open("/other", 0, 0)).isEqualTo(-Errno.EMFILE);
    }

    @Test
    void shortCallsMoveAsManyBytesAsTheyReturn() throws IOException {
        memory.fill((byte) 1);
        posix.on(PosixCall.PWRITE).isShort(5);
        assertThat(posix.pwrite(fd, memory.address(), 10, 0)).isEqualTo(5);
        byte[] written = Files.readAllBytes(path);
        assertThat(written[4]).isOne();
        assertThat(written[5]).isZero();
        posix.on(PosixCall.PREAD).isShort(0);
        assertThat(read(10, 0)).isZero();
    }

    @Test
    void directAndBufferedDescriptorsAreDistinguished() {
        int direct = posix.open(path.toString(), PosixConstants.O_RDONLY | PosixConstants.O_DIRECT, 0);
        if (direct < 0) {
            assertThat(direct).isEqualTo(-Errno.EINVAL); // a file system without direct I/O
            return;
        }
        posix.on(PosixCall.PREAD).direct().always().fails(Errno.EINVAL);
        assertThat(read(4096, 0)).isEqualTo(4096);
        assertThat(posix.pread(direct, memory.address(), 4096, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.isDirect(direct)).isTrue();
        assertThat(posix.isDirect(fd)).isFalse();
        posix.close(direct);
    }

    @Test
    void actionRunsBeforeTheCall() {
        AtomicInteger ran = new AtomicInteger();
        posix.on(PosixCall.PREAD).runsFirst(() -> {
            posix.ftruncate(fd, 3);
            ran.incrementAndGet();
        });
        assertThat(read(100, 0)).isEqualTo(3);
        assertThat(read(100, 0)).isEqualTo(3);
        assertThat(ran).hasValue(1);
    }

    @Test
    void descriptorsAndMappingsAreCounted() {
        int copy = posix.fcntl(fd, PosixConstants.F_DUPFD_CLOEXEC, 0);
        int memoryFile = posix.memfdCreate("x", 0);
        assertThat(posix.openDescriptors()).isEqualTo(3);
        assertThat(posix.leaks()).anyMatch(leak -> leak.contains("data"));
        posix.close(copy);
        posix.close(memoryFile);
        long address = posix.mmap(
                0, 3 * 4096, PosixConstants.PROT_READ, PosixConstants.MAP_PRIVATE | PosixConstants.MAP_ANONYMOUS, -1,
                0);
        posix.munmap(address + 4096, 4096);
        assertThat(posix.mappings()).isEqualTo(2);
        assertThat(posix.mappedBytes()).isEqualTo(8192);
        posix.munmap(address, 3 * 4096);
        assertThat(posix.mappings()).isZero();
    }
}
