package io.gds4j.engine.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The kernel of fragments on a GPU, with random tables: bytes around fragments stay as they are, and a table that was called off copies nothing. */
@Tag("gpu")
class GpuFragmentKernelTest {
    private static final int ROOM = 8 << 20;
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
        assertThat(cuda.memHostAlloc(out, ROOM + FragmentTable.BYTES, Cuda.MEM_HOST_DEVICEMAP)).isZero();
        host = out[0];
    }

    @AfterEach
    void free() {
        cuda.memFreeHost(host);
        cuda.memFree(device);
        cuda.streamDestroy(stream);
        cuda.ctxPopCurrent(out);
    }

    private FragmentTable table() {
        FragmentTable table = FragmentTable.at(host + ROOM);
        table.clear();
        return table;
    }

    private void launch(FragmentTable table) {
        FragmentKernel kernel = Objects.requireNonNull(GatherKernels.of(contexts, context).fragments());
        assertThat(kernel.launch(cuda, table, stream)).isZero();
        assertThat(cuda.streamSynchronize(stream)).isZero();
    }

    @Test
    void fragmentsAreCopiedBothWaysAndNothingElse() {
        Random random = new Random(7);
        for (int round = 0; round < 200; round++) {
            int count = 1 + random.nextInt(round % 4 == 0 ? FragmentTable.MAX_FRAGMENTS : 70);
            int size = round % 3 == 0 ? 70_000 : round % 3 == 1 ? 100 : 9000;
            boolean toGpu = random.nextBoolean();
            byte[] source = new byte[ROOM];
            byte[] expected = new byte[ROOM];
            random.nextBytes(source);
            Arrays.fill(expected, AROUND);
            FragmentTable table = table();
            int from = 0;
            int to = 0;
            for (int i = 0; i < count; i++) {
                int bytes = random.nextInt(size);
                from += random.nextInt(3) == 0 ? random.nextInt(40) : 0;
                to += random.nextInt(40);
                if (from + bytes > ROOM || to + bytes > ROOM) {
                    break;
                }
                System.arraycopy(source, from, expected, to, bytes);
                table.add((toGpu ? host : device) + from, (toGpu ? device : host) + to, bytes);
                from += bytes;
                to += bytes;
            }
            MemorySegment view = MemorySegment.ofAddress(host).reinterpret(ROOM);
            view.copyFrom(MemorySegment.ofArray(source));
            if (toGpu) {
                assertThat(cuda.memsetD8Async(device, AROUND, ROOM, stream)).isZero();
            } else {
                assertThat(cuda.memcpyHtoDAsync(device, host, ROOM, stream)).isZero();
                assertThat(cuda.streamSynchronize(stream)).isZero();
                view.fill(AROUND);
            }
            launch(table);
            assertThat(table.hasBegun()).isTrue();
            if (toGpu) {
                assertThat(cuda.memcpyDtoHAsync(host, device, ROOM, stream)).isZero();
                assertThat(cuda.streamSynchronize(stream)).isZero();
            }
            assertThat(view.mismatch(MemorySegment.ofArray(expected))).as("round %d, to the GPU: %s", round, toGpu)
                    .isEqualTo(-1);
        }
    }

    @Test
    void aTableThatWasCalledOffCopiesNothing() {
        FragmentTable table = table();
        MemorySegment.ofAddress(host).reinterpret(ROOM).fill((byte) 1);
        assertThat(cuda.memsetD8Async(device, AROUND, ROOM, stream)).isZero();
        for (int i = 0; i < 64; i++) {
            table.add(host + i * 32_768L, device + i * 32_768L, 32_768);
        }
        assertThat(table.callOff()).isTrue();
        launch(table);
        assertThat(cuda.memcpyDtoHAsync(host, device, ROOM, stream)).isZero();
        assertThat(cuda.streamSynchronize(stream)).isZero();
        byte[] around = new byte[ROOM];
        Arrays.fill(around, AROUND);
        assertThat(MemorySegment.ofAddress(host).reinterpret(ROOM).mismatch(MemorySegment.ofArray(around)))
                .isEqualTo(-1);
    }
}
