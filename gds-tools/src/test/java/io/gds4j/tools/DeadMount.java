package io.gds4j.tools;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixConstants;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;

/** A mount whose server never answers: each call on a file below it waits until it is closed. Only root can make one. */
final class DeadMount implements AutoCloseable {
    private static final int O_RDWR = 2;
    private static final int MNT_DETACH = 2;

    private final Path folder;
    private final int server;

    private DeadMount(Path folder, int server) {
        this.folder = folder;
        this.server = server;
    }

    /** Mounts on a folder; skips the test where that is not possible. */
    static DeadMount on(Path folder) throws Throwable {
        assumeTrue(Files.isWritable(Path.of("/dev/fuse")), "needs FUSE");
        int server = FfmPosix.instance().open("/dev/fuse", O_RDWR | PosixConstants.O_NONBLOCK, 0);
        boolean mounted = false;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment options = arena.allocateFrom(
                    "fd=%s,rootmode=40000,user_id=0,group_id=0".formatted(server));
            int result = (int) Linker.nativeLinker().downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("mount"),
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS,
                            ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS))
                    .invokeExact(arena.allocateFrom("dead"), arena.allocateFrom(folder.toString()),
                            arena.allocateFrom("fuse"), 0L, options);
            mounted = result == 0;
        } finally {
            if (!mounted) {
                FfmPosix.instance().close(server);
            }
        }
        assumeTrue(mounted, "needs the right to mount");
        return new DeadMount(folder, server);
    }

    /** Returns a file below the mount. */
    Path file(String name) {
        return folder.resolve(name);
    }

    /** Lets all waiting calls fail, and unmounts. */
    @Override
    public void close() throws IOException {
        FfmPosix.instance().close(server);
        try (Arena arena = Arena.ofConfined()) {
            int ignored = (int) Linker.nativeLinker().downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("umount2"),
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT))
                    .invokeExact(arena.allocateFrom(folder.toString()), MNT_DETACH);
        } catch (Throwable e) {
            throw new IOException(e);
        }
    }
}
