package io.gds4j.testkit.random;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.IoResult;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** A file that one thread writes, with several handles: opens, reads, writes, truncates and forces at random. */
final class OwnFile {
    static final int MAX_BYTES = 3 << 20;
    private static final int MAX_HANDLES = 5;
    private static final int MAX_FRAGMENTS = 200;

    /** One of so many handles waits for the disk with each write. */
    private static final int SYNCHRONOUS = 50;

    private final Bench bench;
    private final GuardedFile file;
    private final List<Handle> handles = new ArrayList<>();

    /** A handle and its open options. */
    private record Handle(CuFileHandle handle, boolean reads, boolean writes, List<OpenOption> options) {
        @Override
        public String toString() {
            return options.toString();
        }
    }

    OwnFile(Bench bench, String name, long seed) {
        this.bench = bench;
        this.file = GuardedFile.create(bench.ground.directory.resolve(name), bench.sizes.size(MAX_BYTES), seed);
    }

    private void open(boolean reads, boolean writes) {
        if (handles.size() == MAX_HANDLES) {
            closeHandle();
        }
        List<OpenOption> options = new ArrayList<>();
        if (reads) {
            options.add(StandardOpenOption.READ);
        }
        if (writes) {
            options.add(StandardOpenOption.WRITE);
        }
        if (bench.random.nextInt(3) > 0) {
            options.add(CuFileOpenOption.DIRECT);
        }
        if (bench.random.nextInt(SYNCHRONOUS) == 0) {
            options.add(StandardOpenOption.DSYNC);
        }
        bench.log.add("open %s", options);
        handles.add(new Handle(
                bench.ground.driver().openFile(file.path(), options.toArray(OpenOption[]::new)), reads, writes,
                List.copyOf(options)));
        bench.ground.count(1, 0);
    }

    void openHandle() {
        int choice = bench.random.nextInt(4);
        open(choice != 1, choice != 0);
    }

    void closeHandle() {
        if (!handles.isEmpty()) {
            int index = bench.random.nextInt(handles.size());
            bench.log.add("close handle %s", index);
            handles.remove(index).handle.close();
            bench.ground.count(1, 0);
        }
    }

    /** The driver was closed, and handles with it. */
    void forgetHandles() {
        handles.clear();
    }

    private Handle any() {
        if (handles.isEmpty()) {
            openHandle();
        }
        return handles.get(bench.random.nextInt(handles.size()));
    }

    private Handle anyThat(boolean reads) {
        List<Handle> able = handles.stream().filter(handle -> reads ? handle.reads : handle.writes).toList();
        if (able.isEmpty()) {
            open(true, true);
            return handles.getLast();
        }
        return able.get(bench.random.nextInt(able.size()));
    }

    /** Returns a handle that writes. */
    CuFileHandle writable() {
        return anyThat(false).handle;
    }

    /** Returns a handle that reads. */
    CuFileHandle readable() {
        return anyThat(true).handle;
    }

    int size() {
        return file.size();
    }

    boolean fits(int end) {
        return end <= MAX_BYTES;
    }

    byte[] expected(long offset, int size) {
        return file.expected(offset, size);
    }

    void expectWrite(long offset, byte[] bytes) {
        file.expectWrite(offset, bytes);
    }

    void accept(long offset, int size) {
        file.accept(offset, size);
    }

    void verifyAround(long offset, int size) {
        file.verifyAround(offset, size, 2 * Bench.PAGE);
    }

    void verify() {
        file.verify();
    }

    int anyOffset() {
        return bench.sizes.offset(MAX_BYTES, file.size());
    }

    void read() {
        Handle handle = any();
        Bench.Target target = bench.target();
        int size = bench.sizes.size(target.room());
        int fileOffset = anyOffset();
        int at = bench.bufferOffset(target, size, fileOffset);
        bench.log.add("read %s at %s of its file of %s to %s of %s by %s", size, fileOffset, file.size(),
                target.start() + at, target.memory(), handle);
        if (!handle.reads) {
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG, () -> handle.handle.read(target.io(), size, fileOffset, at));
            return;
        }
        byte[] expected = file.expected(fileOffset, size);
        Bench.check("read", handle.handle.read(target.io(), size, fileOffset, at), expected.length);
        bench.expect(target, at, expected);
        bench.verify(target, at, size);
        bench.ground.count(1, expected.length);
    }

    void write() {
        Handle handle = any();
        Bench.Target target = bench.target();
        int fileOffset = anyOffset();
        int size = Math.min(bench.sizes.size(target.room()), MAX_BYTES - fileOffset);
        int at = bench.bufferOffset(target, size, fileOffset);
        bench.log.add("write %s at %s of its file of %s from %s of %s by %s", size, fileOffset, file.size(),
                target.start() + at, target.memory(), handle);
        if (!handle.writes) {
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG, () -> handle.handle.write(target.io(), size, fileOffset, at));
            return;
        }
        bench.renewBytes(target, at, size);
        long count = bench.random.nextInt(4) == 0
                ? handle.handle.writeAsync(target.io(), size, fileOffset, at).join()
                : handle.handle.write(target.io(), size, fileOffset, at);
        Bench.check("wrote", count, size);
        file.expectWrite(fileOffset, bench.expected(target, at, size));
        verifyAround(fileOffset, size);
        bench.ground.count(1, size);
    }

    /** A write of fragments that lie in memory in the opposite order. */
    void gather() {
        Handle handle = anyThat(false);
        Bench.Target target = bench.target();
        int fileOffset = anyOffset();
        int size = Math.min(bench.sizes.size(target.room()), MAX_BYTES - fileOffset);
        if (size == 0) {
            return;
        }
        int at = bench.bufferOffset(target, size, fileOffset);
        bench.renewBytes(target, at, size);
        byte[] memory = bench.expected(target, at, size);
        byte[] content = new byte[size];
        List<ScatterCopy> fragments = new ArrayList<>();
        int most = Math.max(1, size / (1 + bench.random.nextInt(MAX_FRAGMENTS)));
        for (int done = 0; done < size;) {
            int bytes = Math.min(size - done, 1 + bench.random.nextInt(most));
            int to = size - done - bytes;
            fragments.add(new ScatterCopy(to, bytes, target.io(), (long) at + done));
            System.arraycopy(memory, done, content, to, bytes);
            done += bytes;
        }
        bench.log.add("write %s at %s of its file of %s from %s fragments at %s of %s by %s", size, fileOffset,
                file.size(), fragments.size(), target.start() + at, target.memory(), handle);
        IoResult result = new IoResult();
        Bench.check("wrote", handle.handle.writeScattered(fileOffset, size, fragments, result), size);
        Bench.check("reported", result.bytesByPath().values().stream().mapToLong(Long::longValue).sum(), size);
        file.expectWrite(fileOffset, content);
        verifyAround(fileOffset, size);
        bench.ground.count(1, size);
    }

    void truncate() {
        Handle handle = any();
        int size = anyOffset();
        bench.log.add("truncate from %s to %s by %s", file.size(), size, handle);
        if (handle.writes) {
            handle.handle.truncate(size);
            file.expectSize(size);
            verifyAround(size, 0);
            bench.ground.count(1, 0);
        }
    }

    void force() {
        bench.log.add("force");
        any().handle.force(bench.random.nextBoolean());
        bench.ground.count(1, 0);
    }

    void writeFromOutside() {
        int offset = anyOffset();
        int size = Math.min(bench.sizes.size(64 << 10), MAX_BYTES - offset);
        bench.log.add("another channel writes %s at %s", size, offset);
        file.write(offset, RandomBytes.of(bench.random.nextLong(), size));
    }

    void close() {
        handles.forEach(handle -> handle.handle.close());
    }

    void delete() throws IOException {
        Files.deleteIfExists(file.path());
    }
}
