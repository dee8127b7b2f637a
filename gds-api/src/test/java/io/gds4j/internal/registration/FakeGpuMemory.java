package io.gds4j.internal.registration;

import io.gds4j.NoMemory;
import io.gds4j.RecordingBackend;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * GPU memory in slots of fixed addresses, their current allocations, and a backend that registers them and records violations
 * of its contract.
 */
final class FakeGpuMemory extends RecordingBackend implements NoMemory {
    static final long SLOT = 16 << 20;

    /** A registration. */
    private record Registered(long length, long id) {
    }

    private final Map<Long, AllocationTag> allocations = new HashMap<>();
    private final Map<Long, Registered> registered = new HashMap<>();
    private final Map<Long, Integer> running = new HashMap<>();
    final List<String> violations = new ArrayList<>();
    long room = Long.MAX_VALUE;
    private long lastId;
    long registrations;

    static long base(int slot) {
        return (slot + 1) * SLOT;
    }

    /** Allocates as another library would: at the same address as before. */
    synchronized MemoryRange allocateForeign(int slot, long length) {
        allocations.put(base(slot), new AllocationTag(base(slot), length, ++lastId));
        return MemoryRange.ofAddress(base(slot), length, MemoryKind.CUDA_DEVICE);
    }

    /** Allocates memory that reports its end. */
    MemoryAllocation allocateOwned(int slot, long length) {
        MemoryRange raw = allocateForeign(slot, length);
        return MemoryAllocation.of(raw, () -> free(slot));
    }

    synchronized void free(int slot) {
        allocations.remove(base(slot));
    }

    synchronized long idAt(long base) {
        AllocationTag tag = allocations.get(base);
        return tag == null ? 0 : tag.id();
    }

    /** Begins I/O that uses this registration. */
    synchronized void beginIo(MemoryRange whole, MemoryRange range) {
        Registered known = registered.get(whole.address());
        if (known == null) {
            violations.add("I/O on " + whole + ", which is not registered");
        } else if (known.id() != idAt(whole.address())) {
            violations.add("I/O on " + whole + ", whose registration is of freed memory");
        } else if (range.address() < whole.address()
                || range.address() + range.length() > whole.address() + known.length()) {
            violations.add("I/O on " + range + " past " + whole);
        }
        running.merge(whole.address(), 1, Integer::sum);
    }

    synchronized void endIo(MemoryRange whole) {
        running.merge(whole.address(), -1, Integer::sum);
    }

    synchronized Map<Long, Long> registeredLengths() {
        Map<Long, Long> lengths = new HashMap<>();
        registered.forEach((base, known) -> lengths.put(base, known.length()));
        return lengths;
    }

    @Override
    public MemoryAllocator allocator() {
        return this;
    }

    @Override
    public synchronized void bufRegisterNow(MemoryRange range, int flags) {
        registrations++;
        if (registered.containsKey(range.address())) {
            throw CuFileException.of(CuFileError.MEMORY_ALREADY_REGISTERED, "cuFileBufRegister", "twice");
        }
        long all = registered.values().stream().mapToLong(Registered::length).sum();
        if (range.length() > room - all) {
            throw CuFileException.of(CuFileError.INVALID_MAPPING_SIZE, "cuFileBufRegister", "no room");
        }
        registered.put(range.address(), new Registered(range.length(), idAt(range.address())));
    }

    @Override
    public synchronized void bufDeregister(MemoryRange range) {
        if (registered.remove(range.address()) == null) {
            violations.add(range + " is deregistered, but is not registered");
        }
        if (running.getOrDefault(range.address(), 0) > 0) {
            violations.add(range + " is deregistered under I/O");
        }
    }

    @Override
    public synchronized Optional<AllocationTag> allocationOf(MemoryRange range) {
        return Optional.ofNullable(allocations.get(range.address() / SLOT * SLOT));
    }

    @Override
    public synchronized boolean isCurrent(AllocationTag tag) {
        return idAt(tag.base()) == tag.id();
    }
}
