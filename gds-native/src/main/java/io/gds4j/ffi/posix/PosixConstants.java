package io.gds4j.ffi.posix;

/** Constants of Linux headers, for the architecture of this machine. */
public final class PosixConstants {
    private static final boolean AARCH64 = System.getProperty("os.arch").equals("aarch64");

    public static final int O_RDONLY = 0;
    public static final int O_WRONLY = 1;
    public static final int O_RDWR = 2;
    public static final int SEEK_END = 2;
    /** Mask of the access mode. */
    public static final int O_ACCMODE = 3;
    public static final int O_CREAT = 0x40;
    public static final int O_EXCL = 0x80;
    public static final int O_TRUNC = 0x200;
    public static final int O_APPEND = 0x400;
    public static final int O_NONBLOCK = 0x800;
    public static final int O_DSYNC = 0x1000;
    /** Includes the bit of O_DSYNC. */
    public static final int O_SYNC = 0x101000;
    public static final int O_DIRECT = AARCH64 ? 0x10000 : 0x4000;
    public static final int O_NOFOLLOW = AARCH64 ? 0x8000 : 0x20000;
    public static final int O_CLOEXEC = 0x80000;
    public static final int O_PATH = 0x200000;

    public static final int F_GETFD = 1;
    public static final int F_GETFL = 3;
    public static final int F_DUPFD_CLOEXEC = 1030;
    public static final int F_OFD_GETLK = 36;
    public static final int F_OFD_SETLK = 37;
    public static final short F_WRLCK = 1;
    public static final short F_UNLCK = 2;

    public static final int PROT_READ = 1;
    public static final int PROT_WRITE = 2;
    public static final int MAP_SHARED = 1;
    public static final int MAP_PRIVATE = 2;
    public static final int MAP_ANONYMOUS = 0x20;
    public static final int MAP_HUGETLB = 0x40000;
    public static final int MAP_NORESERVE = 0x4000;
    public static final int MAP_POPULATE = 0x8000;
    public static final int MADV_RANDOM = 1;
    public static final int MADV_DONTNEED = 4;
    public static final int MADV_HUGEPAGE = 14;
    public static final int MADV_POPULATE_READ = 22;
    public static final int MADV_POPULATE_WRITE = 23;

    public static final int POSIX_FADV_NORMAL = 0;
    public static final int POSIX_FADV_RANDOM = 1;
    public static final int POSIX_FADV_SEQUENTIAL = 2;
    public static final int POSIX_FADV_WILLNEED = 3;
    public static final int POSIX_FADV_DONTNEED = 4;

    public static final int RWF_NOWAIT = 8;
    public static final int RWF_DONTCACHE = 0x80;

    /** Most bytes that one read or write call moves. */
    public static final long MAX_RW_COUNT = 0x7ffff000L;

    public static final long TMPFS_MAGIC = 0x01021994L;
    public static final long EXT4_MAGIC = 0xEF53L;
    public static final long XFS_MAGIC = 0x58465342L;
    public static final long BTRFS_MAGIC = 0x9123683EL;
    public static final long OVERLAYFS_MAGIC = 0x794c7630L;
    public static final long NFS_MAGIC = 0x6969L;
    public static final long FUSE_MAGIC = 0x65735546L;
    public static final long HUGETLBFS_MAGIC = 0x958458f6L;

    private PosixConstants() {
    }
}
