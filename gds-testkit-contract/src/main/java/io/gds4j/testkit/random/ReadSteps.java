package io.gds4j.testkit.random;

import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/** Reads of files that do not change: by calls, futures and scattered, to the end and interrupted. */
final class ReadSteps {
    private static final int MAX_FUTURES = 8;
    private static final int MAX_SCATTER = 2 << 20;
    private static final int MAX_RANGES = 60;
    private static final int MAX_ROW = 20_000;
    private static final int MAX_ROWS = 300;
    private static final int MAX_GAP = 5000;
    private static final int LATEST_INTERRUPT_NANOS = 3_000_000;

    private final Bench bench;
    private final IoResults results = new IoResults();

    ReadSteps(Bench bench) {
        this.bench = bench;
    }

    private long offset(DataFile file) {
        return bench.sizes.offset(file.size() + 2 * Bench.PAGE, file.size());
    }

    void read() {
        DataFile file = bench.ground.anyData(bench.random);
        Bench.Target target = bench.target();
        int size = bench.sizes.size(target.room());
        long fileOffset = offset(file);
        int at = bench.bufferOffset(target, size, fileOffset);
        bench.log.add("read %s at %s of %s to %s of %s", size, fileOffset, file, target.start() + at, target.memory());
        bench.renewBytes(target, at, size);
        byte[] expected = file.bytes(fileOffset, size);
        boolean bySource = bench.random.nextInt(12) == 0 && file.source().isPresent();
        CuFileHandle handle = bySource ? file.source().get() : file.any(bench.random);
        if (bySource && file.isHole(fileOffset, size)) {
            readBad(handle, target, size, fileOffset, at, expected);
        } else {
            long count = bench.random.nextInt(5) == 0
                    ? handle.read(target.range().slice(at, size), fileOffset)
                    : handle.read(target.io(), size, fileOffset, at);
            Bench.check("read", count, expected.length);
            bench.expect(target, at, expected);
        }
        bench.verify(target, at, size);
        bench.ground.count(1, expected.length);
    }

    private void readBad(
            CuFileHandle handle, Bench.Target target, int size, long fileOffset, int at, byte[] expected) {
        long moved = -1;
        try {
            handle.read(target.io(), size, fileOffset, at);
        } catch (CuFileException e) {
            moved = e.bytesTransferred();
        }
        if (moved < 0 || moved >= expected.length) {
            throw new AssertionError("a read over a bad byte of its source ended with %s of %s bytes"
                    .formatted(moved, expected.length));
        }
        bench.expect(target, at, Arrays.copyOf(expected, (int) moved));
        bench.accept(target, at + (int) moved, size - (int) moved);
    }

    /** Several calls at a time; sometimes their handle closes before they are over. */
    void futures() {
        DataFile file = bench.ground.anyData(bench.random);
        Bench.Target target = bench.target();
        int calls = bench.random.nextInt(1, MAX_FUTURES);
        int each = bench.sizes.size(target.room() / calls);
        long[] offsets = new long[calls];
        List<CompletableFuture<Long>> futures = new ArrayList<>();
        List<Optional<IoResult>> reports = new ArrayList<>();
        boolean closes = bench.random.nextInt(4) == 0;
        bench.log.add("%s futures of %s of %s to %s%s", calls, each, file, target.memory(), closes ? ", close" : "");
        CuFileHandle own = bench.ground.driver().openFile(file.path());
        try (own) {
            for (int i = 0; i < calls; i++) {
                offsets[i] = offset(file);
                CuFileHandle handle = closes ? own : file.any(bench.random);
                long offset = offsets[i];
                long at = (long) i * each;
                reports.add(bench.report());
                futures.add(reports.getLast()
                        .map(report -> handle.readAsync(target.io(), each, offset, at, report))
                        .orElseGet(() -> handle.readAsync(target.io(), each, offset, at)));
            }
            if (closes) {
                own.close();
            }
        }
        for (int i = 0; i < calls; i++) {
            byte[] expected = file.bytes(offsets[i], each);
            Bench.check("a future read", futures.get(i).join(), expected.length);
            reports.get(i).ifPresent(report -> Bench.checkReport(report, false, expected.length));
            bench.expect(target, i * each, expected);
            bench.ground.count(1, expected.length);
        }
        bench.verify(target, 0, calls * each);
    }

    /** Rows and whole parts of one range to several memories. */
    void scatter() {
        DataFile file = bench.ground.anyData(bench.random);
        int length = 1 + bench.sizes.size(MAX_SCATTER);
        long fileOffset = offset(file);
        byte[] source = file.bytes(fileOffset, length);
        List<Bench.Target> targets = new ArrayList<>();
        List<ScatterCopy> copies = new ArrayList<>();
        for (Bench.Target target : bench.all()) {
            if (copies.isEmpty() || bench.random.nextBoolean()) {
                targets.add(target);
                copies.add(copy(target, length));
            }
        }
        bench.log.add("scatter %s at %s of %s: %s", length, fileOffset, file, copies);
        Bench.check(
                "a scattered read moved", file.any(bench.random).readScattered(fileOffset, length, copies),
                source.length);
        for (int i = 0; i < copies.size(); i++) {
            expect(targets.get(i), copies.get(i), source);
        }
        bench.ground.count(copies.size(), source.length);
    }

    /** Ranges of several files, some of them neighbours, in one call. */
    void ranges() {
        Bench.Target target = bench.target();
        List<RangeRead> ranges = new ArrayList<>();
        List<byte[]> expected = new ArrayList<>();
        int count = 1 + bench.random.nextInt(MAX_RANGES);
        DataFile file = bench.ground.anyData(bench.random);
        CuFileHandle handle = file.any(bench.random);
        long fileOffset = offset(file);
        int used = 0;
        for (int i = 0; i < count; i++) {
            int size = bench.sizes.size((target.room() - used) / (count - i));
            if (bench.random.nextInt(3) == 0) {
                file = bench.ground.anyData(bench.random);
                handle = file.any(bench.random);
                fileOffset = offset(file);
            }
            ranges.add(RangeRead.of(handle, target.io(), size, fileOffset, used));
            expected.add(file.bytes(fileOffset, size));
            fileOffset += size;
            used += size;
        }
        bench.log.add("%s ranges, %s bytes, to %s", count, used, target.memory());
        bench.ground.driver().readRanges(ranges, results);
        for (int i = 0; i < count; i++) {
            Bench.check("a range", results.get(i).moved(), expected.get(i).length);
            bench.expect(target, (int) ranges.get(i).bufferOffset(), expected.get(i));
            bench.ground.count(1, expected.get(i).length);
        }
        bench.verify(target, 0, used);
    }

    private ScatterCopy copy(Bench.Target target, int length) {
        int from = bench.random.nextInt(length);
        boolean rows = bench.random.nextBoolean();
        int width = Math.min(
                1 + bench.random.nextInt(rows ? Math.min(MAX_ROW, length - from) : length - from), target.room());
        long sourcePitch = width + (long) bench.random.nextInt(MAX_GAP);
        long pitch = width + (long) bench.random.nextInt(MAX_GAP);
        long most = Math.min((length - from - width) / sourcePitch, (target.room() - width) / pitch) + 1;
        long count = rows ? 1 + bench.random.nextLong(Math.min(most, MAX_ROWS)) : 1;
        long end = (count - 1) * pitch + width;
        int at = bench.random.nextInt((int) (target.room() - end) + 1);
        return new ScatterCopy(from, sourcePitch, width, count, target.io(), at, pitch);
    }

    private void expect(Bench.Target target, ScatterCopy copy, byte[] source) {
        for (long row = 0; row < copy.rows(); row++) {
            int from = (int) (copy.sourceOffset() + row * copy.sourcePitch());
            int to = (int) Math.min(from + copy.width(), source.length);
            if (from < to) {
                bench.expect(
                        target, (int) (copy.destinationOffset() + row * copy.destinationPitch()),
                        Arrays.copyOfRange(source, from, to));
            }
        }
        int at = (int) copy.destinationOffset();
        bench.verify(target, at, (int) copy.destinationEnd() - at);
    }

    /** A read whose thread is interrupted meanwhile. */
    void interrupted() {
        DataFile file = bench.ground.anyData(bench.random);
        Bench.Target target = bench.target();
        int size = bench.sizes.size(target.room());
        long fileOffset = offset(file);
        int at = bench.bufferOffset(target, size, fileOffset);
        bench.log.add("read %s at %s of %s to %s, interrupted", size, fileOffset, file, target.memory());
        bench.renewBytes(target, at, size);
        byte[] expected = file.bytes(fileOffset, size);
        Interruption interruption = Interruption.after(bench.random.nextInt(LATEST_INTERRUPT_NANOS));
        long count;
        try {
            count = file.any(bench.random).read(target.io(), size, fileOffset, at);
            interruption.end();
            Bench.check("read", count, expected.length);
        } catch (CuFileInterruptedException e) {
            boolean kept = Thread.currentThread().isInterrupted();
            interruption.end();
            count = e.bytesTransferred();
            if (!kept || count > expected.length) {
                throw new AssertionError("%s of %s bytes, interrupt %s"
                        .formatted(count, expected.length, kept ? "kept" : "lost"), e);
            }
        }
        bench.expect(target, at, Arrays.copyOf(expected, (int) count));
        bench.accept(target, at + (int) count, size - (int) count);
        bench.verify(target, at, size);
        bench.ground.count(1, count);
    }

    /** An interrupt of the thread that makes it, from another thread. */
    static final class Interruption {
        private final Thread thread;

        private Interruption(Thread thread) {
            this.thread = thread;
        }

        static Interruption after(long nanos) {
            Thread target = Thread.currentThread();
            return new Interruption(Thread.ofVirtual().start(() -> {
                LockSupport.parkNanos(nanos);
                target.interrupt();
            }));
        }

        /** Waits until it has come, and clears it. */
        void end() {
            boolean over = false;
            while (!over) {
                try {
                    thread.join();
                    over = true;
                } catch (InterruptedException e) {
                    // that was it
                }
            }
            Thread.interrupted();
        }
    }
}
