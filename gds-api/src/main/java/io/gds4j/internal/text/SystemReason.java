package io.gds4j.internal.text;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Reasons of failures of java.io and java.nio. Their exceptions have no error numbers, only the C library's text, which is in the
 * language of the environment. This JVM learns the text by a failure of the same kind.
 */
public enum SystemReason {
    /** The process, or the machine, has too many open files. First, because then other reasons cannot be provoked. */
    TOO_MANY_FILES("Too many open files") {
        @Override
        void fail() throws IOException {
            FileChannel.open(Path.of("/dev/null")).close();
        }
    },
    /** The disk is full. */
    DISK_FULL("No space left on device") {
        @Override
        void fail() throws IOException {
            try (FileOutputStream full = new FileOutputStream("/dev/full")) {
                full.write(0);
            }
        }
    },
    /** Nobody reads the pipe. */
    BROKEN_PIPE("Broken pipe") {
        @Override
        void fail() throws IOException {
            Pipe pipe = Pipe.open();
            pipe.source().close();
            try (Pipe.SinkChannel sink = pipe.sink()) {
                sink.write(ByteBuffer.allocate(1));
            }
        }
    },
    /** A name has more bytes than the file system allows. */
    NAME_TOO_LONG("File name too long") {
        @Override
        void fail() throws IOException {
            FileChannel.open(Path.of("/" + "n".repeat(4096))).close();
        }
    },
    /** A file stands where the path has a folder. */
    NOT_A_FOLDER("Not a directory") {
        @Override
        void fail() throws IOException {
            FileChannel.open(Path.of("/dev/null/file")).close();
        }
    },
    /** A folder was read as a file. */
    A_FOLDER("Is a directory") {
        @Override
        void fail() throws IOException {
            try (FileChannel folder = FileChannel.open(Path.of("/"))) {
                folder.read(ByteBuffer.allocate(1));
            }
        }
    },
    /** Links lead to each other. This text is the JDK's own, in every language. */
    LINK_LOOP("unable to access attributes of symbolic link"),
    /** A link lies where none may be. This text is the JDK's own, too. */
    A_LINK("NOFOLLOW_LINKS specified"),
    /** Nothing can be written to the file system. */
    READ_ONLY("Read-only file system"),
    /** The user has no space left. */
    QUOTA("Disk quota exceeded"),
    /** The file system, or a limit of the process, has no larger files. */
    FILE_TOO_LARGE("File too large"),
    /** The file system lets nobody do this: some have no links. */
    NOT_PERMITTED("Operation not permitted"),
    /** The file system does not do this. */
    NOT_SUPPORTED("Operation not supported"),
    /** A file system in user space does not do this. */
    NOT_IMPLEMENTED("Function not implemented"),
    /** The file system has nothing to force to the disk, for one. */
    INVALID_ARGUMENT("Invalid argument");

    private final String english;

    SystemReason(String english) {
        this.english = english;
    }

    /** Fails for this reason, if that can be provoked. */
    void fail() throws IOException {
    }

    /** {@return the text of this reason in messages of this JVM} */
    public String text() {
        try {
            fail();
        } catch (IOException e) {
            return said(e);
        }
        return english;
    }

    /** {@return whether an exception has this reason} */
    public boolean in(IOException failure) {
        return said(failure).contains(text());
    }

    /** {@return the reason of a failure, if it is one of these} */
    public static Optional<SystemReason> of(IOException failure) {
        return Stream.of(values()).filter(reason -> reason.in(failure)).findFirst();
    }

    /** Returns the message without the name of a file, as far as that stands apart. */
    private static String said(IOException failure) {
        return String.valueOf(failure instanceof FileSystemException file ? file.getReason() : failure.getMessage());
    }
}
