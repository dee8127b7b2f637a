package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.MemoryUsage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The memory of the GPUs of a {@link FakeGpu}, and the host memory that it allocated or pinned. GPU memory has addresses that no
 * host memory has and that are never used twice; automatic arenas hold its bytes. Thread-safe.
 */
final class FakeMemory {
    /** First address of GPU 0, and the distance to the next GPU; above all addresses of a process. */
    private static final long GPU_ADDRESSES = 1L << 56;

    private static final long ALIGNMENT = 512;

    /** Unused addresses behind an allocation: a pointer past its end belongs to no other one. */
    private static final long GAP = 1 << 16;

    /** Freed allocations that are remembered, to name them if they are used. */
    private static final int REMEMBERED = 1000;

    private static final byte FRESH = (byte) 0xC5;
    private static final byte FREED = (byte) 0xDD;
    private static final MemoryUsage NOTHING = new MemoryUsage(0, 0, 0, 0);

    private final long bytesPerDevice;
    private final long[] used;
    private final long[] next;
    private final TreeMap<Long, Region> regions = new TreeMap<>();
    private final Deque<Long> freed = new ArrayDeque<>();
    private final Map<MemoryKind, MemoryUsage> usage = new EnumMap<>(MemoryKind.class);
    private final FakeMisuse misuse;
    private long ids;

    /** An allocation. */
    static final class Region {
        private final long address;
        private final long addresses;
        private final MemoryKind kind;
        private final int device;
        private final long id;
        private final CallSite place = new CallSite();
        private long length;
        private @Nullable MemorySegment bytes;
        private @Nullable CallSite freed;

        private Region(long address, long addresses, long length, MemoryKind kind, int device, long id) {
            this.address = address;
            this.addresses = addresses;
            this.length = length;
            this.kind = kind;
            this.device = device;
            this.id = id;
        }

        long address() {
            return address;
        }

        long length() {
            return length;
        }

        private String what() {
            return "%s bytes of %s at 0x%x%s"
                    .formatted(length, kind, address, device < 0 ? "" : " on GPU " + device);
        }

        private boolean contains(long where) {
            return where - address < addresses || where == address;
        }
    }

    FakeMemory(int devices, long bytesPerDevice, FakeMisuse misuse) {
        this.bytesPerDevice = bytesPerDevice;
        this.used = new long[devices];
        this.next = new long[devices];
        this.misuse = misuse;
        for (int device = 0; device < devices; device++) {
            next[device] = (device + 1) * GPU_ADDRESSES;
        }
    }

    int devices() {
        return used.length;
    }

    /** {@return bytes that a GPU has left} */
    synchronized long available(int device, String function) {
        checkDevice(device, function);
        return bytesPerDevice - used[device];
    }

    void checkDevice(int device, String function) {
        if (device < 0 || device >= used.length) {
            throw CuFileException.of(
                    CuFileError.DEVICE_NOT_FOUND,
                    function,
                    "there is no GPU %s, the fake has %s".formatted(device, used.length));
        }
    }

    /** Allocates GPU memory with content that is not zero. */
    Region allocate(MemoryKind kind, long size, int device, String function) {
        return reserve(kind, size, size, device, function);
    }

    /**
     * Allocates GPU memory with room to grow.
     *
     * @param addresses bytes of addresses, {@code size} or more
     */
    synchronized Region reserve(MemoryKind kind, long size, long addresses, int device, String function) {
        checkDevice(device, function);
        long end = (device + 2) * GPU_ADDRESSES;
        if (addresses > end - next[device] - 2 * GAP) {
            throw outOfMemory(addresses, device, function);
        }
        take(size, device, function);
        return Undo.ifFails(() -> used[device] -= size, () -> {
            Region region = new Region(next[device], addresses, size, kind, device, ++ids);
            region.bytes = bytes(size, device, function);
            next[device] = (next[device] + addresses + GAP + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
            add(region);
            return region;
        });
    }

    /** Makes GPU memory larger; its content and address stay. */
    synchronized void grow(Region region, long length, String function) {
        MemorySegment old = live(region, function);
        take(length - region.length, region.device, function);
        Undo.ifFails(() -> used[region.device] -= length - region.length, () -> {
            MemorySegment larger = bytes(length, region.device, function);
            MemorySegment.copy(old, 0, larger, 0, old.byteSize());
            count(region, -1);
            region.length = length;
            region.bytes = larger;
            count(region, 1);
        });
    }

    private void take(long bytes, int device, String function) {
        if (bytes > bytesPerDevice - used[device]) {
            throw outOfMemory(bytes, device, function);
        }
        used[device] += bytes;
    }

    private CuFileException outOfMemory(long bytes, int device, String function) {
        return CuFileException.of(
                CuFileError.NOMEM_ERROR,
                function,
                "%s bytes on GPU %s, which has %s of %s bytes left"
                        .formatted(bytes, device, bytesPerDevice - used[device], bytesPerDevice));
    }

    private static MemorySegment bytes(long size, int device, String function) {
        try {
            return Arena.ofAuto().allocate(size, ALIGNMENT).fill(FRESH);
        } catch (OutOfMemoryError | IllegalArgumentException e) {
            throw CuFileException.builder(function)
                    .error(CuFileError.NOMEM_ERROR)
                    .detail("the JVM has no room for %s bytes of the fake GPU %s".formatted(size, device))
                    .cause(e)
                    .build();
        }
    }

    /** Adds host memory that was allocated or pinned. */
    synchronized Region addHost(MemoryRange range) {
        Region region = new Region(
                range.address(), range.length(), range.length(), range.kind(), MemoryRange.NO_DEVICE, ++ids);
        add(region);
        return region;
    }

    private void add(Region region) {
        regions.put(region.address, region);
        count(region, 1);
    }

    /** Frees memory; once. */
    synchronized void free(Region region) {
        count(region, -1);
        MemorySegment bytes = region.bytes;
        if (bytes == null) {
            regions.remove(region.address);
            return;
        }
        bytes.fill(FREED);
        region.bytes = null;
        region.freed = new CallSite();
        used[region.device] -= region.length;
        freed.add(region.address);
        if (freed.size() > REMEMBERED) {
            regions.remove(freed.remove());
        }
    }

    private void count(Region region, int sign) {
        MemoryUsage now = usage.getOrDefault(region.kind, NOTHING);
        long held = now.bytes() + sign * region.length;
        usage.put(region.kind, new MemoryUsage(
                now.allocations() + sign,
                held,
                Math.max(held, now.peakBytes()),
                now.allBytes() + Math.max(0, sign * region.length)));
    }

    synchronized Map<MemoryKind, MemoryUsage> usage() {
        return Map.copyOf(usage);
    }

    /** {@return whether host memory overlaps memory that is allocated or pinned here} */
    synchronized boolean overlapsHost(MemoryRange range) {
        Map.Entry<Long, Region> before = regions.lowerEntry(range.address() + range.length());
        return before != null && before.getValue().contains(range.address())
                || before != null && before.getKey() >= range.address();
    }

    /** {@return whether the owner of this range was allocated here} */
    synchronized boolean owns(MemoryRange range) {
        return find(range.address()).isPresent();
    }

    private Optional<Region> find(long address) {
        Map.Entry<Long, Region> floor = regions.floorEntry(address);
        return Optional.ofNullable(floor).map(Map.Entry::getValue).filter(region -> region.contains(address));
    }

    /**
     * Returns the bytes of GPU memory.
     *
     * @throws CuFileException CUDA_POINTER_INVALID for memory that was freed or never allocated, CUDA_POINTER_RANGE_ERROR past the
     *         end of an allocation
     */
    synchronized MemorySegment bytes(MemoryRange range, String function) {
        Region region = find(range.address()).orElseThrow(() -> wrong(
                CuFileError.CUDA_POINTER_INVALID, function,
                "0x%x is not memory of this fake GPU".formatted(range.address())));
        MemorySegment bytes = live(region, function);
        long offset = range.address() - region.address;
        if (offset > region.length || range.length() > region.length - offset) {
            throw wrong(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    function,
                    "%s bytes at 0x%x reach past the end of %s"
                            .formatted(range.length(), range.address(),
                                    region.place.describe(region.what() + ", allocated")));
        }
        return bytes.asSlice(offset, range.length());
    }

    private MemorySegment live(Region region, String function) {
        MemorySegment bytes = region.bytes;
        if (bytes == null) {
            CallSite end = region.freed;
            throw wrong(
                    CuFileError.CUDA_POINTER_INVALID,
                    function,
                    "use after free of %s%s".formatted(
                            region.place.describe(region.what() + ", allocated"),
                            end == null ? "" : end.describe("\n    freed")));
        }
        return bytes;
    }

    /** Records what a program did wrong, and returns the exception. */
    private CuFileException wrong(CuFileError error, String function, String detail) {
        misuse.add(function + ": " + detail);
        return CuFileException.of(error, function, detail);
    }

    /** Returns a range of an address that a program names; host memory if the address is not of this fake. */
    synchronized MemoryRange wrap(long address, long length, String function) {
        Region region = find(address).filter(found -> found.freed == null).orElse(null);
        if (region == null) {
            return MemoryRange.ofAddress(address, length, MemoryKind.HOST);
        }
        if (length < 0 || length > region.length - (address - region.address)) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    function,
                    "%s bytes at 0x%x reach past %s".formatted(length, address, region.what()));
        }
        return MemoryRange.ofAddress(address, length, region.kind, region.device);
    }

    /** Returns the tag of memory of a kind that has reliable ids. */
    synchronized Optional<AllocationTag> tag(long address) {
        return find(address)
                .filter(region -> region.freed == null
                        && (region.kind == MemoryKind.CUDA_DEVICE || region.kind == MemoryKind.CUDA_POOL))
                .map(region -> new AllocationTag(region.address, region.length, region.id));
    }

    /** {@return memory that is allocated or pinned, and where that was done} */
    synchronized List<String> alive() {
        List<String> open = new ArrayList<>();
        for (Region region : regions.values()) {
            if (region.freed == null) {
                open.add(region.place.describe("memory was not freed: " + region.what() + ", allocated"));
            }
        }
        return open;
    }
}
