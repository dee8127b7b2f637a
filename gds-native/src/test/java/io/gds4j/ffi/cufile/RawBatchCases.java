package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;

/** Cases of batches and streams. */
final class RawBatchCases {
    private static final int ENTRIES = 8;
    private static final long MIB = RawLibrary.MIB;

    private final RawLibrary library;
    private final CuFileCalls calls;
    private final MemorySegment params;
    private final MemorySegment events;
    private final MemorySegment second;
    private long batch;

    RawBatchCases(RawLibrary library) {
        this.library = library;
        this.calls = library.calls;
        this.params = library.arena.allocate(IoParams.LAYOUT, ENTRIES);
        this.events = library.arena.allocate(IoEvents.LAYOUT, ENTRIES);
        this.second = library.arena.allocate(Timespec.LAYOUT);
        Timespec.write(second, TimeUnit.SECONDS.toNanos(1));
    }

    void withoutAPlaceForTheBatch() {
        library.driverOpen("open");
        library.status("setup null", calls.status(CuFileFunction.BATCH_IO_SET_UP, 0, 4));
    }

    private void setUp(String name, int entries) {
        MemorySegment out = library.cell(0);
        library.status(name, calls.status(CuFileFunction.BATCH_IO_SET_UP, out.address(), entries));
        batch = out.get(JAVA_LONG, 0);
    }

    private void submit(String name, int entries, MemorySegment given, int flags) {
        library.status(name, calls.submit(batch, entries, given, flags));
    }

    /** Asks for one event, for a second at most. Without an event the fields of the row are 0. */
    private void await(String name) {
        events.fill((byte) 0);
        MemorySegment number = library.count(1);
        int error = CuFileResults.error(
                calls.batchStatus(batch, 1, number, events, second));
        library.row(name, "err %d nr %d st %x ret %d".formatted(
                error, number.get(JAVA_INT, 0), IoEvents.status(events, 0), IoEvents.result(events, 0)));
    }

    private void entry(long handle, long size, long fileOffset) {
        IoParams.write(params, 0, handle, false, library.device, size, fileOffset, 0, 100);
    }

    void batches() {
        library.driverOpen("open");
        long handle = library.registerSilently(library.direct);
        setUp("setup 0", 0);
        setUp("setup 129", 129);
        setUp("setup 100000", 100_000);
        setUp("setup 4", 4);
        for (int i = 0; i < ENTRIES; i++) {
            IoParams.write(params, i, handle, false, library.device, 4096, i * 4096L, i * 4096L, 100 + i);
        }
        submit("submit null", 1, MemorySegment.NULL, 0);
        submit("submit 0", 0, params, 0);
        submit("submit 8 of 4", 8, params, 0);
        submit("submit flags 5", 1, params, 5);
        // One entry is inside, so four are too many. When the library refuses them, it loses the event of the first one.
        submit("submit 4", 4, params, 0);
        library.status("getStatus min0",
                calls.batchStatus(batch, 0, library.count(ENTRIES), events, second));
        await("event after submit 4");
        library.status("getStatus nothing outstanding",
                calls.batchStatus(batch, 0, library.count(4), events, second));
        entry(0, 4096, 0);
        submit("submit null fh", 1, params, 0);
        await("event of null fh");
        entry(handle, 4096, 0);
        params.set(JAVA_INT, IoParams.LAYOUT.byteOffset(PathElement
                .groupElement("opcode")), 7);
        submit("submit opcode 7", 1, params, 0);
        await("event of opcode 7");
        entry(handle, 4096, 2L * RawLibrary.BYTES);
        submit("submit past EOF", 1, params, 0);
        await("event past EOF");
        entry(handle, 1000, 3);
        submit("submit unaligned", 1, params, 0);
        await("event of unaligned");
        entry(handle, 1000, -4096);
        submit("submit negative off", 1, params, 0);
        await("event of negative off");
        library.status("cancel idle", calls.status(CuFileFunction.BATCH_IO_CANCEL, batch));
        library.status("cancel null", calls.status(CuFileFunction.BATCH_IO_CANCEL, 0L));
        calls.run(CuFileFunction.BATCH_IO_DESTROY, batch);
        calls.run(CuFileFunction.BATCH_IO_DESTROY, 0);
        library.row("destroy null", "survived");
        library.driverClose("close");
    }

    void streams() {
        library.driverOpen("open");
        long handle = library.registerSilently(library.direct);
        long stream = library.stream();
        streamRegister("streamRegister flags 0", stream, 0);
        streamRegister("streamRegister twice", stream, 0);
        streamDeregister("streamDeregister", stream);
        streamDeregister("streamDeregister twice", stream);
        streamRegister("streamRegister flags 16", stream, 16);
        calls.status(CuFileFunction.STREAM_DEREGISTER, stream);
        streamRegister("streamRegister null stream", 0, 0);
        calls.status(CuFileFunction.STREAM_DEREGISTER, 0L);
        async("async plain", handle, 4096, 0, 0, stream);
        async("async size 0", handle, 0, 0, 0, stream);
        async("async neg off", handle, 4096, -1, 0, stream);
        async("async past EOF", handle, 4096, 2L * RawLibrary.BYTES, 0, stream);
        async("async neg buf off", handle, 4096, 0, -1, stream);
        async("async big buf off", handle, 4096, 0, 64 * MIB, stream);
        async("async size>alloc", handle, 64 * MIB, 0, 0, stream);
        async("async unaligned", handle, 1000, 3, 5, stream);
        MemorySegment none = MemorySegment.NULL;
        library.status("async null ptrs",
                calls.status(CuFileFunction.READ_ASYNC, handle, library.device, none.address(), none.address(),
                        none.address(), none.address(), stream));
        library.status("async null handle", readAsync(0, library.cell(0), 1000, 3, 5, stream));
        library.status("async default stream", readAsync(handle, library.cell(0), 1000, 3, 5, 0));
        RawLibrary.succeed(library.cuda.streamSynchronize(0));
        library.driverClose("close");
    }

    private void streamRegister(String name, long stream, int flags) {
        library.status(name, calls.status(CuFileFunction.STREAM_REGISTER, stream, flags));
    }

    private void streamDeregister(String name, long stream) {
        library.status(name, calls.status(CuFileFunction.STREAM_DEREGISTER, stream));
    }

    private void async(String name, long handle, long size, long fileOffset, long bufferOffset, long stream) {
        MemorySegment bytes = library.cell(-77);
        long status = readAsync(handle, bytes, size, fileOffset, bufferOffset, stream);
        RawLibrary.succeed(library.cuda.streamSynchronize(stream));
        library.status(name, status);
        library.row(name + ": bytes", Long.toString(bytes.get(JAVA_LONG, 0)));
    }

    private long readAsync(
            long handle, MemorySegment bytes, long size, long fileOffset, long bufferOffset, long stream) {
        return calls.status(
                CuFileFunction.READ_ASYNC,
                handle,
                library.device,
                library.cell(size).address(),
                library.cell(fileOffset).address(),
                library.cell(bufferOffset).address(),
                bytes.address(),
                stream);
    }
}
