package io.gds4j.loader.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.CuFileStream.Cells;
import io.gds4j.HostStream;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Budget;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorInTurn;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.TensorsInTurn;
import io.gds4j.loader.faults.Operation.Io;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.MatrixSaves;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** The table of operations. Each attempts twice: the second attempt follows a failure, and must succeed. */
final class Operations {
    private static final int SIZE = Stage.SIZE;
    private static final int ROUNDS = 2;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private Operations() {
    }

    static List<Operation> all() {
        List<Operation> all = new ArrayList<>();
        for (MemoryKind kind : List.of(MemoryKind.HOST, MemoryKind.CUDA_DEVICE)) {
            for (Io io : Io.values()) {
                all.add(Operation.of("read", kind, io, Operations::read));
                all.add(Operation.of("write", kind, io, Operations::write));
            }
            all.add(Operation.of("async", kind, Io.DIRECT, Operations::readAsync));
            all.add(Operation.of("virtual", kind, Io.DIRECT, Operations::readVirtually));
            all.add(Operation.of("batch", kind, Io.DIRECT, Operations::batch));
            all.add(Operation.of("scatter", kind, Io.DIRECT, Operations::scatter));
            all.add(Operation.of("gather", kind, Io.DIRECT, Operations::gather));
            all.add(Operation.of("ranges", kind, Io.DIRECT, Operations::ranges));
            all.add(Operation.of("register", kind, Io.DIRECT, Operations::register));
            all.add(Operation.of("load", kind, Io.CACHED, Operations::load));
            all.add(Operation.of("in turn", kind, Io.CACHED, Operations::inTurn));
            all.add(Operation.of("save", kind, Io.CACHED, MatrixSaves::save));
        }
        all.add(Operation.of("sharded save", MemoryKind.HOST, Io.CACHED, MatrixSaves::saveSharded));
        all.add(Operation.of("verify", MemoryKind.HOST, Io.CACHED, MatrixSaves::verify));
        all.add(Operation.of("read", MemoryKind.CUDA_MANAGED, Io.DIRECT, Operations::read));
        all.add(Operation.of("stream", MemoryKind.HOST, Io.DIRECT, Operations::hostStream));
        all.add(Operation.of("stream", MemoryKind.CUDA_DEVICE, Io.DIRECT, Operations::stream));
        for (MemoryKind kind : MemoryKind.values()) {
            all.add(Operation.of("allocate", kind, Io.BUFFERED, Operations::allocate));
            all.add(Operation.of("free", kind, Io.BUFFERED, Operations::free));
        }
        all.add(Operation.of("free late", MemoryKind.CUDA_POOL, Io.BUFFERED, Operations::freeLate));
        all.add(new Operation("open", "file", Io.DIRECT, Operations::open));
        all.add(new Operation("open", "driver", Io.DIRECT, Operations::openDriver));
        all.add(new Operation("close", "file", Io.DIRECT, Operations::close));
        all.add(new Operation("close", "driver", Io.DIRECT, Operations::closeDriver));
        all.add(Operation.of("prepare", MemoryKind.CUDA_DEVICE, Io.DIRECT, Operations::prepare));
        all.add(Operation.of("trim", MemoryKind.CUDA_DEVICE, Io.DIRECT, Operations::trim));
        all.add(new Operation("size", "file", Io.BUFFERED, Operations::size));
        for (MemoryKind kind : List.of(MemoryKind.HOST, MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_MANAGED)) {
            all.add(Operation.of("copy", kind, Io.BUFFERED, Operations::copy));
        }
        all.addAll(SpreadOperations.all());
        return all;
    }

    /** A read of the whole file. */
    private interface Read {
        long run(CuFileHandle handle, MemoryRange memory) throws Exception;
    }

    private static void read(Stage stage, MemoryKind kind) throws Exception {
        read(stage, kind, (handle, memory) -> handle.read(memory, 0));
    }

    /** Reads on a virtual thread, whose CUDA calls other threads make. */
    private static void readVirtually(Stage stage, MemoryKind kind) throws Exception {
        read(stage, kind, (handle, memory) -> {
            FutureTask<Long> read = new FutureTask<>(() -> handle.read(memory, 0));
            Thread.ofVirtual().start(read);
            return get(read);
        });
    }

    private static void readAsync(Stage stage, MemoryKind kind) throws Exception {
        IoResult result = new IoResult();
        read(stage, kind, (handle, memory) -> {
            try {
                long bytes = get(handle.readAsync(memory, SIZE, 0, 0, result));
                moved(result, bytes);
                return bytes;
            } catch (CuFileException e) {
                assertThat(result.error()).as("reported error").containsSame(e);
                assertThat(result.moved()).as("reported bytes").isEqualTo(Math.max(0, e.bytesTransferred()));
                throw e;
            }
        });
    }

    private static long get(Future<Long> read) throws Exception {
        try {
            return read.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof CuFileException failure ? failure : e;
        }
    }

    private static void read(Stage stage, MemoryKind kind, Read read) throws Exception {
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); GuardedMemory memory = stage.memory(kind)) {
            for (int round = 0; round < ROUNDS; round++) {
                Optional<Long> moved = stage.attempt(() -> read.run(handle, memory.range()));
                arrived(stage, moved, memory, file);
            }
        }
    }

    /** Checks the bytes of a read from the beginning of the file; those past the count are unspecified after a failure. */
    private static void arrived(Stage stage, Optional<Long> moved, GuardedMemory memory, GuardedFile file) {
        int count = Math.toIntExact(moved.orElseGet(stage::bytesTransferred));
        moved.ifPresent(all -> assertThat(all).as("bytes read").isEqualTo(SIZE));
        memory.expect(0, file.expected(0, count));
        memory.accept(count, SIZE - count);
        memory.verify();
    }

    /** Checks the bytes of a write to the beginning of the file; those past the count are unspecified after a failure. */
    static void written(Stage stage, Optional<Long> moved, byte[] content, GuardedFile file) throws Exception {
        int count = Math.toIntExact(moved.orElseGet(stage::bytesTransferred));
        moved.ifPresent(all -> assertThat(all).as("bytes written").isEqualTo(content.length));
        file.expectWrite(0, Arrays.copyOf(content, count));
        file.accept(count, content.length - count);
        file.verify();
    }

    private static void write(Stage stage, MemoryKind kind) throws Exception {
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); GuardedMemory memory = stage.memory(kind)) {
            for (int round = 0; round < ROUNDS; round++) {
                Optional<Long> moved = stage.attempt(() -> handle.write(memory.range(), 0));
                written(stage, moved, memory.expected(0, SIZE), file);
                memory.verify();
            }
        }
    }

    /** Four reads; the last one begins past the end of the file. */
    private static void batch(Stage stage, MemoryKind kind) throws Exception {
        int part = 40_000;
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); GuardedMemory memory = stage.memory(kind)) {
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                requests.add(Request.read(handle, memory.range(), part, (long) i * part, (long) i * part));
            }
            requests.add(Request.read(handle, memory.range(), part, 2L * SIZE, 3L * part));
            requests.replaceAll(request -> request.reportTo(new IoResult()));
            for (int round = 0; round < ROUNDS; round++) {
                Optional<List<Completion>> done = stage.attempt(() -> {
                    try (CuFileBatch batch = stage.driver().batch(4)) {
                        batch.submit(requests);
                        return batch.await(4, PATIENCE);
                    }
                });
                if (done.isEmpty()) {
                    memory.accept(0, SIZE);
                } else {
                    assertThat(done.get()).as("completions").hasSize(4);
                    for (Completion one : done.get()) {
                        int at = Math.toIntExact(one.request().bufferOffset());
                        if (one.isComplete()) {
                            byte[] expected = file.expected(one.request().fileOffset(), part);
                            assertThat(one.bytes()).as("bytes of an entry").isEqualTo(expected.length);
                            moved(one.report().orElseThrow(), expected.length);
                            memory.expect(at, expected);
                        } else {
                            assertThat(one.report().orElseThrow().error()).as("failure of an entry").isPresent();
                            memory.accept(at, part);
                        }
                    }
                }
                memory.verify();
            }
        }
    }

    /** Checks the report of a request that succeeded. A backend may have moved bytes twice. */
    private static void moved(IoResult result, long bytes) {
        assertThat(result.error()).as("reported error").isEmpty();
        assertThat(result.moved()).as("reported bytes").isEqualTo(bytes);
        assertThat(result.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).as("bytes of all paths")
                .isBetween(bytes, 2 * bytes);
    }

    private static void stream(Stage stage, MemoryKind kind) throws Exception {
        stage.withStream((stream, synchronize) -> streamed(stage, kind, stream, synchronize));
    }

    private static void hostStream(Stage stage, MemoryKind kind) throws Exception {
        try (HostStream stream = HostStream.create()) {
            streamed(stage, kind, stream.address(), () -> {
                try {
                    stream.synchronize();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
        }
    }

    /** A read of the first half, and a write of the second one to the same place. */
    private static void streamed(Stage stage, MemoryKind kind, long stream, Runnable synchronize) throws Exception {
        int half = SIZE / 2;
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); GuardedMemory memory = stage.memory(kind)) {
            for (int round = 0; round < ROUNDS; round++) {
                Cells read = Cells.of(half, 0, 0);
                Cells written = Cells.of(half, half, half);
                IoResult readReport = new IoResult();
                IoResult writeReport = new IoResult();
                boolean[] entered = new boolean[2];
                stage.attempt(() -> {
                    try (CuFileStream ordered = stage.driver().stream(stream, Set.of())) {
                        ordered.read(handle, memory.range(), read, readReport);
                        entered[0] = true;
                        ordered.write(handle, memory.range(), written, writeReport);
                        entered[1] = true;
                        synchronize.run();
                    } finally {
                        synchronize.run();
                    }
                    return true;
                });
                int count = entered[0] && read.bytesDone() >= 0 ? Math.toIntExact(read.bytesDone()) : 0;
                assertThat(count).as("bytes of the stream's read").isIn(0, half);
                assertThat(readReport.moved()).as("report of the stream's read").isEqualTo(count);
                memory.expect(0, file.expected(0, count));
                memory.accept(count, half - count);
                memory.verify();
                int out = entered[1] && written.bytesDone() >= 0 ? Math.toIntExact(written.bytesDone()) : 0;
                assertThat(out).as("bytes of the stream's write").isIn(0, half);
                assertThat(writeReport.moved()).as("report of the stream's write").isEqualTo(out);
                file.expectWrite(half, memory.expected(half, out));
                file.accept((long) half + out, half - out);
                file.verify();
                if (round > 0) {
                    assertThat(List.of(count, out)).as("bytes after the failure").containsExactly(half, half);
                }
            }
        }
    }

    /** Rows of 100 of 300 bytes into one memory, and the bytes after them into another one. */
    private static void scatter(Stage stage, MemoryKind kind) throws Exception {
        int rows = 500;
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file);
                GuardedMemory first = stage.memory(kind);
                GuardedMemory second = stage.memory(kind)) {
            List<ScatterCopy> copies = List.of(
                    new ScatterCopy(0, 300, 100, rows, first.range(), 0, 100),
                    new ScatterCopy(rows * 300L, 0, 10_000, 1, second.range(), 50, 0));
            for (int round = 0; round < ROUNDS; round++) {
                Optional<Long> moved = stage.attempt(() -> handle.readScattered(0, SIZE, copies));
                if (moved.isPresent()) {
                    for (int row = 0; row < rows; row++) {
                        first.expect(row * 100, file.expected(row * 300L, 100));
                    }
                    second.expect(50, file.expected(rows * 300L, 10_000));
                } else {
                    first.accept(0, rows * 100);
                    second.accept(50, 10_000);
                }
                first.verify();
                second.verify();
            }
        }
    }

    /** A write of fragments, which lie in memory in the opposite order. */
    private static void gather(Stage stage, MemoryKind kind) throws Exception {
        int fragment = SIZE / 20;
        int all = 20 * fragment;
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); GuardedMemory memory = stage.memory(kind)) {
            List<ScatterCopy> fragments = new ArrayList<>();
            byte[] content = new byte[all];
            for (int i = 0; i < 20; i++) {
                int at = (19 - i) * fragment;
                fragments.add(new ScatterCopy((long) i * fragment, fragment, memory.range(), at));
                System.arraycopy(memory.expected(at, fragment), 0, content, i * fragment, fragment);
            }
            for (int round = 0; round < ROUNDS; round++) {
                Optional<Long> moved = stage.attempt(() -> handle.writeScattered(0, all, fragments));
                written(stage, moved, content, file);
                memory.verify();
            }
        }
    }

    /** Ranges in one call: neighbours, one on its own, and one past the end of the file. */
    private static void ranges(Stage stage, MemoryKind kind) throws Exception {
        int part = 10_000;
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); GuardedMemory memory = stage.memory(kind)) {
            List<RangeRead> ranges = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                long from = i < 4 ? (long) i * part : i == 4 ? 5L * part : 2L * SIZE;
                ranges.add(RangeRead.of(handle, memory.range(), part, from, (long) i * part));
            }
            IoResults results = new IoResults();
            for (int round = 0; round < ROUNDS; round++) {
                Optional<Long> moved = stage.attempt(() -> {
                    stage.driver().readRanges(ranges, results);
                    return results.moved();
                });
                moved.ifPresent(bytes -> assertThat(bytes).as("bytes of all ranges").isEqualTo(5L * part));
                for (int i = 0; i < 6; i++) {
                    int count = Math.toIntExact(results.get(i).moved());
                    memory.expect(i * part, file.expected(ranges.get(i).fileOffset(), count));
                    memory.accept(i * part + count, part - count);
                }
                memory.verify();
            }
        }
    }

    private static void register(Stage stage, MemoryKind kind) throws Exception {
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); GuardedMemory memory = stage.memory(kind)) {
            for (int round = 0; round < ROUNDS; round++) {
                Optional<Long> moved = stage.attempt(() -> {
                    try (CuFileBuffer buffer = stage.driver().registerBuffer(memory.range())) {
                        return handle.read(buffer, 0);
                    }
                });
                arrived(stage, moved, memory, file);
            }
        }
    }

    private static void allocate(Stage stage, MemoryKind kind) throws Exception {
        stage.driver();
        for (int round = 0; round < ROUNDS; round++) {
            Optional<MemoryAllocation> memory =
                    stage.attempt(() -> stage.driver().allocator().allocate(kind, SIZE));
            memory.ifPresent(made -> {
                try (made) {
                    usable(stage, made.range());
                }
            });
        }
    }

    private static void usable(Stage stage, MemoryRange range) {
        byte[] seen = new byte[SIZE];
        stage.driver().allocator().fill(range, (byte) 7);
        stage.driver().allocator().copyToHost(range, MemorySegment.ofArray(seen));
        assertThat(seen).containsOnly(7);
    }

    private static void free(Stage stage, MemoryKind kind) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            MemoryAllocation memory = stage.driver().allocator().allocate(kind, SIZE);
            usable(stage, memory.range());
            stage.attempt(() -> {
                memory.close();
                return true;
            });
            memory.close();
        }
    }

    /** Frees memory after its driver was closed. */
    private static void freeLate(Stage stage, MemoryKind kind) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            MemoryAllocation memory = stage.driver().allocator().allocate(kind, SIZE);
            usable(stage, memory.range());
            stage.close();
            stage.attempt(() -> {
                memory.close();
                return true;
            });
        }
    }

    private static void open(Stage stage) throws Exception {
        GuardedFile file = stage.file();
        try (GuardedMemory memory = stage.memory(MemoryKind.HOST)) {
            for (int round = 0; round < ROUNDS; round++) {
                Optional<CuFileHandle> opened = stage.attempt(() -> stage.open(file));
                if (opened.isPresent()) {
                    try (CuFileHandle handle = opened.get()) {
                        arrived(stage, Optional.of(handle.read(memory.range(), 0)), memory, file);
                    }
                }
            }
        }
    }

    private static void openDriver(Stage stage) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Optional<CuFileDriver> opened = stage.attempt(stage::openDriver);
            opened.ifPresent(stage::adopt);
            if (opened.isPresent()) {
                readOnce(stage);
                stage.close();
            }
        }
    }

    private static void readOnce(Stage stage) {
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file);
                GuardedMemory memory = stage.memory(MemoryKind.CUDA_DEVICE)) {
            arrived(stage, Optional.of(handle.read(memory.range(), 0)), memory, file);
        }
    }

    private static void close(Stage stage) throws Exception {
        GuardedFile file = stage.file();
        try (GuardedMemory memory = stage.memory(MemoryKind.CUDA_DEVICE)) {
            for (int round = 0; round < ROUNDS; round++) {
                CuFileHandle handle = stage.open(file);
                arrived(stage, Optional.of(handle.read(memory.range(), 0)), memory, file);
                stage.attempt(() -> {
                    handle.close();
                    return true;
                });
                assertThat(handle.isOpen()).as("open after close").isFalse();
                handle.close();
            }
        }
    }

    /** Closes a driver whose file, registration, batch and stream are open. */
    private static void closeDriver(Stage stage) throws Exception {
        GuardedFile file = stage.file();
        for (int round = 0; round < ROUNDS; round++) {
            CuFileDriver driver = stage.driver();
            try (GuardedMemory memory = stage.memory(MemoryKind.CUDA_DEVICE)) {
                stage.withStream((raw, synchronize) -> {
                    CuFileHandle handle = stage.open(file);
                    CuFileBuffer buffer = driver.registerBuffer(memory.range());
                    CuFileBatch batch = driver.batch(2);
                    CuFileStream stream = driver.stream(raw, Set.of());
                    arrived(stage, Optional.of(handle.read(buffer, 0)), memory, file);
                    stage.attempt(() -> {
                        driver.close();
                        return true;
                    });
                    assertThat(
                            List.of(driver.isOpen(), handle.isOpen(), buffer.isOpen(), batch.isOpen(), stream.isOpen()))
                            .as("open after close")
                            .containsOnly(false);
                    driver.close();
                });
            }
            stage.forgetDriver();
        }
    }

    private static void trim(Stage stage, MemoryKind kind) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            readOnce(stage);
            stage.attempt(() -> {
                stage.driver().trim();
                return true;
            });
        }
    }

    private static void copy(Stage stage, MemoryKind kind) throws Exception {
        try (MemoryAllocation memory = stage.driver().allocator().allocate(kind, SIZE)) {
            for (int round = 0; round < ROUNDS; round++) {
                stage.attempt(() -> {
                    usable(stage, memory.range());
                    return true;
                });
            }
        }
    }

    /** Forces a file to the disk, cuts it and reserves blocks. Opens it each time: a failed force stays failed until the close. */
    private static void size(Stage stage) throws Exception {
        GuardedFile file = stage.file();
        for (int round = 0; round < ROUNDS; round++) {
            try (CuFileHandle handle = stage.open(file)) {
                Optional<Boolean> done = stage.attempt(() -> {
                    handle.force(true);
                    handle.truncate(SIZE / 2);
                    handle.reserve(SIZE);
                    return handle.version().size() == handle.size();
                });
                done.ifPresent(agrees -> {
                    assertThat(agrees).as("size and version agree").isTrue();
                    file.expectSize(SIZE / 2);
                    file.expectSize(SIZE);
                    file.verify();
                });
            }
        }
    }

    private static void prepare(Stage stage, MemoryKind kind) throws Exception {
        stage.driver();
        for (int round = 0; round < ROUNDS; round++) {
            stage.attempt(() -> {
                stage.driver().allocator().prepare(kind, 0);
                return true;
            });
            readOnce(stage);
        }
    }

    private static void load(Stage stage, MemoryKind kind) throws Exception {
        TensorPattern pattern = new TensorPattern(13);
        Path path = stage.folder().resolve("model.safetensors");
        new SafetensorsWriter(path)
                .tensor("w", DType.BF16, 209, 251)
                .tensor("q", DType.U8, 4095)
                .tensor("e", DType.F32, 77)
                .write(pattern);
        stage.driver();
        for (int round = 0; round < ROUNDS; round++) {
            Optional<LoadedTensors> loaded = stage.attempt(() -> Checkpoint.open(path)
                    .plan()
                    .to(kind, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE)
                    .load(stage.driver()));
            if (loaded.isPresent()) {
                try (LoadedTensors tensors = loaded.get()) {
                    for (LoadedTensor tensor : tensors.tensors()) {
                        byte[] bytes = new byte[Math.toIntExact(tensor.length())];
                        tensors.copyToHost(tensor.info().name(), MemorySegment.ofArray(bytes));
                        assertThat(pattern.mismatch(tensor.info().name(), 0, MemorySegment.ofArray(bytes)))
                                .as("first wrong byte of %s", tensor.info().name())
                                .isEqualTo(-1);
                    }
                }
            }
        }
    }

    /** Tensors that take turns in memory for about two of them, which the stream gives back. */
    private static void inTurn(Stage stage, MemoryKind kind) throws Exception {
        if (kind.isCuda()) {
            stage.withStream((stream, synchronize) -> inTurn(stage, kind, stream));
            return;
        }
        try (HostStream stream = HostStream.create()) {
            inTurn(stage, kind, stream.address());
        }
    }

    private static void inTurn(Stage stage, MemoryKind kind, long stream) throws Exception {
        TensorPattern pattern = new TensorPattern(14);
        Path path = stage.folder().resolve("turns.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(path);
        for (int i = 0; i < 5; i++) {
            writer.tensor("w" + i, DType.BF16, 209, 251).tensor("e" + i, DType.F32, 77);
        }
        writer.write(pattern);
        stage.driver();
        for (int round = 0; round < ROUNDS; round++) {
            Optional<Integer> count = stage.attempt(() -> {
                int seen = 0;
                try (CuFileStream ordered = stage.driver().stream(stream, Set.of());
                        TensorsInTurn tensors = Checkpoint.open(path).plan()
                                .to(kind, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE)
                                .inTurn(stage.driver(), Budget.bytes(1200 << 10))) {
                    for (TensorInTurn turn : tensors) {
                        byte[] bytes = new byte[Math.toIntExact(turn.tensor().length())];
                        stage.driver().allocator().copyToHost(turn.tensor().range(), MemorySegment.ofArray(bytes));
                        assertThat(pattern.mismatch(turn.tensor().name(), 0, MemorySegment.ofArray(bytes)))
                                .as("first wrong byte of %s", turn.tensor().name()).isEqualTo(-1);
                        turn.close(ordered);
                        seen++;
                    }
                }
                return seen;
            });
            count.ifPresent(seen -> assertThat(seen).as("tensors in turn").isEqualTo(10));
        }
    }
}
