package io.gds4j.loader.internal.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OpenedFileTest {
    @TempDir
    Path folder;

    /** A server whose file is stale was said to have no regular file. */
    @ParameterizedTest
    @ValueSource(ints = {Errno.ESTALE, Errno.EIO})
    void fileThatCannotBeLookedAtIsReportedWithItsErrno(int errno) {
        Path file = folder.resolve("model.safetensors");
        new SafetensorsWriter(file).tensor("w", DType.U8, 5).write(new TensorPattern(1));
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        posix.on(PosixCall.STATX).always().fails(errno);
        assertThatThrownBy(() -> OpenedFile.with(posix, () -> Checkpoint.open(file)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(Errno.text(errno))
                .hasMessageNotContaining("regular");
        assertThat(posix.openDescriptors()).isZero();
    }
}
