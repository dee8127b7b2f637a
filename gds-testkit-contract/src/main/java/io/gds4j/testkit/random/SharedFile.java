package io.gds4j.testkit.random;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * A file that all threads write, each in its own part. Parts start and end at any byte, so that neighbours share pages. A part may lie
 * past the end of the file: then the threads extend the file concurrently.
 */
final class SharedFile {
    private static final int MAX_PART = 200_000;
    private static final int HANDLES = 3;

    private final GuardedFile file;
    private final int initialSize;
    private final int[] borders;
    private final List<CuFileHandle> handles = new ArrayList<>();

    SharedFile(CuFileDriver driver, Path path, int parts, RandomGenerator random) {
        borders = new int[parts + 1];
        for (int i = 1; i < borders.length; i++) {
            borders[i] = borders[i - 1] + random.nextInt(1, MAX_PART);
        }
        int end = borders[parts];
        initialSize = random.nextBoolean() ? end : random.nextInt(end);
        file = GuardedFile.create(path, initialSize, random.nextLong());
        for (int i = 0; i < HANDLES; i++) {
            List<OpenOption> options =
                    new ArrayList<>(List.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
            if (i == 0 || random.nextBoolean()) {
                options.add(CuFileOpenOption.DIRECT);
            }
            handles.add(driver.openFile(path, options.toArray(OpenOption[]::new)));
        }
    }

    Part part(int number, Bench bench) {
        return new Part(number, bench);
    }

    void verify() {
        file.verify();
    }

    void close() {
        handles.forEach(CuFileHandle::close);
    }

    void delete() throws IOException {
        Files.deleteIfExists(file.path());
    }

    /** The part of one thread. */
    final class Part {
        private final int number;
        private final int from;
        private final int length;
        private final Bench bench;
        /** Expected content of the part; zeros past the end of the file. */
        private final byte[] content;
        /** Bytes of the part that the file certainly has, counted from its start. */
        private int grown;

        private Part(int number, Bench bench) {
            this.number = number;
            this.bench = bench;
            this.from = borders[number];
            this.length = borders[number + 1] - from;
            this.content = Arrays.copyOf(file.expected(from, length), length);
            this.grown = Math.max(0, Math.min(length, initialSize - from));
        }

        /** Reads or writes some of the part. */
        void step() {
            Bench.Target target = bench.target();
            int at = bench.sizes.offset(length - 1, length);
            int size = Math.min(bench.sizes.size(target.room()), length - at);
            if (bench.random.nextBoolean()) {
                // In a page that a neighbour writes, too.
                size = Math.min(1 + bench.random.nextInt(Bench.PAGE), Math.min(target.room(), length));
                at = bench.random.nextBoolean() ? 0 : length - size;
            }
            CuFileHandle handle = handles.get(bench.random.nextInt(handles.size()));
            int to = bench.bufferOffset(target, size, from + at);
            boolean write = bench.random.nextBoolean();
            bench.log.add("%s %s at %s, in part %s of the shared file, %s of %s", write ? "write" : "read", size,
                    from + at, number, target.start() + to, target.memory());
            if (write) {
                write(target, handle, at, size, to);
            } else {
                read(target, handle, at, size, to);
            }
            bench.ground.count(1, size);
        }

        private void write(Bench.Target target, CuFileHandle handle, int at, int size, int to) {
            target.memory().guarded.put(target.start() + to, RandomBytes.of(bench.random.nextLong(), size));
            Bench.check("wrote", handle.write(target.io(), size, from + at, to), size);
            byte[] written = bench.expected(target, to, size);
            System.arraycopy(written, 0, content, at, size);
            file.expectWrite(from + at, written);
            grown = size == 0 ? grown : Math.max(grown, at + size);
        }

        /** Reads and checks. Other threads may have extended the file past the part, or it may end inside the part. */
        private void read(Bench.Target target, CuFileHandle handle, int at, int size, int to) {
            int certain = Math.max(0, Math.min(size, grown - at));
            long count = handle.read(target.io(), size, from + at, to);
            if (count < certain || count > size) {
                throw new AssertionError("read %s bytes, expected %s to %s".formatted(count, certain, size));
            }
            bench.expect(target, to, Arrays.copyOfRange(content, at, at + (int) count));
            // The file may have grown between the moments at which two pieces found its end.
            bench.accept(target, to + (int) count, size - (int) count);
            bench.verify(target, to, size);
        }
    }
}
