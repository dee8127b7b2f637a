package io.gds4j.ffi.posix;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code struct statx} of {@code linux/stat.h}, the same on all architectures. */
final class StatxBuffer {
    private static final int MASK_BIRTH = 0x800;
    /** STATX_BASIC_STATS, STATX_BTIME, STATX_DIOALIGN and STATX_DIO_READ_ALIGN. */
    static final int REQUESTED = 0x7ff | MASK_BIRTH | StatxResult.MASK_DIRECT_ALIGNMENT | 0x20000;

    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("stx_mask"),
            ValueLayout.JAVA_INT.withName("stx_blksize"),
            ValueLayout.JAVA_LONG.withName("stx_attributes"),
            ValueLayout.JAVA_INT.withName("stx_nlink"),
            ValueLayout.JAVA_INT.withName("stx_uid"),
            ValueLayout.JAVA_INT.withName("stx_gid"),
            ValueLayout.JAVA_SHORT.withName("stx_mode"),
            MemoryLayout.paddingLayout(2),
            ValueLayout.JAVA_LONG.withName("stx_ino"),
            ValueLayout.JAVA_LONG.withName("stx_size"),
            ValueLayout.JAVA_LONG.withName("stx_blocks"),
            ValueLayout.JAVA_LONG.withName("stx_attributes_mask"),
            timestamp("stx_atime"),
            timestamp("stx_btime"),
            timestamp("stx_ctime"),
            timestamp("stx_mtime"),
            ValueLayout.JAVA_INT.withName("stx_rdev_major"),
            ValueLayout.JAVA_INT.withName("stx_rdev_minor"),
            ValueLayout.JAVA_INT.withName("stx_dev_major"),
            ValueLayout.JAVA_INT.withName("stx_dev_minor"),
            ValueLayout.JAVA_LONG.withName("stx_mnt_id"),
            ValueLayout.JAVA_INT.withName("stx_dio_mem_align"),
            ValueLayout.JAVA_INT.withName("stx_dio_offset_align"),
            ValueLayout.JAVA_LONG.withName("stx_subvol"),
            ValueLayout.JAVA_INT.withName("stx_atomic_write_unit_min"),
            ValueLayout.JAVA_INT.withName("stx_atomic_write_unit_max"),
            ValueLayout.JAVA_INT.withName("stx_atomic_write_segments_max"),
            ValueLayout.JAVA_INT.withName("stx_dio_read_offset_align"),
            MemoryLayout.paddingLayout(72));

    private static final VarHandle MASK = field("stx_mask");
    private static final VarHandle BLOCK_SIZE = field("stx_blksize");
    private static final VarHandle ATTRIBUTES = field("stx_attributes");
    private static final VarHandle MODE = field("stx_mode");
    private static final VarHandle INODE = field("stx_ino");
    private static final VarHandle SIZE = field("stx_size");
    private static final VarHandle RDEV_MAJOR = field("stx_rdev_major");
    private static final VarHandle RDEV_MINOR = field("stx_rdev_minor");
    private static final VarHandle DEV_MAJOR = field("stx_dev_major");
    private static final VarHandle DEV_MINOR = field("stx_dev_minor");
    private static final VarHandle DIO_MEM_ALIGN = field("stx_dio_mem_align");
    private static final VarHandle DIO_OFFSET_ALIGN = field("stx_dio_offset_align");
    private static final VarHandle DIO_READ_OFFSET_ALIGN = field("stx_dio_read_offset_align");
    private static final VarHandle MTIME_SECONDS = field("stx_mtime", "tv_sec");
    private static final VarHandle MTIME_NANOS = field("stx_mtime", "tv_nsec");

    private static final VarHandle LINKS = field("stx_nlink");
    private static final VarHandle USER = field("stx_uid");
    private static final VarHandle BIRTH_SECONDS = field("stx_btime", "tv_sec");
    private static final VarHandle BIRTH_NANOS = field("stx_btime", "tv_nsec");
    private static final long NANOS = 1_000_000_000;

    private StatxBuffer() {
    }

    /** Returns the result that the kernel wrote into {@code buffer}. */
    static StatxResult read(MemorySegment buffer) {
        int mask = (int) MASK.get(buffer, 0L);
        long birth = (long) BIRTH_SECONDS.get(buffer, 0L) * NANOS + (int) BIRTH_NANOS.get(buffer, 0L);
        return new StatxResult(
                0,
                mask,
                Short.toUnsignedInt((short) MODE.get(buffer, 0L)),
                (long) SIZE.get(buffer, 0L),
                (int) BLOCK_SIZE.get(buffer, 0L),
                (int) DEV_MAJOR.get(buffer, 0L),
                (int) DEV_MINOR.get(buffer, 0L),
                (int) RDEV_MAJOR.get(buffer, 0L),
                (int) RDEV_MINOR.get(buffer, 0L),
                (long) INODE.get(buffer, 0L),
                (long) ATTRIBUTES.get(buffer, 0L),
                (int) DIO_MEM_ALIGN.get(buffer, 0L),
                (int) DIO_OFFSET_ALIGN.get(buffer, 0L),
                (int) DIO_READ_OFFSET_ALIGN.get(buffer, 0L),
                (long) MTIME_SECONDS.get(buffer, 0L),
                (int) MTIME_NANOS.get(buffer, 0L),
                (int) LINKS.get(buffer, 0L),
                (int) USER.get(buffer, 0L),
                (mask & MASK_BIRTH) == 0 ? 0 : birth);
    }

    private static MemoryLayout timestamp(String name) {
        return MemoryLayout.structLayout(
                ValueLayout.JAVA_LONG.withName("tv_sec"),
                ValueLayout.JAVA_INT.withName("tv_nsec"),
                MemoryLayout.paddingLayout(4))
                .withName(name);
    }

    private static VarHandle field(String... path) {
        PathElement[] elements = new PathElement[path.length];
        for (int i = 0; i < path.length; i++) {
            elements[i] = PathElement.groupElement(path[i]);
        }
        return LAYOUT.varHandle(elements);
    }
}
