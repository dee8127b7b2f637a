package io.gds4j.ffi.cuda;

import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.internal.file.Pages;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Memory that holds garbage, to expose code that expects zeroes. A large block maps one small file privately, over and over. The kernel
 * then makes only the pages that a test writes, which are few.
 */
final class FakeGarbage {
    private static final byte VALUE = (byte) 0xCD;
    /** Small, because tests limit the sizes of files. */
    private static final long TILE_BYTES = 256 << 10;
    /** Smaller blocks cost less to fill than to map. */
    private static final long MIN_MAPPED = 1 << 20;
    private static final int ACCESS = PosixConstants.PROT_READ | PosixConstants.PROT_WRITE;
    private static final int MAP_FIXED = 0x10;

    private static final Posix LIBC = FfmPosix.instance();
    private static final int TILE = tile();

    private FakeGarbage() {
    }

    /** Opens the file now: a test that counts descriptors may begin next. */
    static void prepare() {
        // the class is initialized
    }

    /** Makes the file, which has no name and is gone when the process ends. */
    private static int tile() {
        try (Arena arena = Arena.ofConfined()) {
            Path path = Files.createTempFile("garbage", null);
            int fd = LIBC.open(path.toString(), PosixConstants.O_RDWR, 0);
            Files.delete(path);
            MemorySegment bytes = arena.allocate(TILE_BYTES).fill(VALUE);
            if (LIBC.pwrite(fd, bytes, 0, TILE_BYTES, 0) != TILE_BYTES) {
                throw new IOException(path + " cannot be written");
            }
            return fd;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static MemorySegment allocate(Arena arena, long bytes, long alignment) {
        if (bytes < MIN_MAPPED) {
            return arena.allocate(bytes, alignment).fill(VALUE);
        }
        long length = Pages.up(bytes + alignment);
        int reserved = PosixConstants.MAP_PRIVATE | PosixConstants.MAP_ANONYMOUS | PosixConstants.MAP_NORESERVE;
        long start = map(0, length, reserved, -1);
        for (long at = 0; at < length; at += TILE_BYTES) {
            map(start + at, Math.min(TILE_BYTES, length - at), PosixConstants.MAP_PRIVATE | MAP_FIXED, TILE);
        }
        long first = Pages.up(start, alignment);
        return MemorySegment.ofAddress(start).reinterpret(length, arena, all -> LIBC.munmap(start, length))
                .asSlice(first - start, bytes);
    }

    private static long map(long address, long length, int flags, int fd) {
        long mapped = LIBC.mmap(address, length, ACCESS, flags, fd, 0);
        if (mapped < 0) {
            throw new OutOfMemoryError("mmap of %s bytes: errno %s".formatted(length, -mapped));
        }
        return mapped;
    }
}
