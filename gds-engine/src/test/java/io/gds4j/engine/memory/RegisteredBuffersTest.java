package io.gds4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** The table of registered memory and its limit. */
class RegisteredBuffersTest {
    private final long[] limitKb = {2};
    private final RegisteredBuffers<String> buffers = new RegisteredBuffers<>(() -> limitKb[0]);

    private static MemoryRange range(long address, long length, MemoryKind kind) {
        return MemoryRange.ofAddress(address, length, kind);
    }

    private static void expect(CuFileError error, ThrowingCallable call) {
        assertThat(catchThrowableOfType(CuFileException.class, call).error()).isEqualTo(error);
    }

    @Test
    void eachBaseIsRegisteredOnce() {
        MemoryRange host = range(4096, 100, MemoryKind.HOST);
        buffers.add(host, "first");
        buffers.add(range(4097, 100, MemoryKind.HOST), "overlapping");

        expect(CuFileError.MEMORY_ALREADY_REGISTERED, () -> buffers.add(range(4096, 1, MemoryKind.HOST), "second"));
        assertThat(buffers.get(4096)).isEqualTo("first");
        assertThat(buffers.remove(host)).isEqualTo("first");
        assertThat(buffers.get(4096)).isNull();
        expect(CuFileError.MEMORY_NOT_REGISTERED, () -> buffers.remove(host));
        assertThat(buffers.all()).containsExactly("overlapping");
    }

    @Test
    void deviceMemoryIsLimitedAndHostMemoryIsNot() {
        MemoryRange first = range(4096, 2000, MemoryKind.CUDA_DEVICE);
        buffers.add(first, "first");
        buffers.add(range(1 << 20, 1 << 20, MemoryKind.HOST), "host");

        expect(CuFileError.INVALID_MAPPING_SIZE, () -> buffers.add(range(8192, 49, MemoryKind.CUDA_DEVICE), "no"));
        buffers.add(range(8192, 48, MemoryKind.CUDA_DEVICE), "second");
        limitKb[0] = 1;
        expect(CuFileError.INVALID_MAPPING_SIZE, () -> buffers.add(range(16384, 1, MemoryKind.CUDA_DEVICE), "no"));
        buffers.remove(first);
        buffers.add(range(16384, 976, MemoryKind.CUDA_DEVICE), "third");

        assertThat(buffers.removeAll()).containsExactlyInAnyOrder("host", "second", "third");
        assertThat(buffers.all()).isEmpty();
        limitKb[0] = Long.MAX_VALUE;
        buffers.add(range(4096, 1L << 62, MemoryKind.CUDA_DEVICE), "large");
    }
}
