package io.gds4j.testkit.random;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One thread on one file with several handles and memories: opens, registers, reads, writes, truncates, forces and
 * reopens at random. Keeps the expected content of every byte of file and memory after each step.
 */
final class RandomSequence {
    private static final int PAGE = 4096;
    private static final int MAX_FILE = 3 << 20;
    private static final int MAX_MEMORY = 1 << 20;
    private static final int MAX_HANDLES = 5;
    private static final int MEMORIES = 3;

    private final String name;
    private final List<MemoryKind> kinds;
    private final long seed;
    private final SplittableRandom random;
    private final RandomConfig config;
    private final RandomSizes sizes;
    private final OperationLog log = new OperationLog();
    private final GuardedFile file;
    private final CuFileBackend backend;
    private final List<Handle> handles = new ArrayList<>();
    private final List<Memory> memories = new ArrayList<>();
    private CuFileDriver driver;

    /** A handle and its open options. */
    private record Handle(CuFileHandle handle, boolean reads, boolean writes, List<OpenOption> options) {
        @Override
        public String toString() {
            return options.toString();
        }
    }

    /** Memory and its registration, if any. */
    private static final class Memory {
        final GuardedMemory guarded;
        final int length;
        @Nullable
        CuFileBuffer buffer;
        int bufferStart;

        Memory(GuardedMemory guarded, int length) {
            this.guarded = guarded;
            this.length = length;
        }

        void close() {
            if (buffer != null) {
                buffer.close();
                buffer = null;
            }
            guarded.close();
        }
    }

    RandomSequence(
            String name,
            Function<CuFileConfig, CuFileBackend> backends,
            Path directory,
            List<MemoryKind> kinds,
            long seed) {
        this.name = "random sequence on " + name;
        this.kinds = kinds;
        this.seed = seed;
        this.random = new SplittableRandom(seed);
        this.config = RandomConfig.choose(random);
        this.sizes = new RandomSizes(random, config.piece());
        this.backend = backends.apply(config.config());
        this.driver = CuFileDriver.open(backend);
        this.file = GuardedFile.create(directory.resolve("sequence" + seed), sizes.size(MAX_FILE), seed);
    }

    void run(int operations) {
        try {
            log.add("%s; file of %s bytes", config, file.size());
            for (int i = 0; i < operations; i++) {
                step();
            }
            finish();
        } catch (RuntimeException | AssertionError e) {
            throw log.failure(name, seed, e);
        } finally {
            memories.forEach(Memory::close);
            driver.close();
            delete();
        }
    }

    private void step() {
        if (handles.isEmpty()) {
            openHandle();
        }
        if (memories.size() < MEMORIES) {
            allocate();
        }
        int choice = random.nextInt(100);
        if (choice < 38) {
            read();
        } else if (choice < 72) {
            write();
        } else if (choice < 78) {
            openHandle();
        } else if (choice < 82) {
            closeHandle();
        } else if (choice < 87) {
            register();
        } else if (choice < 90) {
            renewMemory();
        } else if (choice < 93) {
            truncate();
        } else if (choice < 95) {
            force();
        } else if (choice < 98) {
            writeFromOutside();
        } else {
            reopen();
        }
    }

    private void openHandle() {
        if (handles.size() == MAX_HANDLES) {
            closeHandle();
        }
        List<OpenOption> options = new ArrayList<>();
        switch (random.nextInt(4)) {
            case 0 -> options.add(StandardOpenOption.READ);
            case 1 -> options.add(StandardOpenOption.WRITE);
            default -> options.addAll(List.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
        }
        if (random.nextInt(3) > 0) {
            options.add(CuFileOpenOption.DIRECT);
        }
        if (random.nextInt(12) == 0) {
            options.add(StandardOpenOption.DSYNC);
        }
        log.add("open %s", options);
        handles.add(new Handle(
                driver.openFile(file.path(), options.toArray(OpenOption[]::new)),
                options.contains(StandardOpenOption.READ),
                options.contains(StandardOpenOption.WRITE),
                List.copyOf(options)));
    }

    private void closeHandle() {
        int index = random.nextInt(handles.size());
        log.add("close handle %s", index);
        handles.remove(index).handle.close();
    }

    private void allocate() {
        MemoryKind kind = kinds.get(random.nextInt(kinds.size()));
        int length = 1 + sizes.size(MAX_MEMORY);
        int misalignment = random.nextBoolean() ? 0 : random.nextInt(PAGE);
        log.add("memory %s of %s misaligned by %s", kind, length, misalignment);
        memories.add(new Memory(
                GuardedMemory.allocate(driver.allocator(), kind, length, misalignment, random.nextLong()), length));
    }

    private void renewMemory() {
        Memory memory = memories.remove(random.nextInt(memories.size()));
        memory.guarded.verify();
        memory.close();
        allocate();
    }

    private void register() {
        Memory memory = anyMemory();
        if (memory.buffer != null) {
            log.add("deregister %s", memory.guarded);
            memory.buffer.close();
            memory.buffer = null;
            return;
        }
        memory.bufferStart = random.nextBoolean() ? 0 : random.nextInt(memory.length);
        log.add("register %s from %s on", memory.guarded, memory.bufferStart);
        memory.buffer = driver.registerBuffer(
                memory.guarded.range().slice(memory.bufferStart, memory.length - memory.bufferStart));
    }

    private Memory anyMemory() {
        return memories.get(random.nextInt(memories.size()));
    }

    private Handle anyHandle() {
        return handles.get(random.nextInt(handles.size()));
    }

    /** Memory of a request: a part of a memory, with or without its registration. */
    private record Target(Memory memory, IoMemory io, int start, int room) {
    }

    private Target target() {
        Memory memory = anyMemory();
        CuFileBuffer buffer = memory.buffer;
        if (buffer != null && random.nextInt(4) > 0) {
            return new Target(memory, buffer, memory.bufferStart, memory.length - memory.bufferStart);
        }
        return new Target(memory, memory.guarded.range(), 0, memory.length);
    }

    /** Aligns memory and file offset of half of the requests within a page, so that direct I/O can serve them. */
    private int bufferOffset(Target target, int size, int fileOffset) {
        int room = target.room - size;
        long address = target.memory.guarded.range().address() + target.start;
        int agreeing = (int) Math.floorMod(fileOffset - address, (long) PAGE);
        if (random.nextBoolean() && agreeing <= room) {
            return agreeing + PAGE * random.nextInt((room - agreeing) / PAGE + 1);
        }
        return random.nextInt(room + 1);
    }

    private void read() {
        Handle handle = anyHandle();
        Target target = target();
        int size = sizes.size(target.room);
        int fileOffset = sizes.offset(MAX_FILE, file.size());
        int bufferOffset = bufferOffset(target, size, fileOffset);
        log.add("read %s at %s to %s of %s by %s, size %s", size, fileOffset, target.start + bufferOffset,
                target.memory.guarded, handle, file.size());
        if (!handle.reads) {
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG,
                    () -> handle.handle.read(target.io, size, fileOffset, bufferOffset));
            return;
        }
        byte[] expected = file.expected(fileOffset, size);
        long count = handle.handle.read(target.io, size, fileOffset, bufferOffset);
        if (count != expected.length) {
            throw new AssertionError("read %s bytes, expected %s".formatted(count, expected.length));
        }
        target.memory.guarded.expect(target.start + bufferOffset, expected);
        target.memory.guarded.verify();
    }

    private void write() {
        Handle handle = anyHandle();
        Target target = target();
        int fileOffset = sizes.offset(MAX_FILE, file.size());
        int size = Math.min(sizes.size(target.room), MAX_FILE - fileOffset);
        int bufferOffset = bufferOffset(target, size, fileOffset);
        log.add("write %s at %s from %s of %s by %s, size %s", size, fileOffset, target.start + bufferOffset,
                target.memory.guarded, handle, file.size());
        if (!handle.writes) {
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG,
                    () -> handle.handle.write(target.io, size, fileOffset, bufferOffset));
            return;
        }
        long count = handle.handle.write(target.io, size, fileOffset, bufferOffset);
        if (count != size) {
            throw new AssertionError("wrote %s bytes of %s".formatted(count, size));
        }
        file.expectWrite(fileOffset, target.memory.guarded.expected(target.start + bufferOffset, size));
        file.verifyAround(fileOffset, size, 2 * PAGE);
    }

    private void truncate() {
        Handle handle = anyHandle();
        int size = sizes.offset(MAX_FILE, file.size());
        log.add("truncate to %s by %s", size, handle);
        if (handle.writes) {
            handle.handle.truncate(size);
            file.expectSize(size);
            file.verifyAround(size, 0, 2 * PAGE);
        }
    }

    private void force() {
        log.add("force");
        anyHandle().handle.force(random.nextBoolean());
    }

    private void writeFromOutside() {
        int offset = sizes.offset(MAX_FILE, file.size());
        int size = Math.min(sizes.size(64 << 10), MAX_FILE - offset);
        log.add("another channel writes %s at %s", size, offset);
        file.write(offset, RandomBytes.of(random.nextLong(), size));
    }

    private void reopen() {
        log.add("close and reopen the driver");
        memories.forEach(memory -> memory.guarded.verify());
        handles.clear();
        driver.close();
        memories.forEach(memory -> memory.buffer = null);
        driver = CuFileDriver.open(backend);
    }

    private void finish() {
        log.add("check everything");
        memories.forEach(memory -> memory.guarded.verify());
        file.verify();
    }

    private void delete() {
        try {
            Files.deleteIfExists(file.path());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
