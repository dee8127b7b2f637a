package io.gds4j.internal.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.error.Errno;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What java.nio throws, and the error number of the call behind it. */
class FileErrnoTest {
    @TempDir
    static Path folder;

    static Stream<Arguments> failures() {
        return Stream.of(
                arguments(Errno.ENOENT, call(() -> Files.size(folder.resolve("none")))),
                arguments(Errno.ENOTDIR, call(() -> Files.newInputStream(Path.of("/dev/null/file")))),
                arguments(Errno.ENOTDIR, call(() -> Files.newDirectoryStream(Path.of("/dev/null")))),
                arguments(Errno.EEXIST, call(() -> Files.createDirectory(folder))),
                arguments(Errno.ENAMETOOLONG, call(() -> Files.newInputStream(folder.resolve("n".repeat(256))))),
                arguments(Errno.ELOOP, call(() -> Files.size(loop()))),
                arguments(Errno.ELOOP, call(() -> FileChannel.open(Files.createSymbolicLink(
                        folder.resolve("to"), folder), StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))),
                arguments(Errno.ENOSPC, call(FileErrnoTest::fillDisk)),
                arguments(Errno.EPIPE, call(FileErrnoTest::breakPipe)),
                arguments(Errno.EMFILE, call(() -> fail("Too many open files"))),
                arguments(Errno.EISDIR, call(() -> Files.readAllBytes(folder))),
                arguments(Errno.EROFS, call(() -> fail("Read-only file system"))),
                arguments(Errno.EDQUOT, call(() -> fail("Disk quota exceeded"))),
                arguments(Errno.EFBIG, call(() -> fail("File too large"))),
                arguments(Errno.EPERM, call(() -> Files.createLink(folder.resolve("link"), folder))),
                arguments(Errno.EINVAL, call(FileErrnoTest::forceDevice)),
                arguments(Errno.EOPNOTSUPP, call(() -> fail("Operation not supported"))),
                arguments(Errno.ENOSYS, call(() -> fail("Function not implemented"))),
                arguments(Errno.EIO, call(() -> fail("Stale file handle"))),
                arguments(Errno.EIO, call(() -> fail(null))));
    }

    private static ThrowingCallable call(ThrowingCallable call) {
        return call;
    }

    private static Path loop() throws IOException {
        return Files.createSymbolicLink(folder.resolve("loop"), Path.of("loop"));
    }

    private static void fillDisk() throws IOException {
        try (FileOutputStream full = new FileOutputStream("/dev/full")) {
            full.write(0);
        }
    }

    private static void forceDevice() throws IOException {
        try (FileChannel device = FileChannel.open(Path.of("/dev/null"), StandardOpenOption.WRITE)) {
            device.force(true);
        }
    }

    private static void breakPipe() throws IOException {
        Pipe pipe = Pipe.open();
        pipe.source().close();
        try (Pipe.SinkChannel sink = pipe.sink()) {
            sink.write(ByteBuffer.allocate(1));
        }
    }

    /** Fails as java.nio does for a file whose name is the text of another reason. */
    private static void fail(String reason) throws IOException {
        throw new FileSystemException("/No space left on device", null, reason);
    }

    @ParameterizedTest
    @MethodSource("failures")
    void failureHasTheNumberOfItsCall(int errno, ThrowingCallable call) {
        assertThat(FileErrno.of(catchThrowableOfType(IOException.class, call))).isEqualTo(errno);
    }
}
