package io.gds4j.tools.io;

import io.gds4j.memory.MemoryAllocator;
import io.gds4j.tools.terminal.CommandFailure;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** The loop of one thread and its counters. Latencies exclude the time to fill and compare memory. */
final class Worker {
    private static final long MAX_NANOS = 3_600_000_000_000L;
    private static final int DIGITS = 3;
    private static final int STAGE = 1 << 20;

    private final IoJob job;
    private final Path file;
    private final Mover mover;
    private final IoRequest[] requests;
    private final OffsetSequence offsets;
    private final MemoryAllocator allocator;
    private final @Nullable TestPattern pattern;
    private final @Nullable SplittableRandom content;
    private final @Nullable MemorySegment stage;
    private final Histogram latencies = new Histogram(MAX_NANOS, DIGITS);
    private long bytes;
    private long operations;
    private long startNanos;
    private long endNanos;

    Worker(
            IoJob job,
            Path file,
            Mover mover,
            IoRequest[] requests,
            OffsetSequence offsets,
            MemoryAllocator allocator,
            @Nullable TestPattern pattern,
            long contentSeed) {
        this.job = job;
        this.file = file;
        this.mover = mover;
        this.requests = requests.clone();
        this.offsets = offsets;
        this.allocator = allocator;
        this.pattern = pattern;
        this.content = job.randomFill() ? new SplittableRandom(contentSeed) : null;
        this.stage = pattern != null || content != null ? MemorySegment.ofArray(new byte[STAGE]) : null;
        if (content != null) {
            for (IoRequest request : this.requests) {
                randomise(request, request.range.length());
            }
        }
    }

    /** Runs without measuring. */
    void warmUp(long nanos, BooleanSupplier failed) {
        run(System.nanoTime() + nanos, false, failed);
        offsets.restart();
    }

    /**
     * Runs and measures.
     *
     * @param seconds duration from the first request on; null for one pass
     */
    void measure(@Nullable Double seconds, BooleanSupplier failed) {
        startNanos = System.nanoTime();
        if (seconds == null) {
            pass(null, true, failed);
        } else {
            run(startNanos + (long) (seconds * 1e9), true, failed);
        }
        endNanos = System.nanoTime();
    }

    private void run(long deadline, boolean counted, BooleanSupplier failed) {
        boolean time = pass(deadline, counted, failed);
        while (time && !failed.getAsBoolean()) {
            offsets.nextPass();
            time = pass(deadline, counted, failed);
        }
    }

    /** Runs one pass. Returns false if the time is over, or if the pass has no requests. */
    private boolean pass(@Nullable Long deadline, boolean counted, BooleanSupplier failed) {
        boolean any = false;
        while (!failed.getAsBoolean()) {
            int count = 0;
            while (count < requests.length && offsets.next(requests[count])) {
                count++;
            }
            if (count == 0) {
                return any;
            }
            any = true;
            prepare(count);
            mover.move(requests, count);
            if (counted) {
                count(count);
            }
            if (pattern != null) {
                verify(pattern, count);
            }
            if (deadline != null && System.nanoTime() - deadline >= 0) {
                return false;
            }
        }
        return false;
    }

    private void count(int count) {
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            latencies.recordValue(Math.clamp(request.endNanos - request.startNanos, 0, MAX_NANOS));
            bytes += request.size;
        }
        operations += count;
    }

    private void prepare(int count) {
        if (pattern == null && !job.refill()) {
            return;
        }
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            if (pattern != null && request.write) {
                staged(request, request.size, (part, offset) -> pattern.fill(part, request.fileOffset + offset), true);
            } else if (pattern != null) {
                // Clear the bytes of the previous request, so that they cannot pass as bytes of this read.
                allocator.fill(request.range, (byte) 0);
            } else if (request.write) {
                randomise(request, request.size);
            }
        }
    }

    private void randomise(IoRequest request, long size) {
        SplittableRandom source = content;
        if (source != null) {
            staged(request, size, (part, offset) -> {
                byte[] random = new byte[(int) part.byteSize()];
                source.nextBytes(random);
                part.copyFrom(MemorySegment.ofArray(random));
            }, true);
        }
    }

    private void verify(TestPattern expected, int count) {
        IoRequest[] back = requests;
        for (int i = 0; i < count; i++) {
            IoRequest request = back[i];
            if (request.write) {
                allocator.fill(request.range, (byte) 0);
                request.write = false;
                mover.move(new IoRequest[]{request}, 1);
            }
            staged(request, request.size, (part, offset) -> compare(expected, part, request.fileOffset + offset),
                    false);
        }
    }

    private void compare(TestPattern expected, MemorySegment part, long offset) {
        long wrong = expected.mismatch(part, offset);
        if (wrong >= 0) {
            throw CommandFailure.difference(
                    file.toString(),
                    "%s: byte %s is 0x%02x, but the pattern of seed %s has 0x%02x; was it written with -V and this seed?"
                            .formatted(
                                    file,
                                    offset + wrong,
                                    part.get(ValueLayout.JAVA_BYTE, wrong),
                                    expected.seed(),
                                    expected.at(offset + wrong)));
        }
    }

    private interface Part {
        void at(MemorySegment part, long offset);
    }

    /** Passes a request's memory to {@code work} in parts, through host memory; {@code fill} copies the parts back. */
    private void staged(IoRequest request, long size, Part work, boolean fill) {
        MemorySegment host = stage;
        if (host == null) {
            return;
        }
        for (long offset = 0; offset < size; offset += STAGE) {
            MemorySegment part = host.asSlice(0, Math.min(STAGE, size - offset));
            if (fill) {
                work.at(part, offset);
                allocator.copyFromHost(part, request.range.slice(offset, part.byteSize()));
            } else {
                allocator.copyToHost(request.range.slice(offset, part.byteSize()), part);
                work.at(part, offset);
            }
        }
    }

    IoJob job() {
        return job;
    }

    Histogram latencies() {
        return latencies;
    }

    long bytes() {
        return bytes;
    }

    long operations() {
        return operations;
    }

    long startNanos() {
        return startNanos;
    }

    long endNanos() {
        return endNanos;
    }
}
