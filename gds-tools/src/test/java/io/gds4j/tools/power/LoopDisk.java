package io.gds4j.tools.power;

import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixConstants;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A disk in memory that is written again for each cut, and mounted by a loop device that stays. Calls mount(2) itself: a process
 * for each mount takes longer than the check.
 */
final class LoopDisk implements AutoCloseable {
    private static final int CHUNK = 64 << 10;
    private static final MethodHandle MOUNT = function("mount", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
    private static final MethodHandle UNMOUNT = function("umount2",
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));

    private static final MethodHandle SEEK = function("lseek", FunctionDescriptor.of(ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    private static final int SEEK_DATA = 3;
    private static final int SEEK_HOLE = 4;
    private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[CHUNK]);

    private final Path folder;
    private final Path image;
    private final Path point;
    private final int fd;
    /** The bytes of the image, which the loop device shares. */
    private final MemorySegment disk;
    private final String device;
    /** What is durable, by number of the chunk; zeros where there is none. */
    private final Map<Long, MemorySegment> durable = new HashMap<>();
    /** Numbers of the chunks that may hold other bytes than zeros. */
    private final SortedSet<Long> written = new TreeSet<>();

    LoopDisk(long size) throws IOException {
        this.folder = Files.createTempDirectory(Path.of("/dev/shm"), "power");
        this.image = folder.resolve("image");
        this.point = Files.createDirectory(folder.resolve("mounted"));
        try (FileChannel channel = FileChannel.open(
                image, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            this.disk = channel.map(FileChannel.MapMode.READ_WRITE, 0, size, Arena.ofAuto());
        }
        this.fd = FfmPosix.instance().open(image.toString(), PosixConstants.O_RDONLY, 0);
        this.device = Shell.run("losetup", "--find", "--show", image.toString()).strip();
    }

    private static MethodHandle function(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
    }

    Path point() {
        return point;
    }

    /** Adds a write to what is durable. */
    void add(WriteLog.Entry write) {
        for (long done = 0; done < write.length();) {
            long at = write.offset() + done;
            long within = at % CHUNK;
            long count = Math.min(CHUNK - within, write.length() - done);
            long number = at / CHUNK;
            if (!write.isDiscard()) {
                durable.computeIfAbsent(number, missing -> MemorySegment.ofArray(new byte[CHUNK]))
                        .asSlice(within, count).copyFrom(write.data().asSlice(done, count));
            } else if (durable.containsKey(number)) {
                // no chunks for what mkfs discards, which is the whole disk
                durable.get(number).asSlice(within, count).fill((byte) 0);
            }
            done += count;
        }
    }

    /** Makes the disk hold what is durable: undoes what the file system has written since the last time. */
    void reset() {
        findWritten();
        written.addAll(durable.keySet());
        for (long number : written) {
            MemorySegment chunk = disk.asSlice(number * CHUNK, CHUNK);
            MemorySegment wanted = durable.getOrDefault(number, ZEROS);
            if (chunk.mismatch(wanted) >= 0) {
                chunk.copyFrom(wanted);
            }
        }
    }

    /** Notes the chunks that are no holes of the file. */
    private void findWritten() {
        try {
            for (long at = (long) SEEK.invokeExact(fd, 0L, SEEK_DATA); at >= 0; at =
                    (long) SEEK.invokeExact(fd, at, SEEK_DATA)) {
                long end = (long) SEEK.invokeExact(fd, at, SEEK_HOLE);
                for (; at < end; at = (at / CHUNK + 1) * CHUNK) {
                    written.add(at / CHUNK);
                }
            }
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Writes the first bytes of a write to the disk. */
    void write(WriteLog.Entry write, long bytes) {
        MemorySegment to = disk.asSlice(write.offset(), bytes);
        if (write.isDiscard()) {
            to.fill((byte) 0);
        } else {
            to.copyFrom(write.data().asSlice(0, bytes));
        }
    }

    /** What is checked on a mounted disk. */
    interface Check {
        void run() throws Exception;
    }

    /** Mounts the disk and checks it; returns what is broken in one line, empty if nothing is. */
    String check(Recording recording, Check check) throws IOException {
        try {
            // another program may have mounted another cut of this log
            mount(recording.type(), recording.type().equals("xfs") ? "nouuid" : recording.options());
        } catch (IOException e) {
            return "mount: " + e.getMessage();
        }
        try {
            check.run();
            return "";
        } catch (Exception | AssertionError e) {
            return e.toString().replaceAll("\\s+", " ");
        } finally {
            unmount();
        }
    }

    /** Makes the disk a copy of a file. */
    void copy(Path from) throws IOException {
        Shell.run("cp", "--sparse=always", from.toString(), image.toString());
    }

    /** Mounts the disk, which makes the file system recover. */
    private void mount(String type, String options) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            int result =
                    (int) MOUNT.invokeExact(text(arena, device), text(arena, point.toString()), text(arena, type), 0L,
                            text(arena, options));
            if (result != 0) {
                Shell.run("mount", "-t", type, "-o", options.isEmpty() ? "rw" : options, device, point.toString());
            }
        } catch (IOException e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private void unmount() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            if ((int) UNMOUNT.invokeExact(text(arena, point.toString()), 0) != 0) {
                Shell.run("umount", point.toString());
            }
        } catch (IOException e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MemorySegment text(Arena arena, String text) {
        return arena.allocateFrom(text, StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
        Shell.run("losetup", "--detach", device);
        FfmPosix.instance().close(fd);
        Files.delete(image);
        Files.delete(point);
        Files.delete(folder);
    }
}
