package io.gds4j.libcufile.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.spi.FileSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
                posix, new FileSource.Named(file, true, true, false, false, false, false, false, false));
        posix.close(opened.fd());
        assertThat(leased.hits()).isEqualTo(1);
        assertThat(posix.openDescriptors()).isZero();
    }
}
