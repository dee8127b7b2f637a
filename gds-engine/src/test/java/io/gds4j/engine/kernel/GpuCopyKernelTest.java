package io.gds4j.engine.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The copy kernel on a GPU, with random sizes and alignments: bytes around a copy stay as they are. */
@Tag("gpu")
class GpuCopyKernelTest {
    private static final int ROOM = 3 << 20;
    private static final int AROUND_BYTES = 128;
    private static final int CELL = ROOM;
    private static final byte AROUND = 0x55;

    private final CudaContexts contexts = ((CudaAvailability.Available) CudaDriver.detect()).contexts();
    private final Cuda cuda = contexts.cuda();
    private final long context = contexts.primary(0);
    private final long[] out = new long[1];
    private long stream;
    private long device;
    private long host;

    @BeforeEach
    void allocate() {
        assertThat(cuda.ctxPushCurrent(context)).isZero();
        assertThat(cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING)).isZero();
        stream = out[0];
        assertThat(cuda.memAlloc(out, ROOM)).isZero();
        device = out[0];
        assertThat(cuda.memHostAlloc(out, ROOM + CopyCell.BYTES, Cuda.MEM_HOST_DEVICEMAP)).isZero();
        host = out[0];
    }

    @AfterEach
    void free() {
        cuda.memFreeHost(host);
        cuda.memFree(device);
        cuda.streamDestroy(stream);
        cuda.ctxPopCurrent(out);
    }

    private MemorySegment host(int bytes) {
        return MemorySegment.ofAddress(host).reinterpret(bytes);
    }

    private void copy(CopyCell cell, long source, long target, long bytes) {
        cell.set(source, target, bytes);
        assertThat(CopyKernel.of(contexts, context).launch(cuda, cell, bytes, stream)).isZero();
        assertThat(cuda.streamSynchronize(stream)).isZero();
    }

    @Test
    void cellsBytesAreCopiedBothWaysAndNothingElse() {
        RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(7);
        CopyCell cell = CopyCell.at(host + CELL);
        for (int i = 0; i < 2000; i++) {
            int size = random.nextInt(switch (i % 12) {
                case 0, 3, 6, 9 -> 20;
                case 1, 4, 7, 10 -> 5000;
                // Some sizes are more than a thread copies in one pass.
                case 2 -> ROOM - AROUND_BYTES;
                default -> 300_000;
            });
            int room = size + AROUND_BYTES;
            byte[] bytes = new byte[room];
            int from = random.nextInt(64);
            int to = random.nextInt(64);
            random.nextBytes(bytes);
            MemorySegment view = host(room);
            view.copyFrom(MemorySegment.ofArray(bytes));
            assertThat(cuda.memsetD8Async(device, AROUND, room, stream)).isZero();
            copy(cell, host + from, device + to, size);
            copy(cell, device, host, room);
            byte[] expected = new byte[room];
            Arrays.fill(expected, AROUND);
            System.arraycopy(bytes, from, expected, to, size);
            assertThat(view.mismatch(MemorySegment.ofArray(expected)))
                    .as("%d bytes from %d to %d", size, from, to)
                    .isEqualTo(-1);
            view.fill(AROUND);
            copy(cell, device + to, host + from, size);
            Arrays.fill(expected, AROUND);
            System.arraycopy(bytes, from, expected, from, size);
            assertThat(view.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
        }
    }
}
