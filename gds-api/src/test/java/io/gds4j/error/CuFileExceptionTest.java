package io.gds4j.error;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CuFileExceptionTest {
    @Test
    void messageHoldsAllDetailsInOneLine() {
        CuFileException e = CuFileException.builder("cuFileWrite")
                .error(CuFileError.IO_ERROR)
                .errno(Errno.ENOSPC)
                .path(Path.of("/data/model.bin"))
                .range(4096, 1 << 20)
                .transferred(65536)
                .detail("pwrite failed")
                .build();

        assertThat(e)
                .hasMessage("cuFileWrite: pwrite failed, file=/data/model.bin, offset=4096, size=1048576,"
                        + " transferred=65536 (CU_FILE_IO_ERROR 5044, ENOSPC: no space left on device)");
        assertThat(e.function()).isEqualTo("cuFileWrite");
        assertThat(e.error()).isEqualTo(CuFileError.IO_ERROR);
        assertThat(e.errno()).hasValue(Errno.ENOSPC);
        assertThat(e.path()).contains(Path.of("/data/model.bin"));
        assertThat(e.fileOffset()).hasValue(4096);
        assertThat(e.size()).hasValue(1 << 20);
        assertThat(e.bytesTransferred()).isEqualTo(65536);
        assertThat(e.detail()).isEqualTo("pwrite failed");
    }

    @Test
    void messageOmitsUnknownDetails() {
        CuFileException e = CuFileException.builder("cuFileDriverOpen").build();

        assertThat(e).hasMessage("cuFileDriverOpen: internal error (CU_FILE_INTERNAL_ERROR 5030)").hasNoCause();
        assertThat(e.errno()).isEmpty();
        assertThat(e.path()).isEmpty();
        assertThat(e.fileOffset()).isEmpty();
        assertThat(e.size()).isEmpty();
        assertThat(e.bytesTransferred()).isZero();
    }

    @ParameterizedTest
    @CsvSource({
            "2, true, false",
            "20, true, false",
            "13, false, true",
            "1, false, true",
            "5, false, false",
            "0, false, false"
    })
    void errnoTellsMissingFromForbiddenFiles(int errno, boolean notFound, boolean accessDenied) {
        CuFileException e = CuFileException.builder("open").errno(errno).error(CuFileError.PERMISSION_DENIED).build();

        assertThat(e.isNotFound()).isEqualTo(notFound);
        assertThat(e.isAccessDenied()).isEqualTo(accessDenied);
    }

    @ParameterizedTest
    @CsvSource({"IO_ERROR, 11, true", "IO_ERROR, 16, true", "IO_ERROR, 110, true", "IO_ERROR, 5, false",
            "IO_ERROR, 28, false",
            "NOMEM_ERROR, 0, true", "BATCH_FULL, 0, true", "INVALID_VALUE, 22, false",
            "HANDLE_NOT_REGISTERED, 0, false"})
    void tellsWhatMayWorkLater(CuFileError error, int errno, boolean retryable) {
        CuFileException.Builder failure = CuFileException.builder("cuFileRead").error(error);
        assertThat((errno == 0 ? failure : failure.errno(errno)).build().isRetryable()).isEqualTo(retryable);
    }

    @Test
    void offsetZeroIsKnown() {
        CuFileException e = CuFileException.builder("cuFileRead").range(0, 0).build();

        assertThat(e.fileOffset()).hasValue(0);
        assertThat(e.size()).hasValue(0);
    }

    @Test
    void controlCharactersOfNamesAreEscaped() {
        CuFileException e = CuFileException.builder("cuFileRead")
                .path(Path.of("a\nb\u001b[2J"))
                .detail("x\r\ny")
                .build();

        assertThat(e)
                .hasMessage("cuFileRead: x\\r\\ny, file=a\\nb\\u001b[2J (CU_FILE_INTERNAL_ERROR 5030)");
        assertThat(e.path()).contains(Path.of("a\nb\u001b[2J"));
    }

    @Test
    void interruptionHasItsOwnClass() {
        CuFileInterruptedException e = CuFileException.builder("cuFileRead")
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EINTR)
                .transferred(7)
                .buildInterrupted();

        assertThat(e).isInstanceOf(CuFileException.class).hasMessageContaining("transferred=7");
        assertThat(e.bytesTransferred()).isEqualTo(7);
    }

    @Test
    void exceptionCanBeSerialized() throws IOException, ClassNotFoundException {
        CuFileException e = CuFileException.builder("cuFileRead")
                .path(Optional.of(Path.of("/x")))
                .range(1, 2)
                .build();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(e);

        CuFileException copy = (CuFileException) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))
                .readObject();

        assertThat(copy).hasMessage(e.getMessage());
        assertThat(copy.size()).hasValue(2);
        assertThat(copy.path()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
            "1, EPERM",
            "5, EIO",
            "9, EBADF",
            "16, EBUSY",
            "22, EINVAL",
            "27, EFBIG",
            "28, ENOSPC",
            "110, ETIMEDOUT",
            "122, EDQUOT",
            "125, ECANCELED",
            "4000, errno 4000"
    })
    void errnoHasItsLinuxName(int errno, String name) {
        assertThat(Errno.name(errno)).isEqualTo(name);
        assertThat(Errno.text(errno)).isNotBlank();
    }
}
