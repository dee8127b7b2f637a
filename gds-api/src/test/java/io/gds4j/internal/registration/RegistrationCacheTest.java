package io.gds4j.internal.registration;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.internal.registration.RegistrationCache.Statistics;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests what the cache registers, keeps and evicts. */
class RegistrationCacheTest {
    private static final long PAGE = 64 << 10;
    private static final long MIB = 1 << 20;

    private final FakeGpuMemory memory = new FakeGpuMemory();
    private final AtomicLong clock = new AtomicLong();
    private long limit = Long.MAX_VALUE;
    private RegistrationCache cache = cache(3 * MIB, PAGE);

    private RegistrationCache cache(long budget, long page) {
        return new RegistrationCache(memory, budget, page, device -> limit, clock::incrementAndGet);
    }

    @AfterEach
    void backendSawNoViolation() {
        cache.close();
        assertThat(memory.violations).isEmpty();
        assertThat(memory.registeredLengths()).isEmpty();
    }

    /** Runs one request; returns whether it used registered memory. */
    private boolean io(MemoryRange range) {
        CachedRegistration used = cache.use(range);
        if (used == null) {
            return false;
        }
        memory.beginIo(used.whole(), range);
        memory.endIo(used.whole());
        used.exit();
        return true;
    }

    private Statistics statistics() {
        return cache.statistics();
    }

    @Test
    void wholeAllocationIsRegisteredOnceForAllItsParts() {
        MemoryRange range = memory.allocateForeign(0, MIB);
        assertThat(io(range.slice(5000, 100))).isTrue();
        assertThat(io(range.slice(0, MIB))).isTrue();
        assertThat(io(range.slice(MIB - 1, 1))).isTrue();
        assertThat(memory.registeredLengths()).containsOnlyKeys(range.address()).containsValue(MIB);
        assertThat(memory.registrations).isOne();
        assertThat(statistics()).isEqualTo(new Statistics(2, 1, 0, 0, 0, 0, 1, MIB));
    }

    @Test
    void bytesAreCountedInWholePages() {
        cache = cache(Long.MAX_VALUE, PAGE);
        io(memory.allocateForeign(0, 1));
        assertThat(statistics().bytesPinned()).isEqualTo(PAGE);
        io(memory.allocateForeign(1, PAGE + 1));
        assertThat(statistics().bytesPinned()).isEqualTo(3 * PAGE);
        cache.close();
        cache = cache(Long.MAX_VALUE, 4096);
        io(memory.allocateForeign(2, 4097));
        assertThat(statistics().bytesPinned()).isEqualTo(8192);
    }

    static Stream<MemoryRange> neverCached() {
        return Stream.of(
                MemoryRange.ofAddress(FakeGpuMemory.base(0), 10, MemoryKind.HOST),
                MemoryRange.ofAddress(FakeGpuMemory.base(0), 10, MemoryKind.HOST_PINNED),
                MemoryRange.ofAddress(FakeGpuMemory.base(0), 10, MemoryKind.CUDA_MANAGED),
                MemoryRange.ofAddress(FakeGpuMemory.base(0), 0, MemoryKind.CUDA_DEVICE),
                MemoryRange.ofAddress(FakeGpuMemory.base(0) + MIB - 5, 10, MemoryKind.CUDA_DEVICE),
                MemoryRange.ofAddress(FakeGpuMemory.base(5), 10, MemoryKind.CUDA_DEVICE));
    }

    @ParameterizedTest
    @MethodSource("neverCached")
    void hostManagedAndUnknownMemoryIsNotCached(MemoryRange range) {
        memory.allocateForeign(0, MIB);
        assertThat(io(range)).isFalse();
        assertThat(memory.registrations).isZero();
        assertThat(statistics().uncacheable()).isOne();
    }

    @Test
    void memoryAllocatedAgainAtTheSameAddressIsDetected() {
        MemoryRange before = memory.allocateForeign(0, MIB);
        io(before);
        memory.free(0);
        MemoryRange after = memory.allocateForeign(0, MIB / 2);
        assertThat(after.address()).isEqualTo(before.address());
        assertThat(io(after)).isTrue();
        assertThat(memory.registeredLengths()).containsEntry(after.address(), MIB / 2);
        assertThat(statistics()).isEqualTo(new Statistics(0, 2, 0, 0, 0, 1, 1, MIB / 2));
    }

    @Test
    void freedMemoryIsAMiss() {
        MemoryRange range = memory.allocateForeign(0, MIB);
        io(range);
        memory.free(0);
        assertThat(io(range)).isFalse();
        assertThat(statistics()).isEqualTo(new Statistics(0, 1, 1, 0, 0, 1, 0, 0));
    }

    @Test
    void ownedMemoryIsDeregisteredBeforeItIsFreed() {
        MemoryAllocation first = memory.allocateOwned(0, MIB);
        assertThat(io(first.range().slice(10, 20))).isTrue();
        first.close();
        assertThat(memory.registeredLengths()).isEmpty();
        try (MemoryAllocation second = memory.allocateOwned(0, MIB)) {
            assertThat(io(second.range())).isTrue();
        }
        assertThat(statistics()).isEqualTo(new Statistics(0, 2, 0, 0, 0, 0, 0, 0));
    }

    @Test
    void leastRecentlyUsedIsEvictedFirst() {
        List<MemoryRange> ranges = Stream.of(0, 1, 2).map(slot -> memory.allocateForeign(slot, MIB)).toList();
        ranges.forEach(this::io);
        io(ranges.getFirst());
        io(memory.allocateForeign(3, MIB));
        assertThat(memory.registeredLengths()).containsOnlyKeys(
                FakeGpuMemory.base(0), FakeGpuMemory.base(2), FakeGpuMemory.base(3));
        assertThat(statistics().evictions()).isOne();
        io(memory.allocateForeign(4, 2 * MIB));
        assertThat(memory.registeredLengths()).containsOnlyKeys(FakeGpuMemory.base(3), FakeGpuMemory.base(4));
        assertThat(statistics().evictions()).isEqualTo(3);
    }

    @Test
    void registrationUnderIoIsNotEvicted() {
        MemoryRange range = memory.allocateForeign(0, 2 * MIB);
        CachedRegistration running = cache.use(range);
        assertThat(io(memory.allocateForeign(1, 2 * MIB))).isFalse();
        assertThat(statistics().refused()).isOne();
        memory.free(0);
        MemoryRange again = memory.allocateForeign(0, MIB);
        assertThat(io(again)).as("the old registration is in use").isFalse();
        assertThat(memory.registeredLengths()).containsEntry(again.address(), 2 * MIB);
        running.exit();
        assertThat(memory.registeredLengths()).isEmpty();
        assertThat(io(again)).isTrue();
    }

    @Test
    void allocationAboveBudgetOrGpuLimitStaysUnregistered() {
        MemoryRange small = memory.allocateForeign(0, MIB);
        io(small);
        assertThat(io(memory.allocateForeign(1, 4 * MIB))).isFalse();
        limit = MIB;
        assertThat(io(memory.allocateForeign(2, 2 * MIB))).isFalse();
        assertThat(io(memory.allocateForeign(3, MIB))).isTrue();
        assertThat(memory.registeredLengths()).containsOnlyKeys(FakeGpuMemory.base(3));
        assertThat(statistics().refused()).isEqualTo(2);
    }

    @Test
    void refusedRegistrationIsRetriedAfterEvictions() {
        memory.room = 2 * MIB;
        io(memory.allocateForeign(0, MIB));
        io(memory.allocateForeign(1, MIB));
        assertThat(io(memory.allocateForeign(2, MIB))).isTrue();
        assertThat(memory.registrations).isEqualTo(4);
        assertThat(memory.registeredLengths()).containsOnlyKeys(FakeGpuMemory.base(1), FakeGpuMemory.base(2));

        MemoryRange large = memory.allocateForeign(3, 3 * MIB);
        assertThat(io(large)).isFalse();
        assertThat(memory.registeredLengths()).isEmpty();
        assertThat(memory.registrations).isEqualTo(6);
        assertThat(io(large)).isFalse();
        assertThat(memory.registrations).as("a refused size is not tried again").isEqualTo(6);
        assertThat(io(memory.allocateForeign(4, MIB))).isTrue();
    }

    @Test
    void registrationOfTheProgramComesFirst() {
        MemoryRange range = memory.allocateForeign(0, MIB);
        io(range);
        cache.giveWay(range.address());
        assertThat(memory.registeredLengths()).isEmpty();
        memory.bufRegisterNow(range.slice(0, 10), 0);
        assertThat(io(range)).isFalse();
        assertThat(memory.registrations).isEqualTo(2);
        memory.bufDeregister(range.slice(0, 10));
        cache.takeBack(range.address());
        assertThat(io(range)).isTrue();
    }

    @Test
    void closedCacheRegistersNothing() {
        MemoryAllocation owned = memory.allocateOwned(0, MIB);
        CachedRegistration running = cache.use(owned.range());
        cache.close();
        assertThat(memory.registeredLengths()).hasSize(1);
        running.exit();
        assertThat(memory.registeredLengths()).isEmpty();
        assertThat(io(owned.range())).isFalse();
        owned.close();
    }
}
