package io.gds4j.tools.terminal;

import io.gds4j.internal.text.SystemReason;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Standard output in UTF-8 that keeps the reason of a failed write. PrintStream alone only reports that one failed. */
final class ResultStream extends PrintStream {
    private final Sink sink;

    private ResultStream(Sink sink) {
        super(new BufferedOutputStream(sink), false, StandardCharsets.UTF_8);
        this.sink = sink;
    }

    static ResultStream ofProcess() {
        return new ResultStream(new Sink());
    }

    /** Reason of the last failed write; empty if the reader closed the pipe, as {@code head} does after enough lines. */
    Optional<String> failure() {
        String failure = sink.failure;
        return SystemReason.BROKEN_PIPE.text().equals(failure)
                ? Optional.empty()
                : Optional.of(failure == null ? "write failed" : failure);
    }

    private static final class Sink extends OutputStream {
        private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        private volatile @Nullable String failure;

        @Override
        public void write(int b) throws IOException {
            write(new byte[]{(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            try {
                out.write(bytes, offset, length);
            } catch (IOException e) {
                failure = String.valueOf(e.getMessage());
                throw e;
            }
        }
    }
}
