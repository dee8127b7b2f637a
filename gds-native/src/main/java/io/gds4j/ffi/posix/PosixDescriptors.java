package io.gds4j.ffi.posix;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Descriptors;
import io.gds4j.internal.file.FileStatus;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.function.Supplier;

/** Descriptors of libc. */
public final class PosixDescriptors implements Descriptors {
    private static final long MOUNT_POINT = 0x2000;

    /** A class, since a lambda would link itself in the first call of a JVM. */
    private static final class OfProcess implements Supplier<Posix> {
        @Override
        public Posix get() {
            return FfmPosix.instance();
        }
    }

    private final Supplier<Posix> libc;

    /** For the service loader. */
    public PosixDescriptors() {
        this(new OfProcess());
    }

    /** @param libc asked at each call */
    public PosixDescriptors(Supplier<Posix> libc) {
        this.libc = libc;
    }

    @Override
    public boolean isUsable() {
        try {
            libc.get();
            return true;
        } catch (CuFileException e) {
            return false; // no access to libc; the driver will say so if it needs any
        }
    }

    @Override
    public int find(Path path, LinkOption... links) {
        int flags = links.length == 0 ? PosixConstants.O_PATH : PosixConstants.O_PATH | PosixConstants.O_NOFOLLOW;
        return libc.get().open(path.toString(), flags, 0);
    }

    @Override
    public FileStatus status(int descriptor) {
        StatxResult status = libc.get().statx(descriptor);
        return new FileStatus(
                -status.error(), status.mode(), status.user(), status.links(), status.deviceMajor(),
                status.deviceMinor(), status.inode(), (status.attributes() & MOUNT_POINT) != 0, status.size(),
                status.mtimeSeconds(), status.mtimeNanos());
    }

    @Override
    public void close(int descriptor) {
        libc.get().close(descriptor);
    }
}
