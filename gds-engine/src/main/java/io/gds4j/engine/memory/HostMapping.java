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
import io.gds4j.internal.file.Pages;
import io.gds4j.memory.HostPages;
import java.lang.foreign.MemorySegment;

/**
 * Anonymous private memory from {@code mmap}: page-aligned and zero. The first touch of an I/O buffer costs more than the copy that
 * causes it (4.6 GB/s into base pages, 14 GB/s into huge pages, two threads). Hence it has huge pages wherever they fit. Touching
 * them in advance gains nothing.
 *
 * @param address first byte that the caller may use
 * @param length bytes that the caller requested
 * @param mapped bytes to unmap, from {@code address} on
 * @param pages kind of its pages
 */
record HostMapping(long address, long length, long mapped, HostPages pages) {

    /** Bytes of a huge page on x86-64, and on aarch64 with 4 KiB base pages. */
    public static final long HUGE_PAGE = 2L << 20;

    private static final String FUNCTION = "MemoryAllocator.allocate";

    /**
     * Maps ordinary host memory. From 2 MiB on it has transparent huge pages and is aligned to them.
     *
     * @throws io.gds4j.error.CuFileException NOMEM_ERROR when the kernel grants no such mapping
     */
    public static HostMapping map(Posix posix, long length) {
        if (length >= HUGE_PAGE) {
            return transparentHuge(posix, length);
        }
        long mapped = Pages.up(length, posix.pageSize());
        return new HostMapping(anonymous(posix, mapped, 0, length), length, mapped, HostPages.BASE);
    }

    /**
     * Maps host memory on a 2 MiB boundary: reserved huge pages if the system has enough of them, else transparent ones.
     *
     * @throws io.gds4j.error.CuFileException NOMEM_ERROR when the kernel grants no such mapping
     */
    public static HostMapping mapHuge(Posix posix, long length) {
        long mapped = Pages.up(length, HUGE_PAGE);
        if (mapped > 0) {
            long address = posix.mmap(
                    0, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
            if (address > 0) {
                // A cgroup limit on huge pages would be a SIGBUS at the first touch; MADV_POPULATE_WRITE returns an error.
                if (address % HUGE_PAGE == 0 && posix.madvise(address, mapped, MADV_POPULATE_WRITE) == 0) {
                    return new HostMapping(address, length, mapped, HostPages.HUGETLB);
                }
                posix.munmap(address, mapped);
            }
        }
        return transparentHuge(posix, length);
    }

    /** Returns a view that the JVM does not invalidate; it is valid until {@link #unmap}. */
    public MemorySegment view() {
        return HostMemoryViews.ofAddress(address, length);
    }

    /** Unmaps the memory. Called once. */
    public void unmap(Posix posix) {
        int result = posix.munmap(address, mapped);
        if (result < 0) {
            throw PosixErrors.failure("MemoryAllocation.close", "munmap", result).build();
        }
    }

    private static HostMapping transparentHuge(Posix posix, long length) {
        long mapped = Pages.up(length, posix.pageSize());
        long raw = anonymous(posix, mapped, HUGE_PAGE, length);
        long address = Pages.up(raw, HUGE_PAGE);
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
        // A length that wrapped around is refused by the kernel, as is any other beyond the address space.
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
}
