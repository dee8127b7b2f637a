package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The errno of a system call reaches the program unchanged. */
class KernelErrorsTest {
    @ParameterizedTest
    @CsvSource({
            "ENOSPC, 28, IO_ERROR",
            "EDQUOT, 122, IO_ERROR",
            "EFBIG, 27, IO_ERROR",
            "EIO, 5, IO_ERROR",
            "ESTALE, 116, IO_ERROR",
            "EPERM, 1, PERMISSION_DENIED",
            "EROFS, 30, PERMISSION_DENIED",
            "ENOMEM, 12, NOMEM_ERROR"
    })
    void errnoOfAWriteIsKept(String name, int errno, CuFileError error) {
        for (boolean direct : new boolean[]{false, true}) {
            try (Rig rig = Rig.onHost()) {
                GuardedFile file = rig.file(Rig.PIECE);
                GuardedMemory memory = rig.host(Rig.PIECE);
                var fault = rig.posix().on(PosixCall.PWRITE);
                (direct ? fault.direct() : fault.buffered()).fails(errno);
                try (CuFileHandle handle = rig.open(file)) {
                    CuFileException failure =
                            Failures.expect(error, errno, () -> handle.write(memory.range(), Rig.PIECE - 5, 0, 0));
                    assertThat(failure).hasMessageContaining(name).hasMessageContaining("cuFileWrite");
                    assertThat(failure.path()).contains(file.path());
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"EIO, 5, IO_ERROR", "ESTALE, 116, IO_ERROR", "EACCES, 13, PERMISSION_DENIED", "ENOMEM, 12, NOMEM_ERROR"
    })
    void errnoOfAReadIsKept(String name, int errno, CuFileError error) {
        for (boolean direct : new boolean[]{false, true}) {
            try (Rig rig = Rig.onHost()) {
                GuardedFile file = rig.file(Rig.PIECE);
                GuardedMemory memory = rig.host(Rig.PIECE);
                var fault = rig.posix().on(PosixCall.PREAD);
                (direct ? fault : fault.buffered()).always().fails(errno);
                try (CuFileHandle handle = rig.open(file)) {
                    CuFileException failure =
                            Failures.expect(error, errno, () -> handle.read(memory.range(), Rig.PIECE - 5, 0, 0));
                    assertThat(failure).hasMessageContaining(name).hasMessageContaining("cuFileRead");
                }
            }
        }
    }

    /** Linux fails a direct read so where a program has just written a hole of the file through a mapping. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void directReadThatFailsOnceIsTakenFromThePageCache(boolean gpu) {
        try (Rig rig = gpu ? Rig.onGpu() : Rig.onHost()) {
            GuardedFile file = rig.file(3 * Rig.PIECE);
            GuardedMemory memory = rig.memory(gpu ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST, 3 * Rig.PIECE);
            rig.posix().on(PosixCall.PREAD).direct().covering(Rig.PIECE).fails(Errno.EIO);
            try (CuFileHandle handle = rig.open(file)) {
                long before = rig.driver().statistics().engine().retries();
                assertThat(handle.read(memory.range(), 3 * Rig.PIECE, 0, 0)).isEqualTo(3 * Rig.PIECE);
                assertThat(rig.driver().statistics().engine().retries()).isEqualTo(before + 1);
            }
            assertThat(rig.reads(false)).hasSize(1);
            memory.expect(0, file.expected(0, 3 * Rig.PIECE));
            memory.verify();
        }
    }

    @ParameterizedTest
    @CsvSource({"FSYNC, true", "FDATASYNC, false"})
    void errnoOfAForceIsKept(PosixCall call, boolean metadata) {
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.open(rig.file(100))) {
            rig.posix().on(call).fails(Errno.EIO);
            CuFileException failure = Failures.expectErrno(Errno.EIO, () -> handle.force(metadata));
            assertThat(failure.function()).isEqualTo(metadata ? "fsync" : "fdatasync");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EIO, Errno.ENOSPC, Errno.EDQUOT})
    void lostWriteIsReportedByEveryForceOfTheFile(int errno) {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(100);
            rig.posix().on(PosixCall.FDATASYNC).fails(errno);
            try (CuFileHandle handle = rig.open(file); CuFileHandle other = rig.open(file)) {
                Failures.expectErrno(errno, () -> handle.force(false));
                // the kernel tells each open file once, and handles share it
                Failures.expectErrno(errno, () -> handle.force(true));
                Failures.expectErrno(errno, () -> other.force(false));
            }
            try (CuFileHandle later = rig.open(file)) {
                later.force(false);
            }
        }
    }

    @Test
    void forceThatDroppedNothingMayBeRepeated() {
        try (Rig rig = Rig.onHost(); CuFileHandle handle = rig.open(rig.file(100))) {
            rig.posix().on(PosixCall.FDATASYNC).fails(Errno.EINTR);
            Failures.expectErrno(Errno.EINTR, () -> handle.force(false));
            handle.force(false);
        }
    }

    /** NFS sends written bytes when the file is closed; what the server says of them was lost. */
    @ParameterizedTest
    @ValueSource(ints = {Errno.ENOSPC, Errno.EDQUOT, Errno.EIO})
    void errnoOfACloseIsKept(int errno) {
        for (boolean direct : new boolean[]{false, true}) {
            try (Rig rig = Rig.onHost()) {
                GuardedFile file = rig.file(Rig.PIECE);
                GuardedMemory memory = rig.host(Rig.PIECE);
                CuFileHandle handle = rig.open(file);
                handle.write(memory.range(), 0);
                var fault = rig.posix().on(PosixCall.CLOSE);
                (direct ? fault.direct() : fault.buffered()).fails(errno);
                CuFileException failure = Failures.expectErrno(errno, handle::close);
                assertThat(failure.path()).contains(file.path());
                assertThat(handle.isOpen()).isFalse();
                handle.close();
            }
        }
    }

    /** Linux closes the descriptor all the same. */
    @Test
    void interruptedCloseIsNoFailure() {
        try (Rig rig = Rig.onHost()) {
            CuFileHandle handle = rig.open(rig.file(100));
            rig.posix().on(PosixCall.CLOSE).fails(Errno.EINTR);
            handle.close();
        }
    }

    @Test
    void errnoOfATruncateIsKept() {
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.open(rig.file(100))) {
            rig.posix().on(PosixCall.FTRUNCATE).fails(Errno.EFBIG);
            Failures.expectErrno(Errno.EFBIG, () -> handle.truncate(1 << 20));
        }
    }

    @Test
    void reservationReportsAFullDiskAndSurvivesSignals() {
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.open(rig.file(100))) {
            rig.posix().on(PosixCall.FALLOCATE).fails(Errno.ENOSPC);
            Failures.expectErrno(Errno.ENOSPC, () -> handle.reserve(1 << 20));
            assertThat(handle.size()).isEqualTo(100);
            rig.posix().on(PosixCall.FALLOCATE).fails(Errno.EINTR);
            assertThat(handle.reserve(1 << 20)).isTrue();
            assertThat(handle.size()).isEqualTo(1 << 20);
        }
    }

    @Test
    void fileSystemWithoutReservationExtendsTheFile() {
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.open(rig.file(100))) {
            rig.posix().on(PosixCall.FALLOCATE).always().fails(Errno.EOPNOTSUPP);
            assertThat(handle.reserve(1 << 20)).isFalse();
            assertThat(handle.size()).isEqualTo(1 << 20);
            assertThat(handle.reserve(50)).isFalse();
            assertThat(handle.size()).isEqualTo(1 << 20);
        }
    }

    @Test
    void errnoOfAnOpenIsKept() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(100);
            rig.posix().on(PosixCall.OPEN).fails(Errno.EACCES);
            Failures.expect(CuFileError.PERMISSION_DENIED, Errno.EACCES, () -> rig.open(file));
        }
    }

    @Test
    void statusThatCannotBeReadClosesWhatWasOpened() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(100);
            rig.posix().on(PosixCall.STATX).nth(2).fails(Errno.EIO);
            Failures.expectErrno(Errno.EIO, () -> rig.open(file));
            assertThat(rig.posix().openDescriptors()).isZero();
        }
    }

    @Test
    void hostMemoryThatCannotBeMappedIsANomemError() {
        try (Rig rig = Rig.onHost()) {
            rig.posix().on(PosixCall.MMAP).fails(Errno.ENOMEM);
            Failures.expect(
                    CuFileError.NOMEM_ERROR, () -> rig.driver().allocator().allocate(MemoryKind.HOST, Rig.PIECE));
            try (MemoryAllocation memory = rig.driver().allocator().allocate(MemoryKind.HOST, Rig.PIECE)) {
                assertThat(memory.isOpen()).isTrue();
            }
        }
    }

    @Test
    void refusedHugePagesBecomeOrdinaryPages() {
        try (Rig rig = Rig.onHost()) {
            rig.posix().on(PosixCall.MADVISE).always().fails(Errno.EINVAL);
            GuardedFile file = rig.file(Rig.PIECE);
            GuardedMemory memory = rig.memory(MemoryKind.HOST_HUGEPAGE, Rig.PIECE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 0)).isEqualTo(Rig.PIECE);
            }
            memory.expect(0, file.expected(0, Rig.PIECE));
            memory.verify();
        }
    }
}
