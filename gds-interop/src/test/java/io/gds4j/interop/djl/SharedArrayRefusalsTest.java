package io.gds4j.interop.djl;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.ndarray.NDManager;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tensors that no array of PyTorch shares. They are refused without PyTorch. */
class SharedArrayRefusalsTest {
    private final NDManager manager = (NDManager) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[]{NDManager.class}, (proxy, method, arguments) -> {
                throw new AssertionError("the manager is not asked");
            });

    /** PyTorch would have read and written freed memory. */
    @Test
    void segmentOfAnArenaThatMayClose() {
        try (Arena shared = Arena.ofShared(); Arena confined = Arena.ofConfined()) {
            refuses(DType.F32, MemoryRange.ofSegment(shared.allocate(8)), CuFileError.INVALID_VALUE, "arena");
            refuses(DType.F32, MemoryRange.ofSegment(confined.allocate(8)), CuFileError.INVALID_VALUE, "arena");
        }
    }

    @Test
    void readOnlyMemory() {
        refuses(DType.F32, MemoryRange.ofSegment(Arena.ofAuto().allocate(8).asReadOnly()), CuFileError.INVALID_VALUE,
                "read-only");
    }

    @Test
    void typesAndMemoryThatPyTorchLacks() {
        MemoryRange memory = MemoryRange.ofSegment(Arena.ofAuto().allocate(8));
        refuses(DType.U64, memory, CuFileError.INVALID_VALUE, "no type U64");
        refuses(DType.F32, memory.slice(0, 0), CuFileError.INVALID_VALUE, "no elements");
        refuses(DType.F32, MemoryRange.ofAddress(4096, 8, MemoryKind.CUDA_MANAGED),
                CuFileError.CUDA_MEMORY_TYPE_INVALID, "managed");
    }

    private void refuses(DType type, MemoryRange memory, CuFileError error, String reason) {
        TensorInfo info = new TensorInfo(
                "t", type, List.of(memory.length() * 8 / type.bits()), Path.of("f"), 0, memory.length());
        assertThatExceptionOfType(CuFileException.class)
                .isThrownBy(() -> SharedArray.of(new LoadedTensor(info, memory), manager))
                .withMessageContaining(reason)
                .returns(error, CuFileException::error);
    }
}
