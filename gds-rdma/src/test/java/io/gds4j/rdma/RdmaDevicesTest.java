package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.verbs.SoftVerbs;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import java.lang.foreign.Arena;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory regions of RDMA devices over a double of libibverbs. */
class RdmaDevicesTest {
    private static final CudaAvailability NO_CUDA = new CudaAvailability.Unavailable("none", "none");
    private static final Set<RdmaAccess> WRITE = Set.of(RdmaAccess.LOCAL_WRITE);

    private final SoftVerbs library = new SoftVerbs("mlx5_0", "mlx5_1");
    private final FakeCuda cuda = new FakeCuda();
    private final NativeMemoryAllocator allocator =
            new NativeMemoryAllocator(FfmPosix.instance(), cuda.available());

    @AfterEach
    void nothingIsLeft() {
        allocator.close();
        assertThat(library.live()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    private RdmaDevices devices() {
        return ((RdmaAvailability.Available) RdmaDevices.of(library, cuda::available)).verbs();
    }

    @Test
    void devicesAreListedByName() {
        assertThat(RdmaDevices.of(library, () -> NO_CUDA)).isInstanceOfSatisfying(
                RdmaAvailability.Available.class,
                rdma -> assertThat(rdma.devices()).containsExactly("mlx5_0", "mlx5_1"));
    }

    @Test
    void machineWithoutDevicesSaysSo() {
        assertThat(RdmaDevices.of(new SoftVerbs(), () -> NO_CUDA)).isInstanceOfSatisfying(
                RdmaAvailability.Unavailable.class, rdma -> assertThat(rdma.reason()).isEqualTo("no RDMA device"));
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
            assertThat(region.length()).isEqualTo(5_001);
            assertThat(region.remote()).isEqualTo(
                    new RemoteMemory(part.address(), 5_001, region.remoteKey()));
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, memory::close);
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, domain::close);
            assertThat(domain.isOpen()).isTrue();
            region.close();
            region.close();
            assertThat(region.isOpen()).isFalse();
            assertThat(library.calls()).containsExactly(
                    "ibv_open_device", "ibv_alloc_pd", "ibv_reg_mr", "ibv_dereg_mr");
        }
        assertThat(library.calls()).endsWith("ibv_dealloc_pd", "ibv_close_device");
    }

    @Test
    void gpuMemoryIsRegisteredByItsDmaBuf() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_VMM, 1 << 20);
                ProtectionDomain domain = devices().open("mlx5_0")) {
            MemoryRange part = memory.range().slice(4096 + 100, 5_000);
            DmaBuf buffer = allocator.exportDmaBuf(part);
            MemoryRegion region = domain.register(buffer, WRITE);
            assertThat(library.calls()).endsWith(
                    "offset 100 length 5000 iova 0x%x fd %s access 1".formatted(part.address(), buffer.fd()),
                    "ibv_reg_dmabuf_mr");
            assertThat(cuda.synced()).containsExactly(memory.range().address());
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, buffer::close);
            region.close();
            buffer.close();
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> domain.register(buffer, WRITE));
        }
    }

    @Test
    void memoryThatGrewIsRegisteredAcrossItsMappings() {
        try (GrowableMemory memory = allocator.growable(8 << 20, 0);
                ProtectionDomain domain = devices().open("mlx5_0")) {
            long seam = memory.allocation().range().length();
            memory.grow(8 << 20);
            MemoryRange all = memory.allocation().range();
            MemoryRange part = all.slice(seam - 100, 200);
            try (DmaBuf buffer = allocator.exportDmaBuf(part); MemoryRegion region = domain.register(buffer, WRITE)) {
                assertThat(library.calls()).endsWith(
                        "offset 3996 length 200 iova 0x%x fd %s access 1".formatted(part.address(), buffer.fd()),
                        "ibv_reg_dmabuf_mr");
                assertThat(region.isOpen()).isTrue();
            }
            domain.register(all, WRITE).close();
            assertThat(cuda.synced()).containsExactlyInAnyOrder(all.address(), all.address() + seam);
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
            assertThat(library.calls()).contains("ibv_reg_mr");
            assertThat(cuda.synced()).containsExactly(memory.range().address());
            assertThat(cuda.calls(CudaFunction.POINTER_SET_ATTRIBUTE)).isOne();
        }
    }

    /** As perftest's memory contexts: each kind by its address, and memory of a GPU as a dma-buf. */
    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, mode = EnumSource.Mode.EXCLUDE, names = "CUDA_MANAGED")
    void memoryOfEveryKindMovesItsBytes(MemoryKind kind) {
        int size = 1 << 20;
        try (MemoryAllocation memory = allocator.allocate(kind, size);
                MemoryAllocation host = allocator.allocate(MemoryKind.HOST, size);
                ProtectionDomain domain = devices().open("mlx5_0");
                DmaBuf exported = kind == MemoryKind.CUDA_VMM
                        ? allocator.exportDmaBuf(memory.range().slice(4096 + 100, size / 2))
                        : null;
                MemoryRegion region = exported != null
                        ? domain.register(exported, RdmaContract.ALL)
                        : domain.register(memory.range().slice(4096 + 100, size / 2), RdmaContract.ALL);
                MemoryRegion plain = domain.register(host.range(), RdmaContract.ALL);
                QueuePair requester = domain.queuePair().build();
                QueuePair responder = domain.queuePair().build()) {
            requester.connect(responder.local());
            responder.connect(requester.local());
            RdmaContract.bytes(host).asSlice(0, 5000).fill((byte) 77);
            requester.write(1, plain.slice(0, 5000), region.remote().slice(10_000, 5000));
            RdmaContract.next(requester).check();
            requester.write(2, region.slice(10_000, 5000), plain.remote().slice(100_000, 5000));
            RdmaContract.next(requester).check();
            assertThat(
                    RdmaContract.bytes(host).asSlice(0, 5000)
                            .mismatch(RdmaContract.bytes(host).asSlice(100_000, 5000)))
                    .isEqualTo(-1);
            allocator.copy(memory.range().slice(4096 + 100 + 10_000, 5000), host.range().slice(200_000, 5000));
            assertThat(
                    RdmaContract.bytes(host).asSlice(0, 5000)
                            .mismatch(RdmaContract.bytes(host).asSlice(200_000, 5000)))
                    .isEqualTo(-1);
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
            assertThat(library.calls()).noneMatch(call -> call.startsWith("ibv_reg"));
        }
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_DEVICE, 4096);
                ProtectionDomain domain =
                        ((RdmaAvailability.Available) RdmaDevices.of(library, () -> NO_CUDA)).verbs().open("mlx5_0")) {
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
            assertThat(library.calls()).noneMatch(call -> call.startsWith("ibv_reg"));
        }
    }

    @Test
    void refusalOfVerbsIsAnErrorAndKeepsNothing() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 10_000)) {
            ProtectionDomain domain = devices().open("mlx5_0");
            library.fail("ibv_reg_mr", Errno.EFAULT);
            assertThat(Failures.expect(() -> domain.register(memory.range(), WRITE)).function())
                    .isEqualTo("ibv_reg_mr");
            library.fail("ibv_open_device", Errno.EACCES);
            Failures.expect(CuFileError.IO_ERROR, Errno.EACCES, () -> devices().open("mlx5_0"));
            library.fail("ibv_alloc_pd", Errno.ENOMEM);
            Failures.expect(CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> devices().open("mlx5_0"));
            domain.close();
            Failures.expect(
                    CuFileError.MEMORY_NOT_REGISTERED, () -> domain.register(memory.range(), WRITE));
        }
    }

    @Test
    void oldLibraryRegistersNoDmaBufs() {
        library.fail("ibv_reg_dmabuf_mr", Errno.EOPNOTSUPP);
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_VMM, 1 << 20);
                ProtectionDomain domain = devices().open("mlx5_0");
                DmaBuf buffer = allocator.exportDmaBuf(memory.range())) {
            assertThat(Failures.expect(CuFileError.IO_NOT_SUPPORTED, () -> domain.register(buffer, WRITE)))
                    .hasMessageContaining("ibv_reg_dmabuf_mr").hasMessageContaining("mlx5_0");
        }
    }
}
