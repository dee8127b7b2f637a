package io.gds4j.engine.stream;

import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BatchRequest;
import java.util.List;

/** The places in memory of a request's bytes: one memory, or fragments. */
public final class RequestParts {
    private RequestParts() {
    }

    /** Receives a place in memory. */
    public interface Place {
        /**
         * Receives bytes that are contiguous in memory.
         *
         * @param memory contains them
         * @param address the first one
         * @param offset of the first one, from the start of the part
         */
        void accept(MemoryRange memory, long address, long offset, long bytes);
    }

    /** Passes the places of a part of a request; of a read, none for bytes that no fragment takes. */
    public static void forEach(BatchRequest request, long from, long bytes, Place place) {
        List<ScatterCopy> copies = request.copies();
        if (copies.isEmpty()) {
            MemoryRange memory = request.memory();
            place.accept(memory, memory.address() + request.bufferOffset() + from, 0, bytes);
        }
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            MemoryRange memory = copy.destination().range();
            copy.forPart(from, bytes, (offset, width, rows, at) -> {
                for (long row = 0; row < rows; row++) {
                    place.accept(
                            memory, memory.address() + at + row * copy.destinationPitch(),
                            offset + row * copy.sourcePitch(), width);
                }
            });
        }
    }
}
