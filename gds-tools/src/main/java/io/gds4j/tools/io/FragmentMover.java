package io.gds4j.tools.io;

import io.gds4j.CuFileHandle;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** Moves bytes by {@code readScattered} and {@code writeScattered}, one request of several fragments at a time. */
final class FragmentMover implements Mover {
    private final CuFileHandle handle;
    private final int fragments;
    private final Map<IoRequest, Known> known = new IdentityHashMap<>();

    /** The fragments of a request's last size. */
    private record Known(long size, List<ScatterCopy> copies) {
    }

    FragmentMover(CuFileHandle handle, int fragments) {
        this.handle = handle;
        this.fragments = fragments;
    }

    @Override
    public void move(IoRequest[] requests, int count) {
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            List<ScatterCopy> copies = copies(request);
            request.startNanos = System.nanoTime();
            long moved = request.write
                    ? handle.writeScattered(request.fileOffset, request.size, copies)
                    : handle.readScattered(request.fileOffset, request.size, copies);
            request.endNanos = System.nanoTime();
            ShortTransfer.check(request, moved);
        }
    }

    /** Returns fragments of equal size; the last one may be shorter. */
    private List<ScatterCopy> copies(IoRequest request) {
        Known last = known.get(request);
        if (last != null && last.size == request.size) {
            return last.copies;
        }
        long each = Math.ceilDiv(request.size, fragments);
        List<ScatterCopy> copies = new ArrayList<>();
        for (long at = 0; at < request.size; at += each) {
            copies.add(new ScatterCopy(
                    at, Math.min(each, request.size - at), request.memory, request.bufferOffset + at));
        }
        known.put(request, new Known(request.size, copies));
        return copies;
    }

    @Override
    public void close() {
        // the job closes the handle
    }
}
