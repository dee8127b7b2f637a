package io.gds4j.engine.memory;

import static io.gds4j.ffi.posix.PosixConstants.MADV_HUGEPAGE;
import static io.gds4j.ffi.posix.PosixConstants.MADV_POPULATE_WRITE;
import static io.gds4j.ffi.posix.PosixConstants.MAP_ANONYMOUS;
import static io.gds4j.ffi.posix.PosixConstants.MAP_HUGETLB;
import static io.gds4j.ffi.posix.PosixConstants.MAP_PRIVATE;
import static io.gds4j.ffi.posix.PosixConstants.PROT_READ;
import static io.gds4j.ffi.posix.PosixConstants.PROT_WRITE;

import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.memory.HostPages;
import java.lang.foreign.MemorySegment;

/**
 * Anonymous private memory from {@code mmap}: page-aligned, zero. For I/O buffers the first touch costs more than the copy
 * that causes it (4.6 GB/s into base pages, 14 GB/s into huge ones, two threads), hence huge pages wherever they fit;
 * touching them beforehand gains nothing.
 *
 * @param address first byte that the caller may use
 * @param length bytes that the caller asked for
 * @param mapped bytes to unmap, from {@code address} on
 * @param pages what stands behind it
 */
public record HostMapping(long address, long length, long mapped, HostPages pages) {

    /** Bytes of a huge page on x86-64, and on aarch64 with 4 KiB base pages. */
    public static final long HUGE_PAGE = 2L << 20;

    private static final String FUNCTION = "MemoryAllocator.allocate";

    /**
     * Ordinary host memory: in transparent huge pages, and aligned to them, from 2 MiB on.
     *
     * @throws io.gds4j.error.CuFileException NOMEM_ERROR when the kernel grants no such mapping
     */
    public static HostMapping map(Posix posix, long length) {
        if (length >= HUGE_PAGE) {
            return transparentHuge(posix, length);
        }
        long mapped = roundUp(length, posix.pageSize());
        return new HostMapping(anonymous(posix, mapped, 0, length), length, mapped, HostPages.BASE);
    }

    /**
     * Host memory on a 2 MiB boundary: reserved huge pages if the system has enough of them, else transparent ones.
     *
     * @throws io.gds4j.error.CuFileException NOMEM_ERROR when the kernel grants no such mapping
     */
    public static HostMapping mapHuge(Posix posix, long length) {
        long mapped = roundUp(length, HUGE_PAGE);
        if (mapped > 0) {
            long address = posix.mmap(
                    0, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
            if (address > 0) {
                // A cgroup limit on huge pages shows at the first touch, as a SIGBUS; asked for here it is an error.
                if (address % HUGE_PAGE == 0 && posix.madvise(address, mapped, MADV_POPULATE_WRITE) == 0) {
                    return new HostMapping(address, length, mapped, HostPages.HUGETLB);
                }
                posix.munmap(address, mapped);
            }
        }
        return transparentHuge(posix, length);
    }

    /** A view without bounds in time: valid until {@link #unmap}. */
    public MemorySegment view() {
        return HostMemoryViews.ofAddress(address, length);
    }

    /** Gives the memory back; once. */
    public void unmap(Posix posix) {
        int result = posix.munmap(address, mapped);
        if (result < 0) {
            throw PosixErrors.failure("MemoryAllocation.close", "munmap", result).build();
        }
    }

    private static HostMapping transparentHuge(Posix posix, long length) {
        long mapped = roundUp(length, posix.pageSize());
        long raw = anonymous(posix, mapped, HUGE_PAGE, length);
        long address = roundUp(raw, HUGE_PAGE);
        if (address > raw) {
            posix.munmap(raw, address - raw);
        }
        if (address < raw + HUGE_PAGE) {
            posix.munmap(address + mapped, raw + HUGE_PAGE - address);
        }
        boolean advised = posix.madvise(address, mapped, MADV_HUGEPAGE) == 0;
        return new HostMapping(address, length, mapped, advised ? HostPages.TRANSPARENT_HUGE : HostPages.BASE);
    }

    private static long anonymous(Posix posix, long mapped, long slack, long length) {
        long bytes = mapped + slack;
        // What wrapped around is refused by the kernel in the same way as any other length beyond the address space.
        long address = posix.mmap(
                0,
                mapped <= 0 || bytes <= 0 ? Long.MAX_VALUE : bytes,
                PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS,
                -1,
                0);
        if (address < 0) {
            throw PosixErrors.failure(FUNCTION, "mmap", address).range(-1, length).build();
        }
        return address;
    }

    private static long roundUp(long bytes, long unit) {
        return (bytes + unit - 1) & -unit;
    }
}
