package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileStream;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.FakeCuda;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Streams on the fake driver and the cells of operations on them, for one test. */
public final class FakeStreams implements AutoCloseable {
    /** The result of an operation that has not ended. */
    public static final long UNTOUCHED = -77;

    private final FakeCuda cuda;
    private final Arena arena = Arena.ofShared();
    private final List<Long> made = new ArrayList<>();

    public FakeStreams(FakeCuda cuda) {
        this.cuda = cuda;
    }

    /** The body of a test. */
    public interface Body {
        void run() throws Exception;
    }

    /**
     * Runs a test with a context current on its thread, and destroys the streams afterwards. The thread of a test with a time
     * limit is not the thread of the methods around it.
     */
    public void inContext(Body body) throws Exception {
        long[] context = new long[1];
        cuda.devicePrimaryCtxRetain(context, 0);
        cuda.ctxPushCurrent(context[0]);
        try {
            body.run();
        } finally {
            made.forEach(cuda::streamDestroy);
            cuda.ctxPopCurrent(context);
            cuda.devicePrimaryCtxRelease(0);
        }
    }

    /** Makes a stream. */
    public long make() {
        long[] stream = new long[1];
        cuda.asProgram(() -> assertThat(cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING)).isZero());
        made.add(stream[0]);
        return stream[0];
    }

    /** Returns the stream that was made as number {@code i}, from 0 on. */
    public long get(int i) {
        return made.get(i);
    }

    /** Waits for all streams. */
    public void synchronize() {
        made.forEach(cuda::streamSynchronize);
    }

    /** Allocates the cells of an operation. */
    public CuFileStream.Cells cells(long size, long fileOffset, long bufferOffset) {
        return new CuFileStream.Cells(cell(size), cell(fileOffset), cell(bufferOffset), cell(UNTOUCHED));
    }

    private MemorySegment cell(long value) {
        MemorySegment cell = bytes(Long.BYTES);
        cell.set(ValueLayout.JAVA_LONG, 0, value);
        return cell;
    }

    public static long result(CuFileStream.Cells cells) {
        return cells.bytesDone();
    }

    /** Allocates host memory that streams may read and wait for. */
    public MemorySegment bytes(long count) {
        return arena.allocate(count, Long.BYTES);
    }

    @Override
    public void close() {
        arena.close();
    }
}
