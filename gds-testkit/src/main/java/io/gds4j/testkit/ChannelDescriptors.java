package io.gds4j.testkit;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * Opens descriptors by way of channels and finds their numbers as new entries of {@code /proc/self/fd}. Needs no native
 * access, but no other thread may open a file of the same name at the same time.
 *
 * @since 0.1
 */
public final class ChannelDescriptors implements RawDescriptors {
    private final Map<Integer, Closeable> open = new ConcurrentHashMap<>();

    /** Creates an instance without open descriptors. */
    public ChannelDescriptors() {
    }

    private interface Opening {
        Closeable open() throws IOException;
    }

    @Override
    public int open(Path path, Access access, Flag... flags) {
        Set<OpenOption> options = new HashSet<>();
        if (access.reads()) {
            options.add(StandardOpenOption.READ);
        }
        if (access.writes()) {
            options.add(StandardOpenOption.WRITE);
        }
        for (Flag flag : flags) {
            options.add(option(flag));
        }
        // The JDK has no channel that reads in append mode, so the mode is O_WRONLY | O_APPEND.
        if (options.contains(StandardOpenOption.APPEND)) {
            options.remove(StandardOpenOption.READ);
        }
        try {
            String real = path.toRealPath().toString();
            return find(() -> FileChannel.open(path, options), link -> link.equals(real));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static OpenOption option(Flag flag) {
        return switch (flag) {
            case DIRECT -> direct();
            case APPEND -> StandardOpenOption.APPEND;
            case SYNC -> StandardOpenOption.SYNC;
            case DSYNC -> StandardOpenOption.DSYNC;
        };
    }

    /** Finds the constant by name: the compiler warns of the class, which is not part of Java SE. */
    private static OpenOption direct() {
        try {
            Class<?> options = Class.forName("com.sun.nio.file.ExtendedOpenOption");
            for (Object constant : options.getEnumConstants()) {
                if (constant.toString().equals("DIRECT")) {
                    return (OpenOption) constant;
                }
            }
        } catch (ClassNotFoundException e) {
            throw new UnsupportedOperationException("this JDK has no ExtendedOpenOption.DIRECT", e);
        }
        throw new UnsupportedOperationException("this JDK has no ExtendedOpenOption.DIRECT");
    }

    @Override
    public int pipe() {
        return find(
                () -> {
                    Pipe pipe = Pipe.open();
                    return () -> {
                        pipe.source().close();
                        pipe.sink().close();
                    };
                },
                link -> link.startsWith("pipe:"));
    }

    @Override
    public int socket() {
        return find(ServerSocketChannel::open, link -> link.startsWith("socket:"));
    }

    @Override
    public OptionalInt duplicate(int fd) {
        return OptionalInt.empty();
    }

    @Override
    public OptionalInt memfd() {
        return OptionalInt.empty();
    }

    @Override
    public void close(int fd) {
        Closeable channel = open.remove(fd);
        if (channel == null) {
            throw new IllegalArgumentException("not opened here: " + fd);
        }
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private int find(Opening opening, Predicate<String> wanted) {
        try {
            Set<Integer> before = numbers(link -> !link.startsWith("/proc/"));
            Closeable channel = opening.open();
            Set<Integer> after = numbers(wanted);
            after.removeAll(before);
            if (after.isEmpty()) {
                channel.close();
                throw new IllegalStateException("nothing new in /proc/self/fd");
            }
            int fd = after.iterator().next();
            open.put(fd, channel);
            return fd;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Set<Integer> numbers(Predicate<String> wanted) throws IOException {
        Set<Integer> found = new HashSet<>();
        try (DirectoryStream<Path> links = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path link : links) {
                if (isOpenOn(link, wanted)) {
                    found.add(Integer.parseInt(link.getFileName().toString()));
                }
            }
        }
        return found;
    }

    private static boolean isOpenOn(Path link, Predicate<String> wanted) {
        try {
            return wanted.test(Files.readSymbolicLink(link).toString());
        } catch (IOException e) {
            return false;
        }
    }
}
