package io.gds4j.ffi.posix;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.gds4j.testkit.ChannelDescriptors;
import io.gds4j.testkit.RawDescriptors;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Opens descriptors through libc for the contract suite. */
public final class NativeDescriptors implements RawDescriptors {
    private static final MethodHandle PIPE = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("pipe"),
                    FunctionDescriptor.of(JAVA_INT, ADDRESS));

    private final Posix posix = FfmPosix.instance();
    private final ChannelDescriptors channels = new ChannelDescriptors();
    private final Set<Integer> ofChannels = ConcurrentHashMap.newKeySet();

    @Override
    public int open(Path path, Access access, Flag... flags) {
        int bits = switch (access) {
            case READ -> PosixConstants.O_RDONLY;
            case WRITE -> PosixConstants.O_WRONLY;
            case READ_WRITE -> PosixConstants.O_RDWR;
        };
        for (Flag flag : flags) {
            bits |= switch (flag) {
                case DIRECT -> PosixConstants.O_DIRECT;
                case APPEND -> PosixConstants.O_APPEND;
                case SYNC -> PosixConstants.O_SYNC;
                case DSYNC -> PosixConstants.O_DSYNC;
            };
        }
        return opened("open " + path, posix.open(path.toString(), bits, 0));
    }

    private static int opened(String what, int fd) {
        if (fd < 0) {
            throw new IllegalStateException("%s: errno %d".formatted(what, -fd));
        }
        return fd;
    }

    /** The read end of a pipe; the write end stays open with the process. */
    @Override
    public int pipe() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ends = arena.allocate(JAVA_INT, 2);
            int result = (int) PIPE.invokeExact(ends);
            return opened("pipe", result < 0 ? result : ends.get(JAVA_INT, 0));
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    @Override
    public int socket() {
        int fd = channels.socket();
        ofChannels.add(fd);
        return fd;
    }

    @Override
    public OptionalInt duplicate(int fd) {
        return OptionalInt.of(opened("dup " + fd, posix.fcntl(fd, PosixConstants.F_DUPFD_CLOEXEC, 0)));
    }

    @Override
    public OptionalInt memfd() {
        return OptionalInt.of(opened("memfd_create", posix.memfdCreate("gds4j-test", 0)));
    }

    @Override
    public void close(int fd) {
        if (ofChannels.remove(fd)) {
            channels.close(fd);
        } else {
            posix.close(fd);
        }
    }
}
