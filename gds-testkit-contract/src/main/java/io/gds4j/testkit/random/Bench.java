package io.gds4j.testkit.random;

import io.gds4j.CuFileBuffer;
import io.gds4j.IoResult;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** What the steps of one thread use: its memories, its random numbers and its log. */
final class Bench {
    static final int PAGE = 4096;
    private static final int MEMORIES = 3;

    /** Of a large round: one memory that holds long batches. */
    private static final int MIN_LARGE = 6 << 20;

    /** One of so many checks compares the whole memory, which finds stray writes far away. */
    private static final int WHOLE_CHECKS = 24;

    final Ground ground;
    final SplittableRandom random;
    final RandomSizes sizes;
    final OperationLog log;
    private final List<Memory> memories = new ArrayList<>();

    Bench(Ground ground, long seed, String name) {
        this.ground = ground;
        this.random = new SplittableRandom(seed);
        this.sizes = new RandomSizes(random, ground.piece);
        this.log = new OperationLog(name);
        while (memories.size() < MEMORIES) {
            memories.add(allocate());
        }
    }

    /** Memory and its registration, if any. */
    static final class Memory {
        final GuardedMemory guarded;
        final MemoryKind kind;
        final int length;
        @Nullable
        CuFileBuffer buffer;
        int bufferStart;

        Memory(GuardedMemory guarded, MemoryKind kind, int length) {
            this.guarded = guarded;
            this.kind = kind;
            this.length = length;
        }

        void close() {
            if (buffer != null) {
                buffer.close();
                buffer = null;
            }
            guarded.close();
        }

        @Override
        public String toString() {
            return guarded.toString();
        }
    }

    /**
     * Memory of a request.
     *
     * @param io the memory, its range or its registration
     * @param start first byte of io in the memory
     * @param room bytes of io
     */
    record Target(Memory memory, IoMemory io, int start, int room) {
        MemoryRange range() {
            return memory.guarded.range().slice(start, room);
        }
    }

    private Memory allocate() {
        MemoryKind kind = ground.anyKind(random);
        int length = 1 + sizes.size(ground.largestMemory());
        if (ground.large && memories.isEmpty()) {
            length = random.nextInt(MIN_LARGE, ground.largestMemory());
        }
        int misalignment = random.nextBoolean() ? 0 : random.nextInt(PAGE);
        log.add("memory %s of %s misaligned by %s", kind, length, misalignment);
        return new Memory(
                GuardedMemory.allocate(ground.driver().allocator(), kind, length, misalignment, random.nextLong()),
                kind,
                length);
    }

    /** Frees a memory and allocates another one. */
    void renewMemory() {
        int index = random.nextInt(memories.size());
        Memory memory = memories.remove(index);
        memory.guarded.verify();
        log.add("free %s", memory);
        memory.close();
        memories.add(ground.large ? 0 : index, allocate());
        ground.count(2, 0);
    }

    /** Registers a memory, from a random byte on, or ends its registration. */
    void register() {
        Memory memory = anyMemory();
        CuFileBuffer buffer = memory.buffer;
        if (buffer != null) {
            log.add("deregister %s", memory);
            memory.buffer = null;
            buffer.close();
        } else {
            memory.bufferStart = random.nextBoolean() ? 0 : random.nextInt(memory.length);
            log.add("register %s from %s on", memory, memory.bufferStart);
            memory.buffer = ground.driver().registerBuffer(
                    memory.guarded.range().slice(memory.bufferStart, memory.length - memory.bufferStart));
        }
        ground.count(1, 0);
    }

    private Memory anyMemory() {
        return memories.get(random.nextInt(memories.size()));
    }

    /** Returns a part of any memory, with or without its registration. */
    Target target() {
        return target(anyMemory());
    }

    /** Returns the largest memory. */
    Target largest() {
        Memory largest = memories.getFirst();
        for (Memory memory : memories) {
            largest = memory.length > largest.length ? memory : largest;
        }
        return target(largest);
    }

    /** Returns one target for each memory. */
    List<Target> all() {
        return memories.stream().map(this::target).toList();
    }

    private Target target(Memory memory) {
        CuFileBuffer buffer = memory.buffer;
        if (buffer != null && random.nextInt(4) > 0) {
            return new Target(memory, buffer, memory.bufferStart, memory.length - memory.bufferStart);
        }
        return new Target(memory, memory.guarded.range(), 0, memory.length);
    }

    /** Aligns memory and file offset of half of the requests within a page, so that direct I/O can serve them. */
    int bufferOffset(Target target, int size, long fileOffset) {
        int room = target.room - size;
        int agreeing = (int) Math.floorMod(fileOffset - target.range().address(), (long) PAGE);
        if (random.nextBoolean() && agreeing <= room) {
            return agreeing + PAGE * random.nextInt((room - agreeing) / PAGE + 1);
        }
        return random.nextInt(room + 1);
    }

    /** Sometimes fills a part with other bytes, so that no earlier request has put the expected ones there. */
    void renewBytes(Target target, int offset, int size) {
        if (random.nextInt(8) == 0) {
            target.memory.guarded.put(target.start + offset, RandomBytes.of(random.nextLong(), size));
        }
    }

    /** Expects bytes at an offset of the target. */
    void expect(Target target, int offset, byte[] bytes) {
        target.memory.guarded.expect(target.start + offset, bytes);
    }

    /** Expects what is there now: the contract does not define it. */
    void accept(Target target, int offset, int size) {
        target.memory.guarded.accept(target.start + offset, size);
    }

    /** Returns the expected bytes. */
    byte[] expected(Target target, int offset, int size) {
        return target.memory.guarded.expected(target.start + offset, size);
    }

    /** Compares a part of the memory and what is around it, now and then all of it. */
    void verify(Target target, int offset, int size) {
        if (random.nextInt(WHOLE_CHECKS) == 0) {
            target.memory.guarded.verify();
        } else {
            target.memory.guarded.verifyAround(target.start + offset, size);
        }
    }

    /** Fails if two numbers of bytes differ. */
    static void check(String what, long actual, long expected) {
        if (actual != expected) {
            throw new AssertionError("%s %s bytes, expected %s".formatted(what, actual, expected));
        }
    }

    /** Returns a report for every second request. */
    Optional<IoResult> report() {
        return random.nextBoolean() ? Optional.of(new IoResult()) : Optional.empty();
    }

    /**
     * Fails if a report does not say what its request did.
     *
     * @param moved bytes of a request that has not failed
     */
    static void checkReport(IoResult report, boolean fails, long moved) {
        if (report.error().isPresent() != fails) {
            throw new AssertionError("%s, expected %s".formatted(report, fails ? "a failure" : "none"));
        }
        check("reported", report.moved(), fails ? 0 : moved);
        if (!fails) {
            check("all paths took", report.bytesByPath().values().stream().mapToLong(Long::longValue).sum(), moved);
        }
    }

    /** The driver was closed, and registrations with it. */
    void forgetRegistrations() {
        memories.forEach(memory -> memory.buffer = null);
    }

    void verifyAll() {
        memories.forEach(memory -> memory.guarded.verify());
    }

    void close() {
        memories.forEach(Memory::close);
    }
}
