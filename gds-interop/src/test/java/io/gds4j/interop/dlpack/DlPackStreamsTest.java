package io.gds4j.interop.dlpack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The consumer's stream waits for the producer's. */
class DlPackStreamsTest {
    private static final CudaAvailability NO_GPU = new CudaAvailability.Unavailable("no GPU here", "buy one");

    @ParameterizedTest
    @ValueSource(longs = {0, -2, Long.MIN_VALUE})
    void forbiddenStreamsAreRefused(long consumer) {
        assertThatExceptionOfType(CuFileException.class)
                .isThrownBy(() -> DlPackStreams.order(NO_GPU, 5, consumer))
                .withMessageContaining("not allowed")
                .satisfies(e -> assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE));
    }

    @Test
    void streamsWithoutAGpuAreRefused() {
        assertThatExceptionOfType(CuFileException.class)
                .isThrownBy(() -> DlPackStreams.order(NO_GPU, 5, DlPackStreams.LEGACY_DEFAULT))
                .withMessageContaining("no GPU here")
                .satisfies(e -> assertThat(e.error()).isEqualTo(CuFileError.DEVICE_NOT_FOUND));
    }

    @Test
    void sameStreamAndNoOrderNeedNothing() {
        DlPackStreams.order(NO_GPU, 5, DlPackStreams.NO_ORDER);
        DlPackStreams.order(NO_GPU, 5, 5);
        DlPackStreams.order(5, DlPackStreams.NO_ORDER);
    }

    /** The fake GPU copies only what something waits for. */
    @Test
    void consumerSeesWhatTheProducerCopied() {
        FakeCuda cuda = new FakeCuda();
        long context = cuda.available().contexts().primary(0);
        cuda.ctxPushCurrent(context);
        long[] answer = new long[1];
        cuda.streamCreate(answer, 0);
        long producer = answer[0];
        cuda.streamCreate(answer, 0);
        long consumer = answer[0];
        cuda.memAlloc(answer, 8);
        long device = answer[0];
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment from = arena.allocate(8);
            MemorySegment to = arena.allocate(8);
            from.set(ValueLayout.JAVA_LONG, 0, 4711);
            cuda.memcpyHtoDAsync(device, from.address(), 8, producer);
            DlPackStreams.order(cuda.available(), producer, consumer);
            cuda.memcpyDtoHAsync(to.address(), device, 8, consumer);
            cuda.streamSynchronize(consumer);
            assertThat(to.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(4711);
        }
    }
}
