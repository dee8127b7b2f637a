package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.registration.CachedRegistration;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.internal.trace.FlightEvents;
import io.gds4j.internal.trace.FlightEvents.Transfer;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import java.lang.ref.Reference;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A call that a backend gets as one {@link BatchRequest}: it has several fragments of memory, or it is reported. */
final class RequestCall {
    private RequestCall() {
    }

    /** Moves bytes between the file and one memory, and reports them. */
    static long plain(
            CuFileHandle handle, Operation operation, IoMemory any, long size, long fileOffset, long bufferOffset,
            IoResult result) {
        RequestCheck request = handle.request(operation, size, fileOffset, bufferOffset);
        result.begin(request);
        try {
            IoMemory memory = MemoryUse.plain(any);
            request.checkWithin(memory);
            handle.enter(request, memory);
            try {
                return plain(handle, request, memory, result);
            } finally {
                handle.exit(memory);
            }
        } catch (RuntimeException | Error e) {
            result.fail(request, e);
            throw e;
        } finally {
            result.over();
        }
    }

    /** As {@link #plain}, on a thread of the driver. */
    static CompletableFuture<Long> async(
            CuFileHandle handle, Operation operation, IoMemory any, long size, long fileOffset, long bufferOffset,
            IoResult result) {
        RequestCheck request = handle.request(operation, size, fileOffset, bufferOffset);
        result.begin(request);
        boolean started = false;
        try {
            IoMemory memory = MemoryUse.plain(any);
            request.checkWithin(memory);
            Started call = new Started(handle, request, memory, result);
            CompletableFuture<Long> future = handle.start(request, call.memory, call::release, call);
            started = true;
            return future;
        } catch (RuntimeException | Error e) {
            result.fail(request, e);
            throw e;
        } finally {
            if (!started) {
                result.over();
            }
        }
    }

    /** A call on a thread of the driver. Its report is over before its memory is released. */
    private static final class Started implements LongSupplier {
        private final CuFileHandle handle;
        private final RequestCheck request;
        private final List<IoMemory> memory;
        private final IoResult result;
        private boolean begun;

        Started(CuFileHandle handle, RequestCheck request, IoMemory memory, IoResult result) {
            this.handle = handle;
            this.request = request;
            this.memory = List.of(memory);
            this.result = result;
        }

        @Override
        public long getAsLong() {
            begun = true;
            try {
                return plain(handle, request, memory.getFirst(), result);
            } catch (RuntimeException | Error e) {
                result.fail(request, e);
                throw e;
            }
        }

        void release() {
            if (!begun) {
                result.failLater(0, this::cancelled);
            }
            result.over();
            handle.letGo(memory);
        }

        private CuFileException cancelled() {
            return request.failure(CuFileError.IO_ERROR).errno(Errno.ECANCELED).detail("cancelled before it began")
                    .build();
        }
    }

    private static long plain(CuFileHandle handle, RequestCheck request, IoMemory memory, IoResult result) {
        RegistrationCache cache = handle.session().cache();
        CachedRegistration registration =
                cache != null && memory instanceof MemoryRange range ? cache.use(range) : null;
        try {
            MemoryRange base = registration == null ? MemoryUse.base(memory) : registration.whole();
            long start = registration == null
                    ? MemoryUse.start(memory)
                    : memory.range().address() - base.address();
            return run(handle, new BatchRequest(
                    handle.file(), request.operation(), base, request.size(), request.fileOffset(),
                    start + request.bufferOffset(), 0), result);
        } finally {
            if (registration != null) {
                registration.exit();
            }
            Reference.reachabilityFence(memory);
        }
    }

    /** Moves bytes between a range of the file and fragments of memory. */
    static long scattered(
            CuFileHandle handle, Operation operation, long fileOffset, long length, List<ScatterCopy> copies,
            @Nullable IoResult result) {
        if (result == null) {
            return scattered(handle, handle.request(operation, length, fileOffset, 0), copies, null);
        }
        RequestCheck request = handle.request(operation, length, fileOffset, 0);
        result.begin(request);
        try {
            return scattered(handle, request, copies, result);
        } catch (RuntimeException | Error e) {
            result.fail(request, e);
            throw e;
        } finally {
            result.over();
        }
    }

    private static long scattered(
            CuFileHandle handle, RequestCheck request, List<ScatterCopy> copies, @Nullable IoResult result) {
        ScatterCheck checked = handle.session().borrowCheck();
        try {
            checked.check(request, copies);
            return whileEntered(handle, request, checked, () -> run(handle, BatchRequest.scattered(
                    handle.file(), request.operation(), request.fileOffset(), request.size(), checked.forBackend()),
                    result));
        } finally {
            checked.clear();
            handle.session().giveBack(checked);
        }
    }

    /** Enters file and fragments for a call that moves their bytes, or queues that. */
    static long whileEntered(CuFileHandle handle, RequestCheck request, ScatterCheck checked, LongSupplier call) {
        ThreadState here = ThreadState.current();
        handle.enter(request, here);
        int entered = 0;
        try {
            handle.checkRights(request);
            for (; entered < checked.size(); entered++) {
                handle.enterMemory(request, checked.memory(entered), here);
            }
            return call.getAsLong();
        } finally {
            for (int i = entered - 1; i >= 0; i--) {
                MemoryUse.exit(checked.memory(i), here);
            }
            handle.exit(here);
        }
    }

    private static long run(CuFileHandle handle, BatchRequest request, @Nullable IoResult result) {
        if (result == null) {
            return move(handle, request);
        }
        long moved = 0;
        try {
            moved = move(handle, request.reportTo(result.sink()));
            return moved;
        } finally {
            result.end(moved, handle.file(), usesGpu(request));
        }
    }

    /** Has the backend move the bytes. The caller has entered file and memory. */
    static long move(CuFileHandle handle, BatchRequest request) {
        Transfer event = FlightEvents.transfer(request.operation());
        long range = handle.beginRange(request.operation(), request.size());
        long moved = 0;
        try {
            moved = handle.session().backend().transfer(request);
            return moved;
        } catch (CuFileException e) {
            moved = e.bytesTransferred();
            throw handle.request(request.operation(), request.size(), request.fileOffset(), request.bufferOffset())
                    .named(e);
        } finally {
            handle.endRange(range);
            if (event != null) {
                event.record(handle.file(), request.fileOffset(), request.size(), moved);
            }
        }
    }

    /** Returns whether bytes go to or come from memory of a GPU. */
    private static boolean usesGpu(BatchRequest request) {
        for (ScatterCopy copy : request.copies()) {
            if (copy.destination().range().kind().isCuda()) {
                return true;
            }
        }
        return request.memory().kind().isCuda();
    }
}
