package io.gds4j.testkit.random;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.spi.BatchStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Batches in five shapes: adjacent entries, many of medium size, small ones anywhere, mixed ones that also write and fail, and pages
 * in a row. Entries of a batch lie in one memory and do not overlap.
 */
final class BatchSteps {
    private static final int CAPACITY = 128;
    private static final int SHAPES = 5;
    private static final int[] ADJACENT = {64 << 10, 256 << 10, 1 << 20, 128 << 10, 100_000, 2 << 20};
    private static final int MIN_ADJACENT = 4 << 20;
    private static final int MIN_MEDIUM = 8;
    private static final int SMALL = 64 << 10;
    private static final int MAX_GAP = 5000;
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final int SHORT_MILLIS = 700;

    private enum Shape {
        ADJACENT, MEDIUM, SMALL, MIXED, PAGES
    }

    private final Bench bench;
    private final OwnFile own;

    /**
     * An entry.
     *
     * @param bad whether it reads a bad byte of a source
     */
    private record Entry(Request request, byte[] expected, boolean bad) {
        Entry reportTo(IoResult result) {
            return new Entry(request.reportTo(result), expected, bad);
        }

        int at() {
            return (int) request.bufferOffset();
        }

        int size() {
            return (int) request.size();
        }
    }

    BatchSteps(Bench bench, OwnFile own) {
        this.bench = bench;
        this.own = own;
    }

    private List<Entry> entries(Shape shape, Bench.Target target) {
        List<Entry> entries = new ArrayList<>();
        DataFile file = bench.ground.anyData(bench.random);
        CuFileHandle one = file.any(bench.random);
        long fileOffset = bench.sizes.offset(file.size() + Bench.PAGE, file.size());
        int fixed = switch (shape) {
            case ADJACENT -> ADJACENT[bench.random.nextInt(ADJACENT.length)];
            case MEDIUM -> SMALL << bench.random.nextInt(5);
            case PAGES -> Bench.PAGE;
            default -> 0;
        };
        int most = 1 + bench.random.nextInt(CAPACITY);
        most = shape == Shape.ADJACENT ? Math.max(most, MIN_ADJACENT / fixed + 1) : Math.max(most, MIN_MEDIUM);
        int at = bench.random.nextBoolean() ? 0 : bench.random.nextInt(MAX_GAP);
        while (entries.size() < Math.min(most, CAPACITY)) {
            boolean scattered = shape != Shape.ADJACENT && shape != Shape.PAGES;
            if (scattered && bench.random.nextInt(5) < 3) {
                file = bench.ground.anyData(bench.random);
                one = file.any(bench.random);
                fileOffset = bench.sizes.offset(file.size() + Bench.PAGE, file.size());
            }
            at += scattered && bench.random.nextInt(5) < 2 ? bench.random.nextInt(MAX_GAP) : 0;
            int size =
                    fixed > 0 ? fixed : shape == Shape.SMALL ? bench.random.nextInt(SMALL) : bench.sizes.size(2 << 20);
            if (at + size > target.room()) {
                break;
            }
            entries.add(shape == Shape.MIXED
                    ? mixed(file, target, size, fileOffset, at)
                    : read(one, file, target, size, fileOffset, at));
            fileOffset += size;
            at += size;
        }
        return entries;
    }

    private static Entry read(
            CuFileHandle handle, DataFile file, Bench.Target target, int size, long fileOffset, int at) {
        return new Entry(
                Request.read(handle, target.io(), size, fileOffset, at), file.bytes(fileOffset, size), false);
    }

    /** Returns a read of a source, a write to the own file, or a read through any handle. */
    private Entry mixed(DataFile file, Bench.Target target, int size, long fileOffset, int at) {
        int choice = bench.random.nextInt(8);
        if (choice == 0 && file.source().isPresent()) {
            return new Entry(
                    Request.read(file.source().get(), target.io(), size, fileOffset, at), file.bytes(fileOffset, size),
                    file.isHole(fileOffset, size));
        }
        // The bytes of a batch in the file are where they are in the memory, so that no two entries overlap.
        if (choice < 3 && own.fits(at + size)) {
            return new Entry(
                    Request.write(own.writable(), target.io(), size, at, at), bench.expected(target, at, size), false);
        }
        return read(file.any(bench.random), file, target, size, fileOffset, at);
    }

    /** A batch that completes. */
    void batch() {
        Shape shape = Shape.values()[bench.random.nextInt(SHAPES)];
        Bench.Target target = shape.ordinal() < 2 && bench.random.nextInt(4) > 0 ? bench.largest() : bench.target();
        List<Entry> entries = entries(shape, target);
        if (entries.isEmpty()) {
            return;
        }
        if (bench.random.nextInt(3) == 0) {
            Collections.shuffle(entries, new Random(bench.random.nextLong()));
        }
        entries.replaceAll(entry -> bench.report().map(entry::reportTo).orElse(entry));
        log("batch", shape, entries, target);
        List<Request> requests = entries.stream().map(Entry::request).toList();
        try (CuFileBatch batch = bench.ground.driver().batch(CAPACITY)) {
            if (bench.random.nextInt(7) == 0 && entries.stream().noneMatch(Entry::bad)) {
                List<Completion> completions = batch.transferAll(requests);
                for (int i = 0; i < entries.size(); i++) {
                    completed(entries.get(i), completions.get(i), target);
                }
            } else {
                batch.submit(requests);
                await(batch, entries, target);
            }
            Bench.check("outstanding entries:", batch.outstanding(), 0);
        }
        finish(entries, target);
    }

    private void log(String what, Shape shape, List<Entry> entries, Bench.Target target) {
        bench.log.add("%s %s of %s entries to %s: first %s, last %s", what, shape, entries.size(), target.memory(),
                entries.getFirst().request(), entries.getLast().request());
    }

    private void await(CuFileBatch batch, List<Entry> entries, Bench.Target target) {
        Map<Request, Entry> left = new IdentityHashMap<>();
        entries.forEach(entry -> left.put(entry.request(), entry));
        while (!left.isEmpty()) {
            int minimum = bench.random.nextInt(5) < 3 ? left.size() : 1 + bench.random.nextInt(left.size());
            Duration limit = switch (bench.random.nextInt(6)) {
                case 0 -> Duration.ZERO;
                case 1 -> Duration.ofMillis(bench.random.nextInt(SHORT_MILLIS));
                default -> LONG;
            };
            List<Completion> completions = batch.await(minimum, limit);
            if (limit == LONG && completions.size() < minimum) {
                throw new AssertionError(
                        "%s of %s entries complete after %s".formatted(completions.size(), minimum, LONG));
            }
            for (Completion completion : completions) {
                Entry entry = left.remove(completion.request());
                if (entry == null) {
                    throw new AssertionError("not submitted, or complete twice: " + completion);
                }
                completed(entry, completion, target);
            }
        }
    }

    private void completed(Entry entry, Completion completion, Bench.Target target) {
        boolean write = entry.request().write();
        boolean cancelled = completion.status() == BatchStatus.CANCELED;
        completion.report().ifPresent(
                report -> Bench.checkReport(report, entry.bad() || cancelled, entry.expected().length));
        if (entry.bad()) {
            if (completion.isComplete()) {
                throw new AssertionError("complete over a bad byte of its source: " + completion);
            }
            bench.accept(target, entry.at(), entry.size());
        } else if (!cancelled) {
            Bench.check("an entry moved", completion.bytes(), entry.expected().length);
            if (write) {
                own.expectWrite(entry.request().fileOffset(), entry.expected());
            } else {
                bench.expect(target, entry.at(), entry.expected());
            }
        }
        bench.ground.count(1, entry.expected().length);
    }

    private void finish(List<Entry> entries, Bench.Target target) {
        int from = entries.stream().mapToInt(Entry::at).min().orElseThrow();
        int to = entries.stream().mapToInt(entry -> entry.at() + entry.size()).max().orElseThrow();
        bench.verify(target, from, to - from);
        if (entries.stream().anyMatch(entry -> entry.request().write())) {
            own.verifyAround(from, to - from);
        }
    }

    /** A batch that is cancelled or closed in flight. Then nothing may change its memory any more. */
    void cancelled() {
        Shape shape = Shape.values()[bench.random.nextInt(SHAPES)];
        Bench.Target target = bench.target();
        List<Entry> entries = entries(shape, target);
        if (entries.isEmpty()) {
            return;
        }
        boolean closes = bench.random.nextBoolean();
        entries.replaceAll(entry -> bench.report().map(entry::reportTo).orElse(entry));
        log(closes ? "closed batch" : "cancelled batch", shape, entries, target);
        try (CuFileBatch batch = bench.ground.driver().batch(CAPACITY)) {
            batch.submit(entries.stream().map(Entry::request).toList());
            Thread.onSpinWait();
            if (!closes) {
                batch.cancel();
                await(batch, entries, target);
            }
        }
        if (closes) {
            int from = entries.getFirst().at();
            bench.accept(target, from, entries.getLast().at() + entries.getLast().size() - from);
            for (Entry entry : entries) {
                if (entry.request().write()) {
                    own.accept(entry.request().fileOffset(), entry.size());
                }
            }
            bench.ground.count(entries.size(), 0);
        }
        finish(entries, target);
    }
}
