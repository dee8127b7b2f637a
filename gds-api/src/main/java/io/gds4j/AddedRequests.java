package io.gds4j;

import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Requests that were added to a batch and that {@link CuFileBatch#awaitAll} or {@link CuFileBatch#submit()} will submit. Thread-safe. */
final class AddedRequests {
    private List<Added> added = new ArrayList<>();
    /** The arrays that submitted reads will fill, by the identity of the request; made for each of them. */
    private final Map<Request, MemorySegment> arrays = new IdentityHashMap<>();

    /** @param array receives what is read into native memory; null if the request names the memory of the program */
    private record Added(Request request, @Nullable MemorySegment array) {
        void remember(Map<Request, MemorySegment> arrays) {
            if (array != null) {
                arrays.put(request, array);
            }
        }
    }

    synchronized void add(Request request) {
        added.add(new Added(request, null));
    }

    /** Adds a transfer of a segment, through a copy if it is over a Java array. */
    void add(CuFileHandle handle, Operation operation, MemorySegment segment, long fileOffset) {
        boolean write = operation.isWrite();
        long bytes = segment.byteSize();
        if (segment.isNative()) {
            add(new Request(handle, write, MemoryRange.ofSegment(segment), bytes, fileOffset, 0));
            return;
        }
        MemorySegment copy = HeapCopies.allocate(
                Arena.ofAuto(), handle.request(operation, bytes, fileOffset, 0), bytes, Long.BYTES);
        if (write) {
            copy.copyFrom(segment);
        }
        MemorySegment memory = !write && segment.isReadOnly() ? copy.asReadOnly() : copy;
        Request request = new Request(handle, write, MemoryRange.ofSegment(memory), bytes, fileOffset, 0);
        synchronized (this) {
            added.add(new Added(request, write ? null : segment));
        }
    }

    private synchronized List<Added> takeAll() {
        List<Added> taken = added;
        added = new ArrayList<>();
        return taken;
    }

    /** Submits all. */
    void submit(CuFileBatch batch) {
        List<Added> taken = takeAll();
        synchronized (this) {
            taken.forEach(one -> one.remember(arrays));
        }
        Undo.ifFails(() -> forget(taken), () -> batch.submit(taken.stream().map(Added::request).toList()));
    }

    private synchronized void forget(List<Added> requests) {
        requests.forEach(one -> arrays.remove(one.request()));
    }

    /** Fills the arrays of reads that {@link #submit} began. */
    synchronized List<Completion> filled(List<Completion> completions) {
        if (!arrays.isEmpty()) {
            completions.forEach(completion -> fill(arrays.remove(completion.request()), completion));
        }
        return completions;
    }

    private static void fill(@Nullable MemorySegment array, Completion completion) {
        if (array != null && completion.isComplete()) {
            completion.request().memory().range().segment()
                    .ifPresent(copy -> MemorySegment.copy(copy, 0, array, 0, completion.result()));
        }
    }

    /** Transfers all and returns their completions in the order of the additions. Arrays have what was read, also beside failures. */
    List<Completion> transfer(CuFileBatch batch) {
        List<Added> taken = takeAll();
        List<Completion> completions =
                new BulkTransfer(batch, taken.stream().map(Added::request).toList()).complete();
        for (int i = 0; i < taken.size(); i++) {
            fill(taken.get(i).array(), completions.get(i));
        }
        return completions;
    }
}
