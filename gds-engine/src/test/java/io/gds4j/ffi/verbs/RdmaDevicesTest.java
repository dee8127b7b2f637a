package io.gds4j.ffi.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import java.lang.foreign.Arena;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Memory regions of RDMA devices over a double of libibverbs. */
class RdmaDevicesTest {
    private static final Set<RdmaAccess> WRITE = Set.of(RdmaAccess.LOCAL_WRITE);

    private final FakeVerbs library = new FakeVerbs("mlx5_0", "mlx5_1");
    private final FakeCuda cuda = new FakeCuda();
    private final NativeMemoryAllocator allocator =
            new NativeMemoryAllocator(FfmPosix.instance(), cuda.available());

    @AfterEach
    void nothingIsLeft() {
        allocator.close();
        assertThat(library.listsNotFreed()).isZero();
        assertThat(cuda.leaks()).isEmpty();
        library.close();
    }

    private RdmaDevices devices() {
        return ((RdmaAvailability.Available) library.detect(cuda.available())).verbs();
    }

    @Test
    void devicesAreListedByName() {
        assertThat(library.detect()).isInstanceOfSatisfying(
                RdmaAvailability.Available.class,
                rdma -> assertThat(rdma.devices()).containsExactly("mlx5_0", "mlx5_1"));
    }

    @Test
    void machineWithoutDevicesSaysSo() {
        try (FakeVerbs none = new FakeVerbs()) {
            assertThat(none.detect()).isInstanceOfSatisfying(
                    RdmaAvailability.Unavailable.class, rdma -> assertThat(rdma.reason()).isEqualTo("no RDMA device"));
        }
        assertThat(RdmaDevices.probe("libgds4j-none.so.1")).isInstanceOfSatisfying(
                RdmaAvailability.Unavailable.class,
                rdma -> assertThat(rdma.reason()).startsWith("no RDMA device: ").contains("libgds4j-none"));
        assertThat(RdmaDevices.probe("libc.so.6")).isInstanceOfSatisfying(
                RdmaAvailability.Unavailable.class, rdma -> assertThat(rdma.reason()).contains("ibv_reg_mr"));
    }

    @Test
    void hostMemoryIsRegisteredAndKeptUntilItsRegionIsClosed() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 10_000);
                ProtectionDomain domain = devices().open("mlx5_1")) {
            MemoryRange part = memory.range().slice(3, 5_001);
            MemoryRegion region =
                    domain.register(part, EnumSet.of(RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ));
            assertThat(region.localKey()).isEqualTo(0x1111);
            assertThat(region.remoteKey()).isEqualTo(0x2222);
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, memory::close);
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, domain::close);
            assertThat(domain.isOpen()).isTrue();
            region.close();
            region.close();
            assertThat(region.isOpen()).isFalse();
            assertThat(library.calls()).containsExactly(
                    "open 2", "pd 2", "mr true 0x%x 5001 5".formatted(part.address()), "dereg true");
        }
        assertThat(library.calls()).endsWith("dealloc true", "close 2");
    }

    @Test
    void gpuMemoryIsRegisteredByItsDmaBuf() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_VMM, 1 << 20);
                ProtectionDomain domain = devices().open("mlx5_0")) {
            MemoryRange part = memory.range().slice(4096 + 100, 5_000);
            DmaBuf buffer = allocator.exportDmaBuf(part);
            MemoryRegion region = domain.register(buffer, WRITE);
            assertThat(library.calls()).endsWith(
                    "dmabuf true 100 5000 0x%x %d 1".formatted(part.address(), buffer.fd()));
            assertThat(cuda.synced()).containsExactly(memory.range().address());
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, buffer::close);
            region.close();
            buffer.close();
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> domain.register(buffer, WRITE));
        }
    }

    @Test
    void gpuMemoryIsRegisteredByItsAddressAndItsCopiesWaitFromThenOn() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_DEVICE, 1 << 20);
                ProtectionDomain domain = devices().open("mlx5_0")) {
            MemoryRange part = memory.range().slice(5, 1000);
            for (int round = 0; round < 3; round++) {
                domain.register(part, WRITE).close();
            }
            assertThat(library.calls()).contains("mr true 0x%x 1000 1".formatted(part.address()));
            assertThat(cuda.synced()).containsExactly(memory.range().address());
            assertThat(cuda.calls(CudaFunction.POINTER_SET_ATTRIBUTE)).isOne();
        }
    }

    @Test
    void gpuMemoryThatCannotBeHeldIsRefused() {
        try (MemoryAllocation managed = allocator.allocate(MemoryKind.CUDA_MANAGED, 4096);
                ProtectionDomain domain = devices().open("mlx5_0")) {
            Failures.expect(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, () -> domain.register(managed.range(), WRITE));
            MemoryRange unknown = MemoryRange.ofAddress(0x1000, 10, MemoryKind.CUDA_DEVICE);
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> domain.register(unknown, WRITE));
            assertThat(library.calls()).noneMatch(call -> call.startsWith("mr"));
        }
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_DEVICE, 4096);
                ProtectionDomain domain =
                        ((RdmaAvailability.Available) library.detect()).verbs().open("mlx5_0")) {
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> domain.register(memory.range(), WRITE));
        }
    }

    @Test
    void invalidRightsAreRefusedBeforeVerbs() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 10_000);
                Arena arena = Arena.ofShared();
                ProtectionDomain domain = devices().open("mlx5_0")) {
            MemoryRange range = memory.range();
            Failures.expect(
                    CuFileError.INVALID_VALUE, () -> domain.register(range, Set.of(RdmaAccess.REMOTE_WRITE)));
            Failures.expect(
                    CuFileError.INVALID_VALUE, () -> domain.register(range, Set.of(RdmaAccess.REMOTE_ATOMIC)));
            Failures.expect(CuFileError.INVALID_VALUE, () -> domain.register(range.slice(5, 0), WRITE));
            MemoryRange readOnly = MemoryRange.ofSegment(arena.allocate(10).asReadOnly());
            Failures.expect(CuFileError.PERMISSION_DENIED, () -> domain.register(readOnly, WRITE));
            Failures.expect(CuFileError.DEVICE_NOT_FOUND, () -> devices().open("mlx5_7"));
            assertThat(library.calls()).noneMatch(call -> call.startsWith("mr"));
        }
    }

    @Test
    void refusalOfVerbsIsAnErrorAndKeepsNothing() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 10_000)) {
            ProtectionDomain domain = devices().open("mlx5_0");
            library.refuse(true);
            assertThat(Failures.expect(() -> domain.register(memory.range(), WRITE)).function())
                    .isEqualTo("ibv_reg_mr");
            Failures.expect(CuFileError.IO_ERROR, () -> devices().open("mlx5_0"));
            domain.close();
            Failures.expect(
                    CuFileError.MEMORY_NOT_REGISTERED, () -> domain.register(memory.range(), WRITE));
        }
    }

    @Test
    void oldLibraryRegistersNoDmaBufs() {
        library.without("ibv_reg_dmabuf_mr");
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_VMM, 1 << 20);
                ProtectionDomain domain = devices().open("mlx5_0");
                DmaBuf buffer = allocator.exportDmaBuf(memory.range())) {
            assertThat(Failures.expect(CuFileError.IO_NOT_SUPPORTED, () -> domain.register(buffer, WRITE)).detail())
                    .contains("rdma-core");
        }
    }
}
