package io.gds4j.libcufile.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.spi.FileSource;
import io.gds4j.testkit.Failures;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Opens files for the library. */
class OwnedDescriptorTest {
    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());

    @Test
    void leasedFileIsOpenedOnceTheLeaseIsGivenBack(@TempDir Path folder) throws IOException {
        Path file = Files.createFile(folder.resolve("leased"));
        PosixFault leased = posix.on(PosixCall.OPEN)
                .when(request -> (request.flags() & PosixConstants.O_NONBLOCK) != 0)
                .always()
                .fails(Errno.EAGAIN);
        OwnedDescriptor opened = OwnedDescriptor.open(
                posix, FileSource.Named.of(file, StandardOpenOption.READ, StandardOpenOption.WRITE));
        posix.close(opened.fd());
        assertThat(leased.hits()).isEqualTo(1);
        assertThat(posix.openDescriptors()).isZero();
    }

    /** Another program may put something else in the place of the file between the look at it and its opening. */
    @Test
    void whatIsNoFileWhenItIsOpenedIsClosedAgain(@TempDir Path folder) throws IOException {
        Path file = Files.createFile(folder.resolve("replaced"));
        posix.on(PosixCall.OPEN).runsFirst(() -> {
            try {
                Files.delete(file);
                Files.createDirectory(file);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        Failures.expect(CuFileError.INVALID_FILE_TYPE, () -> OwnedDescriptor.open(
                posix, FileSource.Named.of(file, StandardOpenOption.READ)));
        assertThat(posix.openDescriptors()).isZero();
    }
}
