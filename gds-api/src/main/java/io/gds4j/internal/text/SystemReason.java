package io.gds4j.internal.text;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;

/**
 * Reasons of failures of java.io and java.nio. Their exceptions have no error numbers, only the C library's text, which is in the
 * language of the environment. This JVM learns the text by a failure of the same kind.
 */
public enum SystemReason {
    /** The disk is full. */
    DISK_FULL("No space left on device") {
        @Override
        void fail() throws IOException {
            try (FileOutputStream full = new FileOutputStream("/dev/full")) {
                full.write(0);
            }
        }
    },
    /** The pipe has no reader any more. */
    BROKEN_PIPE("Broken pipe") {
        @Override
        void fail() throws IOException {
            Pipe pipe = Pipe.open();
            pipe.source().close();
            try (Pipe.SinkChannel sink = pipe.sink()) {
                sink.write(ByteBuffer.allocate(1));
            }
        }
    };

    private final String english;

    SystemReason(String english) {
        this.english = english;
    }

    /** Fails for this reason. */
    abstract void fail() throws IOException;

    /** {@return the text of this reason in messages of this JVM} */
    public String text() {
        try {
            fail();
            return english;
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /** {@return whether an exception has this reason} */
    public boolean in(IOException failure) {
        return String.valueOf(failure.getMessage()).contains(text());
    }
}
