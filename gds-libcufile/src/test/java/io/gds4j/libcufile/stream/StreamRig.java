package io.gds4j.libcufile.stream;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** CUDA streams of a session, and the cells of operations that are queued on them. */
abstract class StreamRig extends SessionRig {
    static final long UNTOUCHED = -77;

    final Arena arena = Arena.ofShared();
    private final List<Long> streams = new ArrayList<>();
    long context;

    @BeforeEach
    final void retainContext() {
        long[] cell = new long[1];
        machine.cuda.devicePrimaryCtxRetain(cell, 0);
        context = cell[0];
    }

    @AfterEach
    @Timeout(value = 15, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    final void dropStreams() {
        inContext(() -> streams.forEach(machine.cuda::streamDestroy));
        while (backend.useCount() > 0) {
            backend.driverClose();
        }
        arena.close();
    }

    /** Runs work in the context: JUnit may run a test on another thread than the methods around it. */
    final void inContext(Runnable work) {
        machine.cuda.ctxPushCurrent(context);
        work.run();
        machine.cuda.ctxPopCurrent(new long[1]);
    }

    final long stream() {
        long[] cell = new long[1];
        inContext(() -> machine.cuda.streamCreate(cell, Cuda.STREAM_NON_BLOCKING));
        streams.add(cell[0]);
        return cell[0];
    }

    /** The cells of an operation. */
    final class Operation {
        final MemorySegment size = arena.allocate(JAVA_LONG);
        final MemorySegment fileOffset = arena.allocate(JAVA_LONG);
        final MemorySegment bufferOffset = arena.allocate(JAVA_LONG);
        final MemorySegment bytes = arena.allocate(JAVA_LONG);

        Operation(long size, long fileOffset, long bufferOffset) {
            bind(size, fileOffset, bufferOffset);
            bytes.set(JAVA_LONG, 0, UNTOUCHED);
        }

        void bind(long size, long fileOffset, long bufferOffset) {
            this.size.set(JAVA_LONG, 0, size);
            this.fileOffset.set(JAVA_LONG, 0, fileOffset);
            this.bufferOffset.set(JAVA_LONG, 0, bufferOffset);
        }

        StreamRequest of(BackendFile file, MemoryRange memory, long stream) {
            return new StreamRequest(file, memory, size, fileOffset, bufferOffset, bytes, stream);
        }

        long moved() {
            return bytes.get(JAVA_LONG, 0);
        }
    }
}
