package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ErrorReportTest {
    private static CuFileException cuFile(CuFileError error, int errno) {
        return CuFileException.builder("cuFileRead")
                .error(error)
                .errno(errno)
                .path(Path.of("/data/model"))
                .range(4096, 512)
                .detail("pread failed")
                .build();
    }

    static Stream<Arguments> failures() {
        return Stream.of(
                arguments(CommandFailure.usage("x"), ExitStatus.USAGE),
                arguments(CommandFailure.badInput("f", "x"), ExitStatus.BAD_INPUT),
                arguments(CommandFailure.device("NO_GPU", "x"), ExitStatus.IO_FAILURE),
                arguments(cuFile(CuFileError.IO_ERROR, Errno.EIO), ExitStatus.IO_FAILURE),
                arguments(cuFile(CuFileError.IO_ERROR, Errno.ENOSPC), ExitStatus.IO_FAILURE),
                arguments(cuFile(CuFileError.NOMEM_ERROR, 0), ExitStatus.IO_FAILURE),
                arguments(cuFile(CuFileError.CUDA_DRIVER_ERROR, 0), ExitStatus.IO_FAILURE),
                arguments(cuFile(CuFileError.DRIVER_NOT_INITIALIZED, 0), ExitStatus.IO_FAILURE),
                arguments(cuFile(CuFileError.INVALID_VALUE, Errno.ENOENT), ExitStatus.BAD_INPUT),
                arguments(cuFile(CuFileError.PERMISSION_DENIED, Errno.EACCES), ExitStatus.BAD_INPUT),
                arguments(cuFile(CuFileError.INVALID_FILE_TYPE, 0), ExitStatus.BAD_INPUT),
                arguments(cuFile(CuFileError.INTERNAL_ERROR, 0), ExitStatus.INTERNAL_ERROR),
                arguments(new NoSuchFileException("/x"), ExitStatus.BAD_INPUT),
                arguments(new UncheckedIOException(new AccessDeniedException("/x")), ExitStatus.BAD_INPUT),
                arguments(new FileSystemException("/x", null, "No space left on device"), ExitStatus.IO_FAILURE),
                arguments(new IOException("Input/output error"), ExitStatus.IO_FAILURE),
                arguments(new CompletionException(cuFile(CuFileError.IO_ERROR, Errno.ENOSPC)), ExitStatus.IO_FAILURE),
                arguments(new IllegalStateException("oops"), ExitStatus.INTERNAL_ERROR),
                arguments(new OutOfMemoryError("Java heap space"), ExitStatus.IO_FAILURE));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void everyFailureHasItsStatusAndOneLine(Throwable failure, ExitStatus status) {
        ErrorReport report = ErrorReport.of(failure);

        assertThat(report.status()).isEqualTo(status);
        assertThat(report.message()).isNotBlank().doesNotContain("\n");
        assertThat(report.name()).isNotBlank();
    }

    @Test
    void fileWhoseNameIsAWordOfTheDescriptionIsNamed() {
        CuFileException failure = CuFileException.builder("cuFileRead").error(CuFileError.INVALID_VALUE)
                .path(Path.of("file")).detail("the file is a folder").build();

        assertThat(ErrorReport.of(failure).message()).isEqualTo("file: the file is a folder");
    }

    @Test
    void theObjectHasEveryField() {
        Map<String, Object> object = ErrorReport.of(cuFile(CuFileError.IO_ERROR, Errno.EIO)).toJson("gds4j.load/1");

        assertThat(object.keySet()).containsExactly("schema", "error");
        assertThat(Json.line(object))
                .startsWith(
                        "{\"schema\":\"gds4j.load/1\",\"error\":{\"code\":5044,\"name\":\"CU_FILE_IO_ERROR\",\"errno\":5,")
                .contains("\"file\":\"/data/model\",\"offset\":4096,\"tensor\":null,\"exitStatus\":4");
    }

    @Test
    void namesCannotControlTheTerminal() {
        ErrorReport report = ErrorReport.of(CommandFailure.badInput("f", "bad\u001b]0;title\u0007\nline"));

        assertThat(report.message()).isEqualTo("bad\\u001b]0;title\\u0007\\nline");
    }
}
