package io.gds4j.compat;

import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import java.util.Set;

/**
 * What decides how a file is served.
 *
 * @param block a block device
 * @param alignment bytes to which direct requests are cut; 0 if the file system says that it has no direct I/O
 * @param memoryAlignment bytes to which memory of direct requests is aligned
 * @param network on a network file system, where direct and buffered requests must not be mixed
 * @param local on a file system whose page cache is never older than the file
 * @param inMemory on a file system whose only copy is the page cache
 */
record FileTraits(
        boolean block, long alignment, long memoryAlignment, boolean network, boolean local, boolean inMemory) {

    private static final long PAGE = 4096;
    private static final long LARGEST_BLOCK = 65536;

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
    private static final Set<Long> LOCAL =
            Set.of(PosixConstants.EXT4_MAGIC, PosixConstants.XFS_MAGIC, PosixConstants.BTRFS_MAGIC);
    private static final Set<Long> IN_MEMORY =
            Set.of(PosixConstants.TMPFS_MAGIC, 0x858458F6L, PosixConstants.HUGETLBFS_MAGIC);

    static FileTraits of(StatxResult status, long magic) {
        boolean inMemory = IN_MEMORY.contains(magic & 0xFFFFFFFFL);
        boolean known = (status.mask() & StatxResult.MASK_DIRECT_ALIGNMENT) != 0;
        long alignment = 0;
        long memoryAlignment = PAGE;
        // In-memory file systems may accept O_DIRECT, but there is nothing behind the page cache.
        if (!inMemory && (!known || status.directOffsetAlignment() > 0)) {
            alignment = Math.max(PAGE, status.directOffsetAlignment());
            long block = status.blockSize();
            if (Long.bitCount(block) == 1 && block <= LARGEST_BLOCK) {
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
                NETWORK.contains(magic & 0xFFFFFFFFL),
                LOCAL.contains(magic & 0xFFFFFFFFL) && !status.isBlockDevice(),
                inMemory);
    }

    boolean allowsDirect() {
        return alignment > 0;
    }
}
