package io.gds4j.testkit.random;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.CuFileStream.Cells;
import io.gds4j.IoResult;
import io.gds4j.StreamFlag;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * Operations on a stream of the program, between copies and fills of the program that show the order. Arguments are bound at submission or
 * when the stream comes to them; the stream may wait for the program meanwhile.
 */
final class StreamSteps {
    private static final int MAX_OPERATIONS = 7;
    private static final int CELL = 8;
    private static final int CELLS = 4;
    private static final int MAX_SKEW = 4000;
    private static final int MAX_FRAGMENTS = 40;
    private static final long MAX_HOLD_NANOS = 5_000_000;

    private final Bench bench;
    private final OwnFile own;
    private final ProgramStream program;
    private final MemoryAllocation pinned;
    private final MemorySegment cells;
    private final Set<StreamFlag> flags = EnumSet.noneOf(StreamFlag.class);
    private CuFileStream stream;

    /**
     * An operation in the stream.
     *
     * @param place first byte of its part of the memory
     * @param fails whether its arguments are wrong when the stream comes to them, or its source is bad
     */
    private record Queued(
            String text, Cells cells, int place, long expected, boolean fails, Optional<IoResult> report) {
    }

    StreamSteps(Bench bench, OwnFile own) {
        this.bench = bench;
        this.own = own;
        this.program = bench.ground.newStream();
        MemoryAllocator allocator = bench.ground.driver().allocator();
        MemoryKind kind = bench.ground.gpu.isPresent() ? MemoryKind.HOST_PINNED : MemoryKind.HOST;
        this.pinned = allocator.allocate(kind, 2L * MAX_OPERATIONS * CELLS * CELL);
        this.cells = pinned.range().segment().orElseThrow();
        this.stream = register();
    }

    private CuFileStream register() {
        flags.clear();
        switch (bench.random.nextInt(4)) {
            case 0 -> flags.addAll(EnumSet.of(
                    StreamFlag.FIXED_BUFFER_OFFSET, StreamFlag.FIXED_FILE_OFFSET, StreamFlag.FIXED_FILE_SIZE));
            case 1 -> flags.add(StreamFlag.FIXED_FILE_OFFSET);
            default -> {
                // all arguments may be late
            }
        }
        return bench.ground.driver().stream(program.address(), flags);
    }

    private Cells cells(int i) {
        long at = (long) i * CELLS * CELL;
        return new Cells(
                cells.asSlice(at, CELL), cells.asSlice(at + CELL, CELL), cells.asSlice(at + 2 * CELL, CELL),
                cells.asSlice(at + 3 * CELL, CELL));
    }

    private MemorySegment arguments(int i) {
        return cells.asSlice((long) i * CELLS * CELL, (CELLS - 1) * CELL);
    }

    private static void set(MemorySegment arguments, long size, long fileOffset, long bufferOffset) {
        arguments.setAtIndex(ValueLayout.JAVA_LONG, 0, size);
        arguments.setAtIndex(ValueLayout.JAVA_LONG, 1, fileOffset);
        arguments.setAtIndex(ValueLayout.JAVA_LONG, 2, bufferOffset);
    }

    /** Queues some operations, waits for the stream, and checks results and bytes. */
    void step() {
        if (bench.random.nextInt(20) == 0) {
            stream.close();
            stream = register();
        }
        Bench.Target target = bench.target();
        int operations = Math.min(bench.random.nextInt(1, MAX_OPERATIONS), 1 + target.room() / (3 * MAX_SKEW));
        boolean reached = program.reaches(target.range());
        boolean held = bench.random.nextInt(5) == 0;
        // Another thread lets the stream go on: CUDA's copies between host memories wait for the stream in the call.
        long nanos = bench.random.nextLong(MAX_HOLD_NANOS);
        Runnable release = held ? program.hold() : () -> {
        };
        Thread releasing = Thread.ofVirtual().unstarted(() -> {
            LockSupport.parkNanos(nanos);
            release.run();
        });
        bench.log.add("stream %s of %s operations to %s%s", flags, operations, target.memory(), held ? ", held" : "");
        int room = target.room() / operations;
        releasing.start();
        List<Queued> queued = queue(target, operations, room, reached);
        synchronize();
        for (Queued operation : queued) {
            if (operation.fails) {
                bench.accept(target, operation.place, room);
            }
            check(operation);
        }
        bench.verify(target, 0, room * operations);
    }

    /** Queues operations; a failing one is the last, because what later ones move then is not defined. */
    private List<Queued> queue(Bench.Target target, int operations, int room, boolean reached) {
        List<Queued> queued = new ArrayList<>();
        for (int i = 0; i < operations; i++) {
            int at = (i > 0 && bench.random.nextInt(3) == 0 ? i - 1 : i) * room;
            if (reached && bench.random.nextInt(3) == 0) {
                fill(target, at, room);
            }
            Queued operation = bench.random.nextInt(4) == 0
                    ? write(i, target, at, room)
                    : read(i, target, at, room, i == operations - 1);
            queued.add(operation);
            if (!operation.fails && reached && bench.random.nextInt(3) == 0) {
                copyElsewhere(target, at, room);
            }
        }
        return queued;
    }

    private void synchronize() {
        try {
            program.synchronize();
        } catch (InterruptedException e) {
            throw new AssertionError("the program interrupts no thread here", e);
        }
    }

    private void fill(Bench.Target target, int at, int room) {
        byte value = (byte) bench.random.nextInt();
        bench.log.add("  fill %s at %s", room, at);
        program.fill(target.range().slice(at, room), value);
        byte[] bytes = new byte[room];
        Arrays.fill(bytes, value);
        bench.expect(target, at, bytes);
    }

    /** Copies a part to another memory: what later operations of the stream do must not show there. */
    private void copyElsewhere(Bench.Target target, int at, int room) {
        for (Bench.Target other : bench.all()) {
            if (other.memory() != target.memory() && other.room() >= room && program.reaches(other.range())) {
                bench.log.add("  copy %s at %s to %s", room, at, other.memory());
                program.copy(target.range().slice(at, room), other.range().slice(0, room));
                bench.expect(other, 0, bench.expected(target, at, room));
                return;
            }
        }
    }

    private Queued write(int i, Bench.Target target, int at, int room) {
        int fileOffset = own.anyOffset();
        int skew = skew(room);
        int size = Math.min(bench.sizes.size(room - skew), OwnFile.MAX_BYTES - fileOffset);
        if (size > 0 && bench.random.nextInt(3) == 0) {
            List<ScatterCopy> fragments = fragments(target, at + skew, size);
            bench.log.add("  write %s at %s from %s fragments at %s", size, fileOffset, fragments.size(), at + skew);
            byte[] content = new byte[size];
            for (ScatterCopy fragment : fragments) {
                int length = (int) fragment.width();
                byte[] bytes = bench.expected(target, (int) fragment.destinationOffset(), length);
                System.arraycopy(bytes, 0, content, (int) fragment.sourceOffset(), length);
            }
            Cells scattered = stream.writeScattered(own.writable(), fileOffset, size, fragments);
            own.expectWrite(fileOffset, content);
            bench.ground.count(1, size);
            return new Queued("scattered write of %s at %s".formatted(size, fileOffset), scattered, at, size, false,
                    Optional.empty());
        }
        int bound = bind(i, size, fileOffset, at + skew);
        bench.log.add("  write %s of %s at %s from %s", bound, size, fileOffset, at + skew);
        Optional<IoResult> report = bench.report();
        report.ifPresentOrElse(
                result -> stream.write(own.writable(), target.io(), cells(i), result),
                () -> stream.write(own.writable(), target.io(), cells(i)));
        own.expectWrite(fileOffset, bench.expected(target, at + skew, bound));
        bench.ground.count(1, bound);
        return new Queued("write of %s at %s".formatted(bound, fileOffset), cells(i), at, bound, false, report);
    }

    /** Cuts a part of the memory into fragments, the last one first in the file. */
    private List<ScatterCopy> fragments(Bench.Target target, int at, int size) {
        List<ScatterCopy> fragments = new ArrayList<>();
        int most = Math.max(1, size / (1 + bench.random.nextInt(MAX_FRAGMENTS)));
        for (int done = 0; done < size;) {
            int bytes = Math.min(size - done, 1 + bench.random.nextInt(most));
            fragments.add(new ScatterCopy((long) size - done - bytes, bytes, target.io(), (long) at + done));
            done += bytes;
        }
        return fragments;
    }

    private int skew(int room) {
        return bench.random.nextInt(Math.min(room, MAX_SKEW));
    }

    private Queued read(int i, Bench.Target target, int at, int room, boolean last) {
        boolean back = bench.random.nextInt(4) == 0;
        DataFile file = bench.ground.anyData(bench.random);
        boolean bySource = !back && last && bench.random.nextInt(4) == 0 && file.source().isPresent();
        CuFileHandle handle =
                back ? own.readable() : bySource ? file.source().get() : file.any(bench.random);
        int end = back ? own.size() : file.size();
        int fileOffset = bench.sizes.offset(end + Bench.PAGE, end);
        int skew = skew(room);
        int size = bench.sizes.size(room - skew);
        if (!bySource && size > 0 && bench.random.nextInt(3) == 0) {
            byte[] content = back ? own.expected(fileOffset, size) : file.bytes(fileOffset, size);
            return readFragments(target, at, fragments(target, at + skew, size), handle, fileOffset, size, content);
        }
        boolean wrong = last && !bySource && size > 0 && isLate() && bench.random.nextInt(6) == 0;
        int bound = bind(i, size, fileOffset, at + skew);
        if (wrong) {
            set(arguments(MAX_OPERATIONS + i), size, fileOffset, bench.random.nextBoolean() ? 2L * target.room() : -5);
            program.copy(arguments(MAX_OPERATIONS + i), arguments(i));
        }
        byte[] expected = back ? own.expected(fileOffset, bound) : file.bytes(fileOffset, bound);
        String text = "read of %s of %s at %s of %s to %s%s".formatted(
                bound, size, fileOffset, back ? "its file" : file, at + skew, wrong ? ", wrong" : "");
        bench.log.add("  %s", text);
        Optional<IoResult> report = bench.report();
        report.ifPresentOrElse(
                result -> stream.read(handle, target.io(), cells(i), result),
                () -> stream.read(handle, target.io(), cells(i)));
        boolean fails = bySource && file.isHole(fileOffset, bound) || wrong;
        if (!fails) {
            bench.expect(target, at + skew, expected);
        }
        bench.ground.count(1, expected.length);
        return new Queued(text, cells(i), at, expected.length, fails, report);
    }

    private Queued readFragments(
            Bench.Target target, int at, List<ScatterCopy> fragments, CuFileHandle handle, int fileOffset, int size,
            byte[] content) {
        String text = "read of %s at %s to %s fragments".formatted(size, fileOffset, fragments.size());
        bench.log.add("  %s", text);
        Cells scattered = stream.readScattered(handle, fileOffset, size, fragments);
        for (ScatterCopy fragment : fragments) {
            int from = (int) fragment.sourceOffset();
            if (from < content.length) {
                int to = (int) Math.min(fragment.sourceEnd(), content.length);
                bench.expect(target, (int) fragment.destinationOffset(), Arrays.copyOfRange(content, from, to));
            }
        }
        bench.ground.count(1, content.length);
        return new Queued(text, scattered, at, content.length, false, Optional.empty());
    }

    private boolean isLate() {
        return flags.isEmpty();
    }

    /** Sets the arguments of an operation, or has the stream set smaller ones later. Returns the size that counts. */
    private int bind(int i, int size, int fileOffset, int bufferOffset) {
        cells(i).result().set(ValueLayout.JAVA_LONG, 0, Long.MIN_VALUE);
        boolean late = flags.size() < 3 && bench.random.nextInt(5) < 3;
        if (!late) {
            set(arguments(i), size, fileOffset, bufferOffset);
            return size;
        }
        int bound = size == 0 ? 0 : bench.random.nextInt(size + 1);
        set(arguments(i), size, isLate() && bench.random.nextBoolean() ? 0 : fileOffset, 0);
        set(arguments(MAX_OPERATIONS + i), bound, fileOffset, bufferOffset);
        program.copy(arguments(MAX_OPERATIONS + i), arguments(i));
        return bound;
    }

    private void check(Queued operation) {
        long result = operation.cells.bytesDone();
        if (operation.fails ? result >= 0 : result != operation.expected) {
            throw new AssertionError("%s gave %s, expected %s".formatted(
                    operation.text, result, operation.fails ? "a failure" : operation.expected));
        }
        operation.report.ifPresent(report -> Bench.checkReport(report, operation.fails, operation.expected));
    }

    /** Ends the registration and the stream of the program. */
    void close() {
        stream.close();
        program.close();
        pinned.close();
    }
}
