package io.gds4j.libcufile;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cufile.RawLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** Cases of batches and streams, by the public API. */
final class ApiBatchCases {
    private static final long MIB = RawLibrary.MIB;
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final ApiAnswers answers;

    ApiBatchCases(ApiAnswers answers) {
        this.answers = answers;
    }

    void batches() {
        CuFileDriver driver = answers.open();
        answers.row("open", "ok");
        CuFileHandle handle = driver.openFile(answers.file(), CuFileOpenOption.DIRECT);
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, RawLibrary.BYTES);
        MemoryRange range = memory.range();
        answers.does("setup 0", () -> driver.batch(0).close());
        answers.does("setup 129", () -> driver.batch(129).close());
        answers.does("setup 100000", () -> driver.batch(100_000).close());
        CuFileBatch batch = driver.batch(4);
        answers.row("setup 4", "ok");
        List<Request> eight = IntStream.range(0, 8)
                .mapToObj(i -> Request.read(handle, range, 4096, i * 4096L, i * 4096L))
                .toList();
        answers.does("submit null", () -> batch.submit(Collections.singletonList(null)));
        answers.does("submit 0", () -> batch.submit(List.of()));
        answers.does("submit 8 of 4", () -> batch.submit(eight));
        answers.does("getStatus min0", () -> batch.await(0, SECOND));
        answers.does("submit 4", () -> batch.submit(eight.subList(0, 4)));
        answers.asks("event after submit 4", () -> batch.await(4, SECOND).stream().map(Completion::bytes).toList());
        answers.asks("getStatus nothing outstanding", () -> batch.await(0, SECOND));
        answers.does("submit null fh", () -> batch.submit(List.of(Request.read(null, range, 4096, 0, 0))));
        entry(batch, "submit past EOF", "event past EOF", Request.read(
                handle, range, 4096, 2L * RawLibrary.BYTES, 0));
        entry(batch, "submit unaligned", "event of unaligned", Request.read(handle, range, 1000, 3, 0));
        entry(batch, "submit negative off", "event of negative off", Request.read(handle, range, 1000, -4096, 0));
        answers.does("cancel idle", batch::cancel);
        batch.close();
        handle.close();
        memory.close();
        answers.does("close", driver::close);
    }

    private void entry(CuFileBatch batch, String submit, String event, Request request) {
        answers.does(submit, () -> batch.submit(List.of(request)));
        answers.asks(event, () -> batch.await(1, SECOND).stream().map(Completion::bytes).toList());
    }

    void streams() {
        CuFileDriver driver = answers.open();
        answers.row("open", "ok");
        CuFileHandle handle = driver.openFile(answers.file(), CuFileOpenOption.DIRECT);
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, RawLibrary.BYTES);
        Cuda cuda = answers.cuda();
        long[] made = new long[1];
        RawLibrary.succeed(cuda.ctxPushCurrent(answers.primaryContext()));
        RawLibrary.succeed(cuda.streamCreate(made, Cuda.STREAM_NON_BLOCKING));
        CuFileStream first = driver.stream(made[0], Set.of());
        answers.row("streamRegister flags 0", "ok");
        answers.does("streamRegister twice", () -> driver.stream(made[0], Set.of()));
        answers.does("streamDeregister", first::close);
        answers.does("streamDeregister twice", first::close);
        answers.does("streamRegister null stream", () -> driver.stream(0, Set.of()).close());
        try (CuFileStream stream = driver.stream(made[0], Set.of())) {
            operations(cuda, stream, handle, memory.range());
        }
        try (CuFileStream stream = driver.stream(0, Set.of())) {
            answers.does("async default stream", () -> stream.read(handle, memory.range(), cells(1000, 3, 5)));
            RawLibrary.succeed(cuda.streamSynchronize(0));
        }
        RawLibrary.succeed(cuda.streamDestroy(made[0]));
        handle.close();
        memory.close();
        answers.does("close", driver::close);
    }

    private void operations(Cuda cuda, CuFileStream stream, CuFileHandle handle, MemoryRange memory) {
        async(cuda, "async plain", stream, handle, memory, 4096, 0, 0);
        async(cuda, "async size 0", stream, handle, memory, 0, 0, 0);
        async(cuda, "async neg off", stream, handle, memory, 4096, -1, 0);
        async(cuda, "async past EOF", stream, handle, memory, 4096, 2L * RawLibrary.BYTES, 0);
        async(cuda, "async neg buf off", stream, handle, memory, 4096, 0, -1);
        async(cuda, "async big buf off", stream, handle, memory, 4096, 0, 64 * MIB);
        async(cuda, "async size>alloc", stream, handle, memory, 64 * MIB, 0, 0);
        async(cuda, "async unaligned", stream, handle, memory, 1000, 3, 5);
        MemorySegment none = MemorySegment.NULL;
        answers.does("async null ptrs",
                () -> stream.read(handle, memory, new CuFileStream.Cells(none, none, none, none)));
        answers.does("async null handle", () -> stream.read(null, memory, cells(1000, 3, 5)));
    }

    private void async(
            Cuda cuda,
            String name,
            CuFileStream stream,
            CuFileHandle handle,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset) {
        CuFileStream.Cells cells = cells(size, fileOffset, bufferOffset);
        answers.does(name, () -> stream.read(handle, memory, cells));
        RawLibrary.succeed(cuda.streamSynchronize(stream.address()));
        answers.row(name + ": bytes", Long.toString(cells.bytesDone()));
    }

    private static CuFileStream.Cells cells(long size, long fileOffset, long bufferOffset) {
        Arena arena = Arena.global();
        return new CuFileStream.Cells(
                arena.allocateFrom(JAVA_LONG, size),
                arena.allocateFrom(JAVA_LONG, fileOffset),
                arena.allocateFrom(JAVA_LONG, bufferOffset),
                arena.allocateFrom(JAVA_LONG, -77));
    }
}
