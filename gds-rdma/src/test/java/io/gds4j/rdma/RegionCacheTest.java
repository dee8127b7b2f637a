package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.verbs.SoftVerbs;
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

/** What a cache keeps registered with a domain; its algorithm is that of the driver, which RegistrationCacheTest tests. */
class RegionCacheTest {
    private static final Set<RdmaAccess> RIGHTS = EnumSet.of(RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ);
    private static final long SIZE = 64 << 10;

    private final SoftVerbs verbs = new SoftVerbs("soft0");
    private final FakeCuda cuda = new FakeCuda();
    private final NativeMemoryAllocator allocator =
            new NativeMemoryAllocator(FfmPosix.instance(), cuda.available());
    private final ProtectionDomain domain =
            ((RdmaAvailability.Available) RdmaDevices.of(verbs, cuda::available)).verbs().open("soft0");
    private final RegionCache cache = RegionCache.of(domain, allocator, RIGHTS, 3 * SIZE);

    @AfterEach
    void nothingIsLeft() {
        cache.close();
        domain.close();
        allocator.close();
        assertThat(verbs.live()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    private long count(String verb) {
        return verbs.calls().stream().filter(verb::equals).count();
    }

    private void use(MemoryAllocation memory) {
        cache.lease(memory.range()).close();
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "HOST_HUGEPAGE", "HOST_PINNED", "CUDA_DEVICE", "CUDA_POOL"})
    void allocationIsRegisteredOnceForAllItsParts(MemoryKind kind) {
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE);
                RegionCache large = RegionCache.of(domain, allocator, RIGHTS, 64 << 20)) {
            for (int i = 0; i < 5; i++) {
                MemoryRange part = memory.range().slice(1000 * i, 500);
                try (RegionLease lease = large.lease(part)) {
                    assertThat(lease.remote().address()).isEqualTo(part.address());
                    assertThat(lease.remote().length()).isEqualTo(500);
                    assertThat(lease.slice(10, 20).address()).isEqualTo(part.address() + 10);
                    Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> lease.slice(490, 11));
                    Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> lease.slice(-1, 1));
                }
            }
            assertThat(count("ibv_reg_mr")).isOne();
            assertThat(large.hits()).isEqualTo(4);
            assertThat(count("ibv_dereg_mr")).isZero();
        }
        assertThat(count("ibv_dereg_mr")).isOne();
    }

    @Test
    void leastRecentlyUsedGoesFirst() {
        MemoryAllocation[] all = new MemoryAllocation[4];
        for (int i = 0; i < 3; i++) {
            all[i] = allocator.allocate(MemoryKind.HOST, SIZE);
            use(all[i]);
        }
        use(all[0]);
        all[3] = allocator.allocate(MemoryKind.HOST, SIZE);
        use(all[3]);
        assertThat(cache.evictions()).isOne();
        assertThat(cache.registeredBytes()).isEqualTo(3 * SIZE);
        use(all[0]);
        use(all[2]);
        assertThat(count("ibv_reg_mr")).isEqualTo(4);
        use(all[1]);
        assertThat(count("ibv_reg_mr")).isEqualTo(5);
        for (MemoryAllocation memory : all) {
            memory.close();
        }
        assertThat(cache.registeredBytes()).isZero();
    }

    @Test
    void whatIsLentStaysAndWhatDoesNotFitIsRegisteredForItsLease() {
        try (MemoryAllocation lent = allocator.allocate(MemoryKind.HOST, 3 * SIZE);
                MemoryAllocation other = allocator.allocate(MemoryKind.HOST, SIZE);
                Arena arena = Arena.ofShared();
                RegionLease lease = cache.lease(lent.range())) {
            MemoryRange unknown = MemoryRange.ofSegment(arena.allocate(100));
            for (MemoryRange range : new MemoryRange[]{other.range(), unknown}) {
                long before = count("ibv_dereg_mr");
                try (RegionLease alone = cache.lease(range)) {
                    assertThat(alone.remote().address()).isEqualTo(range.address());
                }
                assertThat(count("ibv_dereg_mr")).isEqualTo(before + 1);
            }
            assertThat(lease.slice(0, 8).region().isOpen()).isTrue();
            assertThat(cache.evictions()).isZero();
        }
    }

    @Test
    void deviceWithoutRoomGetsIt() {
        try (MemoryAllocation one = allocator.allocate(MemoryKind.HOST, SIZE);
                MemoryAllocation other = allocator.allocate(MemoryKind.HOST, SIZE)) {
            use(one);
            verbs.fail("ibv_reg_mr", Errno.ENOMEM);
            use(other);
            assertThat(cache.evictions()).isOne();
            assertThat(cache.registeredBytes()).isEqualTo(SIZE);
        }
    }

    @Test
    void ordersThatAreWrongAreRefused() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, SIZE)) {
            RegionLease lease = cache.lease(memory.range());
            Failures.expectErrno(Errno.EBUSY, memory::close);
            Failures.expectErrno(Errno.EBUSY, cache::close);
            Failures.expectErrno(Errno.EBUSY, domain::close);
            lease.close();
            lease.close();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> lease.slice(0, 1));
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, lease::remote);
            Failures.expectErrno(Errno.EBUSY, domain::close);
            cache.close();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> cache.lease(memory.range()));
        }
        Failures.expect(CuFileError.INVALID_VALUE, () -> RegionCache.of(domain, allocator, RIGHTS, 0));
        Failures.expect(CuFileError.INVALID_VALUE, () -> RegionCache.of(domain, allocator, RdmaContract.ALL, 1));
        Failures.expect(
                CuFileError.INVALID_VALUE, () -> RegionCache.of(domain, allocator, Set.of(RdmaAccess.REMOTE_WRITE), 1));
    }

    @Test
    void borrowerCannotCloseARegion() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, SIZE);
                MemoryAllocation large = allocator.allocate(MemoryKind.HOST, 4 * SIZE)) {
            for (MemoryAllocation one : new MemoryAllocation[]{memory, large}) {
                RegionLease lease = cache.lease(one.range());
                MemoryRegion region = lease.slice(0, 8).region();
                Failures.expectErrno(Errno.EBUSY, region::close);
                assertThat(region.isOpen()).isTrue();
                lease.close();
                assertThat(region.isOpen()).isEqualTo(one == memory);
            }
        }
    }

    @Test
    void closedDomainRegistersNothing() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, SIZE)) {
            domain.close();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> cache.lease(memory.range()));
            Failures.expect(CuFileError.INVALID_VALUE, () -> cache.lease(memory.range().slice(0, 0)));
        }
    }
}
