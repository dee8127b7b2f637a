package io.gds4j.compat.file;

import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.Pages;
import java.util.Set;

/**
 * Properties of a file that decide how it is served.
 *
 * @param block whether it is a block device
 * @param alignment alignment of direct requests in the file, bytes; 0 if the file system says that it has no direct I/O
 * @param memoryAlignment alignment of direct requests in memory, bytes
 * @param network whether it is on a network file system, where direct and buffered requests must not be mixed
 * @param local whether it is on a file system whose page cache is never older than the file
 * @param inMemory whether it is on a file system that has nothing behind the page cache
 */
public record FileTraits(
        boolean block, long alignment, long memoryAlignment, boolean network, boolean local, boolean inMemory) {

    /** Largest {@code st_blksize} in bytes that is taken for a block: network file systems report larger hints. */
    private static final long MAX_BLOCK = 65536;

    /** Magic numbers of nfs, smb2, cifs, fuse, lustre, ceph, gpfs, 9p, afs, orangefs, beegfs. */
    private static final Set<Long> NETWORK = Set.of(
            PosixConstants.NFS_MAGIC,
            0xFE534D42L,
            0xFF534D42L,
            PosixConstants.FUSE_MAGIC,
            0x0BD00BD0L,
            0x00C36400L,
            0x47504653L,
            0x01021997L,
            0x5346414FL,
            0x20030528L,
            0x19830326L);

    /** Magic numbers of ext4, xfs, btrfs. */
    private static final Set<Long> LOCAL =
            Set.of(PosixConstants.EXT4_MAGIC, PosixConstants.XFS_MAGIC, PosixConstants.BTRFS_MAGIC);

    /** Magic numbers of tmpfs, ramfs, hugetlbfs. */
    private static final Set<Long> IN_MEMORY =
            Set.of(PosixConstants.TMPFS_MAGIC, 0x858458F6L, PosixConstants.HUGETLBFS_MAGIC);

    /**
     * Derives the traits of an open file.
     *
     * @param magic the file system's magic number, 0 if unknown
     */
    static FileTraits of(StatxResult status, long magic) {
        // The file system of a device's node says nothing about the device: /dev is a tmpfs.
        boolean inMemory = IN_MEMORY.contains(magic & 0xFFFFFFFFL) && !status.isBlockDevice();
        boolean known = (status.mask() & StatxResult.MASK_DIRECT_ALIGNMENT) != 0;
        long alignment = 0;
        long memoryAlignment = Pages.SIZE;
        // In-memory file systems may accept O_DIRECT, but there is nothing behind the page cache.
        if (!inMemory && (!known || status.directOffsetAlignment() > 0)) {
            alignment = Math.max(Pages.SIZE, status.directOffsetAlignment());
            long block = status.blockSize();
            if (Long.bitCount(block) == 1 && block <= MAX_BLOCK) {
                alignment = Math.max(alignment, block);
            }
            if (status.directMemoryAlignment() > 0) {
                memoryAlignment = status.directMemoryAlignment();
            }
        }
        return new FileTraits(
                status.isBlockDevice(),
                alignment,
                memoryAlignment,
                NETWORK.contains(magic & 0xFFFFFFFFL) && !status.isBlockDevice(),
                LOCAL.contains(magic & 0xFFFFFFFFL) && !status.isBlockDevice(),
                inMemory);
    }

    public boolean allowsDirect() {
        return alignment > 0;
    }
}
