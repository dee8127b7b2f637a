package io.gds4j.ffi.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The double detects the errors that it is made for. */
class FakeCudaTest {
    private final FakeCuda cuda = new FakeCuda(1, 1 << 20);
    private final long[] out = new long[1];
    private long device;
    private long host;
    private long stream;
    private long other;

    @BeforeEach
    void allocate() {
        cuda.ctxPushCurrent(new CudaContexts(cuda).primary(0));
        cuda.memAlloc(out, 8);
        device = out[0];
        cuda.memHostAlloc(out, 8, Cuda.MEM_HOST_PORTABLE);
        host = out[0];
        stream = stream();
        other = stream();
        cuda.poke(host, new byte[]{1, 2, 3, 4, 5, 6, 7, 8});
    }

    private long stream() {
        assertThat(cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING)).isZero();
        return out[0];
    }

    private long event() {
        assertThat(cuda.eventCreate(out, Cuda.EVENT_DISABLE_TIMING)).isZero();
        return out[0];
    }

    @Test
    void copyHappensWhenItsStreamIsAwaited() {
        assertThat(cuda.memcpyHtoDAsync(device, host, 8, stream)).isZero();
        assertThat(cuda.peek(device, 8)).containsOnly(0xCD);
        assertThat(cuda.pendingWork()).isEqualTo(1);
        assertThat(cuda.streamSynchronize(other)).isZero();
        assertThat(cuda.peek(device, 8)).containsOnly(0xCD);
        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(cuda.peek(device, 8)).containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
    }

    @Test
    void earlyOverwriteOfASourceIsDetected() {
        cuda.memcpyHtoDAsync(device, host, 8, stream);
        cuda.poke(host, new byte[8]);
        cuda.streamSynchronize(stream);
        assertThat(cuda.peek(device, 8)).containsOnly(0);
    }

    @Test
    void eventWaitsForEarlierWorkOnly() {
        long event = event();
        assertThat(cuda.eventQuery(event)).isZero();
        cuda.memcpyHtoDAsync(device, host, 4, stream);
        cuda.eventRecord(event, stream);
        cuda.memcpyHtoDAsync(device + 4, host, 4, stream);
        assertThat(cuda.eventSynchronize(event)).isZero();
        assertThat(cuda.peek(device, 4)).containsExactly(1, 2, 3, 4);
        assertThat(cuda.peek(device + 4, 4)).containsOnly(0xCD);
    }

    @Test
    void queriesMakeProgressAndEnd() {
        long event = event();
        cuda.memcpyHtoDAsync(device, host, 8, stream);
        cuda.eventRecord(event, stream);
        assertThat(cuda.eventQuery(event)).isEqualTo(Cuda.ERROR_NOT_READY);
        assertThat(cuda.eventQuery(event)).isZero();
        assertThat(cuda.streamQuery(stream)).isZero();
        cuda.memcpyHtoDAsync(device, host, 8, stream);
        cuda.memcpyHtoDAsync(device, host, 8, stream);
        assertThat(cuda.streamQuery(stream)).isEqualTo(Cuda.ERROR_NOT_READY);
        assertThat(cuda.streamQuery(stream)).isZero();
    }

    @Test
    void streamWaitsForAnotherByEvent() {
        long event = event();
        cuda.memcpyHtoDAsync(device, host, 8, stream);
        cuda.eventRecord(event, stream);
        cuda.streamWaitEvent(other, event, 0);
        cuda.streamSynchronize(other);
        assertThat(cuda.peek(device, 8)).containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
    }

    @Test
    void callsInNoOrTheWrongContextAreRefusedAndNoted() {
        long own = cuda.createContext(0);
        cuda.ctxPushCurrent(own);
        assertThat(cuda.memcpyHtoDAsync(device, host, 8, stream)).isEqualTo(Cuda.ERROR_INVALID_HANDLE);
        long ownStream = stream();
        assertThat(cuda.memcpyHtoDAsync(device, host, 8, ownStream)).isEqualTo(Cuda.ERROR_INVALID_VALUE);
        assertThat(cuda.memFree(device)).isEqualTo(Cuda.ERROR_INVALID_VALUE);
        cuda.ctxPopCurrent(out);
        cuda.ctxPopCurrent(out);
        assertThat(cuda.memAlloc(out, 8)).isEqualTo(Cuda.ERROR_INVALID_CONTEXT);
        assertThat(cuda.violations()).hasSize(4);
    }

    @Test
    void rangesAndSidesAreChecked() {
        assertThat(cuda.memcpyHtoDAsync(device, host, 9, stream)).isEqualTo(Cuda.ERROR_INVALID_VALUE);
        assertThat(cuda.memcpyHtoDAsync(host, device, 8, stream)).isEqualTo(Cuda.ERROR_INVALID_VALUE);
        assertThat(cuda.memcpyDtoHAsync(host, host, 8, stream)).isZero(); // pinned memory has a device address, too
        assertThat(cuda.violations()).hasSize(2);
    }

    @Test
    void nullStreamIsNoted() {
        assertThat(cuda.memcpyHtoDAsync(device, host, 8, 0)).isZero();
        assertThat(cuda.violations()).hasSize(1);
    }

    @Test
    void injectedFailuresHitTheirCalls() {
        cuda.fail(CudaFunction.MEM_ALLOC, 2, 700);
        assertThat(cuda.memAlloc(out, 8)).isZero();
        assertThat(cuda.memAlloc(out, 8)).isEqualTo(700);
        assertThat(cuda.memAlloc(out, 8)).isZero();
        cuda.failAlways(CudaFunction.MEM_ALLOC, 2);
        assertThat(cuda.memAlloc(out, 8)).isEqualTo(2);
        cuda.heal();
        assertThat(cuda.memAlloc(out, 8)).isZero();
        cuda.refusePinning(true);
        assertThat(cuda.memHostAlloc(out, 8, 0)).isEqualTo(Cuda.ERROR_OUT_OF_MEMORY);
        assertThat(cuda.memHostRegister(4096, 8, 0)).isEqualTo(Cuda.ERROR_OUT_OF_MEMORY);
    }

    @Test
    void waitsReportDeferredFailures() {
        cuda.failDeferred(1, Cuda.ERROR_ILLEGAL_ADDRESS);
        assertThat(cuda.memcpyHtoDAsync(device, host, 8, stream)).isZero();
        assertThat(cuda.streamSynchronize(stream)).isEqualTo(Cuda.ERROR_ILLEGAL_ADDRESS);
        assertThat(cuda.streamSynchronize(stream)).isZero();
        assertThat(cuda.peek(device, 8)).containsOnly(0xCD);
    }

    @Test
    void leaksAreListed() {
        assertThat(cuda.leaks()).hasSize(5); // device and host memory, two streams, a context pushed
        cuda.memFree(device);
        cuda.memFreeHost(host);
        cuda.streamDestroy(stream);
        cuda.streamDestroy(other);
        cuda.ctxPopCurrent(out);
        assertThat(cuda.leaks()).isEmpty();
    }
}
