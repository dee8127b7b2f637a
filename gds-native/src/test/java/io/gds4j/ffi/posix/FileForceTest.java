package io.gds4j.ffi.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.Errno;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A lost write is reported for good. */
class FileForceTest {
    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());

    @TempDir
    Path folder;

    private int open() {
        return posix.open(folder.resolve("file").toString(), PosixConstants.O_WRONLY | PosixConstants.O_CREAT, 0600);
    }

    @ParameterizedTest
    @CsvSource({"FSYNC, true, 5", "FDATASYNC, false, 28", "FDATASYNC, false, 122"})
    void lostWriteIsReportedByEachLaterCall(PosixCall call, boolean metadata, int errno) {
        int fd = open();
        FileForce force = new FileForce();
        assertThat(force.force(posix, fd, metadata)).isZero();
        posix.on(call).fails(errno);
        assertThat(force.force(posix, fd, metadata)).isEqualTo(-errno);
        assertThat(force.force(posix, fd, true)).isEqualTo(-errno);
        assertThat(force.force(posix, fd, false)).isEqualTo(-errno);
        assertThat(new FileForce().force(posix, fd, metadata)).isZero();
        posix.close(fd);
    }

    @Test
    void failureThatLosesNothingIsReportedOnce() {
        int fd = open();
        FileForce force = new FileForce();
        posix.on(PosixCall.FDATASYNC).fails(Errno.EINTR);
        assertThat(force.force(posix, fd, false)).isEqualTo(-Errno.EINTR);
        assertThat(force.force(posix, fd, false)).isZero();
        posix.close(fd);
    }
}
