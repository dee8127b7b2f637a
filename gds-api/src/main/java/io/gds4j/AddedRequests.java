package io.gds4j;

import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Requests that were added to a batch and that {@link CuFileBatch#awaitAll} will submit. Thread-safe. */
final class AddedRequests {
    private List<Added> added = new ArrayList<>();

    /** @param array receives what is read into native memory; null if the request names the memory of the program */
    private record Added(Request request, @Nullable MemorySegment array) {
    }

    synchronized void add(Request request) {
        added.add(new Added(request, null));
    }

    /** Adds a transfer of a segment, through a copy if it is over a Java array. */
    void add(CuFileHandle handle, boolean write, MemorySegment segment, long fileOffset) {
        long bytes = segment.byteSize();
        if (segment.isNative()) {
            add(new Request(handle, write, MemoryRange.ofSegment(segment), bytes, fileOffset, 0));
            return;
        }
        MemorySegment copy = HeapCopies.allocate(
                Arena.ofAuto(), handle.request(write, bytes, fileOffset, 0), bytes, Long.BYTES);
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

    /** Transfers all and returns their completions in the order of the additions. Arrays have what was read, also beside failures. */
    List<Completion> transfer(CuFileBatch batch) {
        List<Added> taken = takeAll();
        List<Completion> completions =
                new BulkTransfer(batch, taken.stream().map(Added::request).toList()).complete();
        for (int i = 0; i < taken.size(); i++) {
            MemorySegment array = taken.get(i).array();
            Completion completion = completions.get(i);
            if (array != null && completion.isComplete()) {
                completion.request().memory().range().segment()
                        .ifPresent(copy -> MemorySegment.copy(copy, 0, array, 0, completion.result()));
            }
        }
        return completions;
    }
}
