package io.gds4j.testkit.random;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;

/**
 * Several threads on one file, each with its own part. Parts start and end at any byte, so that neighbours share pages.
 * The threads share direct and buffered handles. A part may lie past the end of the file: then the threads extend the
 * file concurrently. Each thread checks its part after each operation; at the end the whole file is checked.
 */
final class RandomCrowd {
    private static final int PAGE = 4096;
    private static final int LARGEST_PART = 200_000;
    private static final Duration LIMIT = Duration.ofMinutes(2);

    private final String name;
    private final List<MemoryKind> kinds;
    private final long seed;
    private final RandomConfig config;
    private final OperationLog log = new OperationLog();
    private final CuFileDriver driver;
    private final GuardedFile file;
    private final int initialSize;
    private final int[] borders;
    private final List<CuFileHandle> handles = new ArrayList<>();

    RandomCrowd(
            String name,
            Function<CuFileConfig, CuFileBackend> backends,
            Path directory,
            List<MemoryKind> kinds,
            long seed) {
        this.name = "random crowd on " + name;
        this.kinds = kinds;
        this.seed = seed;
        SplittableRandom random = new SplittableRandom(seed);
        this.config = RandomConfig.choose(random);
        this.borders = new int[random.nextInt(2, 7) + 1];
        for (int i = 1; i < borders.length; i++) {
            borders[i] = borders[i - 1] + random.nextInt(1, LARGEST_PART);
        }
        int end = borders[borders.length - 1];
        this.initialSize = random.nextBoolean() ? end : random.nextInt(end);
        this.file = GuardedFile.create(directory.resolve("crowd" + seed), initialSize, seed);
        this.driver = CuFileDriver.open(backends.apply(config.config()));
        for (int i = 0; i < 3; i++) {
            boolean direct = i == 0 || random.nextBoolean();
            OpenOption[] options = direct
                    ? new OpenOption[]{StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT}
                    : new OpenOption[]{StandardOpenOption.READ, StandardOpenOption.WRITE};
            handles.add(driver.openFile(file.path(), options));
        }
        log.add("%s; file of %s bytes, parts at %s", config, initialSize, Arrays.toString(borders));
    }

    void run(int operations) {
        ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
        try {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < borders.length - 1; i++) {
                Part part = new Part(i);
                threads.add(Thread.ofPlatform().name("part-" + i).daemon().start(() -> {
                    try {
                        part.run(operations);
                    } catch (RuntimeException | AssertionError e) {
                        failures.add(e);
                    }
                }));
            }
            for (Thread thread : threads) {
                join(thread);
            }
            if (!failures.isEmpty()) {
                throw log.failure(name, seed, failures.peek());
            }
            checkEnd();
        } finally {
            driver.close();
            try {
                Files.deleteIfExists(file.path());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void join(Thread thread) {
        try {
            if (!thread.join(LIMIT)) {
                AssertionError stuck = new AssertionError(thread + " is stuck");
                stuck.setStackTrace(thread.getStackTrace());
                throw log.failure(name, seed, stuck);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    private void checkEnd() {
        try {
            file.verify();
        } catch (AssertionError e) {
            throw log.failure(name, seed, e);
        }
    }

    /** The part of one thread. */
    private final class Part {
        private final int number;
        private final int from;
        private final int length;
        private final SplittableRandom random;
        private final RandomSizes sizes;
        /** Expected content of the part; zeros past the end of the file. */
        private final byte[] content;
        /** Bytes of the part that the file certainly has, counted from its start. */
        private int grown;

        Part(int number) {
            this.number = number;
            this.from = borders[number];
            this.length = borders[number + 1] - from;
            this.random = new SplittableRandom(seed * 31 + number);
            this.sizes = new RandomSizes(random, config.piece());
            this.content = Arrays.copyOf(file.expected(from, length), length);
            this.grown = Math.max(0, Math.min(length, initialSize - from));
        }

        void run(int operations) {
            for (int i = 0; i < operations; i++) {
                MemoryKind kind = kinds.get(random.nextInt(kinds.size()));
                int misalignment = random.nextBoolean() ? (from % PAGE) : random.nextInt(PAGE);
                try (GuardedMemory memory = GuardedMemory.allocate(
                        driver.allocator(), kind, length, misalignment, random.nextLong())) {
                    if (random.nextInt(4) == 0) {
                        try (CuFileBuffer buffer = driver.registerBuffer(memory.range())) {
                            use(memory, buffer);
                        }
                    } else {
                        use(memory, memory.range());
                    }
                }
            }
        }

        private void use(GuardedMemory memory, IoMemory io) {
            for (int i = 0; i < 4; i++) {
                int at = sizes.offset(length - 1, length);
                int size = Math.min(sizes.size(length), length - at);
                CuFileHandle handle = handles.get(random.nextInt(handles.size()));
                if (random.nextBoolean()) {
                    write(memory, io, handle, at, size);
                } else {
                    read(memory, io, handle, at, size);
                }
            }
        }

        private void write(GuardedMemory memory, IoMemory io, CuFileHandle handle, int at, int size) {
            memory.put(at, RandomBytes.of(random.nextLong(), size));
            log.add("part %s writes %s at %s", number, size, from + at);
            long count = handle.write(io, size, from + at, at);
            if (count != size) {
                throw new AssertionError("wrote %s bytes of %s".formatted(count, size));
            }
            byte[] written = memory.expected(at, size);
            System.arraycopy(written, 0, content, at, size);
            file.expectWrite(from + at, written);
            grown = size == 0 ? grown : Math.max(grown, at + size);
        }

        /**
         * Reads and checks. Writes of other threads may have extended the file past the part, or it may end inside the
         * part.
         */
        private void read(GuardedMemory memory, IoMemory io, CuFileHandle handle, int at, int size) {
            log.add("part %s reads %s at %s", number, size, from + at);
            long count = handle.read(io, size, from + at, at);
            int certain = Math.max(0, Math.min(size, grown - at));
            if (count < certain || count > size) {
                throw new AssertionError("read %s bytes, expected %s to %s".formatted(count, certain, size));
            }
            memory.expect(at, Arrays.copyOfRange(content, at, at + (int) count));
            // The file may have grown between the moments at which two pieces found its end.
            memory.accept(at + (int) count, size - (int) count);
            memory.verify();
        }
    }
}
