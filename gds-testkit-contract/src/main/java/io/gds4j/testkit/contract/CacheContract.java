package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.BufferRight;
import io.gds4j.BufferWindow;
import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.RegistrationPolicy;
import io.gds4j.RegistrationStatistics;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.MemorySegment;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of the registration cache: it registers unregistered memory once, and the program can still free that
 * memory.
 *
 * @since 0.1
 */
public abstract class CacheContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int LENGTH = 16 * PAGE;

    private @Nullable CuFileDriver opened;

    /** For subclasses. */
    protected CacheContract() {
    }

    @BeforeEach
    void openWithCache() {
        opened = newDriver();
        opened.setRegistrationPolicy(RegistrationPolicy.CACHED);
    }

    @AfterEach
    void closeIt() {
        cached().close();
    }

    private CuFileDriver cached() {
        if (opened == null) {
            throw new IllegalStateException("no driver outside of tests");
        }
        return opened;
    }

    private CuFileHandle open(GuardedFile file) {
        return cached().openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    final Stream<MemoryKind> pinnableKinds() {
        return kinds().filter(kind -> kind.isCuda() && kind != MemoryKind.CUDA_MANAGED);
    }

    final Stream<MemoryKind> otherKinds() {
        return kinds().filter(kind -> !kind.isCuda() || kind == MemoryKind.CUDA_MANAGED);
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("pinnableKinds")
    void memoryIsRegisteredOnceAndMovesTheRightBytes(MemoryKind kind) {
        GuardedFile file = newFile(3 * LENGTH);
        try (CuFileHandle handle = open(file)) {
            try (GuardedMemory memory = memory(kind, LENGTH)) {
                MemoryRange range = memory.range();
                assertThat(handle.read(range, 1234)).isEqualTo(LENGTH);
                memory.expect(0, file.expected(1234, LENGTH));
                assertThat(handle.read(range.slice(5, 100), 50, 7, 3)).isEqualTo(50);
                memory.expect(8, file.expected(7, 50));
                assertThat(handle.write(range.slice(PAGE, PAGE), 99)).isEqualTo(PAGE);
                file.expectWrite(99, memory.expected(PAGE, PAGE));
                assertThat(handle.readAsync(range, 10, 0, LENGTH - 10).join()).isEqualTo(10);
                memory.expect(LENGTH - 10, file.expected(0, 10));
                memory.verify();
                RegistrationStatistics done = cached().registrationStatistics();
                assertThat(done.misses()).isOne();
                assertThat(done.hits()).isEqualTo(3);
                assertThat(done.refused()).isZero();
                assertThat(done.registrations()).isOne();
                assertThat(done.bytesPinned()).isGreaterThan(LENGTH);
            }
            assertThat(cached().registrationStatistics().registrations()).as("of freed memory").isZero();
            assertThat(cached().registrationStatistics().bytesPinned()).isZero();
        }
        file.verify();
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("pinnableKinds")
    void batchEntriesUseTheCacheUntilCompletion(MemoryKind kind) {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileBatchIOSetUp"), "not built");
        GuardedFile file = newFile(LENGTH);
        try (CuFileHandle handle = open(file);
                GuardedMemory memory = memory(kind, LENGTH);
                CuFileBatch batch = cached().batch(2)) {
            MemoryRange range = memory.range();
            batch.submit(List.of(
                    CuFileBatch.Request.read(handle, range.slice(PAGE, PAGE), 100, 0, 7),
                    CuFileBatch.Request.read(handle, range, PAGE, 100, 4 * PAGE)));
            cached().setRegistrationPolicy(RegistrationPolicy.EXPLICIT);
            int taken = 0;
            while (taken < 2) {
                taken += batch.await(1, Duration.ofSeconds(60)).size();
            }
            memory.expect(PAGE + 7, file.expected(0, 100));
            memory.expect(4 * PAGE, file.expected(100, PAGE));
            memory.verify();
            try (CuFileBuffer buffer = cached().registerBuffer(memory.range())) {
                assertThat(buffer.isOpen()).as("nothing of the cache is left").isTrue();
            }
        }
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("pinnableKinds")
    void memoryOfABatchIsRegisteredAfterCompletion(MemoryKind kind) {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileBatchIOSetUp"), "not built");
        GuardedFile file = newFile(LENGTH);
        try (CuFileHandle handle = open(file);
                MemoryAllocation memory = cached().allocator().allocate(kind, LENGTH);
                CuFileBatch batch = cached().batch(1)) {
            batch.submit(List.of(CuFileBatch.Request.read(handle, memory.range(), 100, 0, 7)));
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, () -> cached().registerBuffer(memory.range()));
            assertThat(batch.await(1, Duration.ofSeconds(60))).hasSize(1);
            cached().registerBuffer(memory.range()).close();
        }
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("pinnableKinds")
    void fullBackendEvictsOthersAndRetriesOnce(MemoryKind kind) {
        GuardedFile file = newFile(LENGTH);
        for (CuFileError lack : List.of(
                CuFileError.INVALID_MAPPING_SIZE, CuFileError.GPU_MEMORY_PINNING_FAILED, CuFileError.NOMEM_ERROR)) {
            FaultInjectingBackend full =
                    new FaultInjectingBackend(backend().createBackend(backend().config()));
            try (CuFileDriver driver = CuFileDriver.open(full);
                    CuFileHandle handle = driver.openFile(file.path());
                    GuardedMemory first = memory(kind, LENGTH);
                    GuardedMemory second = memory(kind, LENGTH)) {
                driver.setRegistrationPolicy(RegistrationPolicy.CACHED);
                full.failBufferRegistration(2, lack);
                readAll(handle, first, file);
                readAll(handle, second, file);
                RegistrationStatistics retried = driver.registrationStatistics();
                assertThat(full.bufferRegistrationCount()).as("after %s", lack).isEqualTo(3);
                assertThat(retried.evictions()).isOne();
                assertThat(retried.refused()).isZero();
                assertThat(retried.registrations()).isOne();

                full.failBufferRegistration(4, lack);
                full.failBufferRegistration(5, lack);
                readAll(handle, first, file);
                RegistrationStatistics without = driver.registrationStatistics();
                assertThat(full.bufferRegistrationCount()).as("after %s twice", lack).isEqualTo(5);
                assertThat(without.refused()).isOne();
                assertThat(without.evictions()).isEqualTo(2);
                assertThat(without.bytesPinned()).isZero();
            }
        }
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("pinnableKinds")
    void otherRefusalsEvictNothingAndGoUnregistered(MemoryKind kind) {
        GuardedFile file = newFile(LENGTH);
        FaultInjectingBackend picky = new FaultInjectingBackend(backend().createBackend(backend().config()));
        try (CuFileDriver driver = CuFileDriver.open(picky);
                CuFileHandle handle = driver.openFile(file.path());
                GuardedMemory first = memory(kind, LENGTH);
                GuardedMemory second = memory(kind, LENGTH)) {
            driver.setRegistrationPolicy(RegistrationPolicy.CACHED);
            picky.failBufferRegistration(2, CuFileError.INTERNAL_ERROR);
            readAll(handle, first, file);
            readAll(handle, second, file);
            assertThat(picky.bufferRegistrationCount()).isEqualTo(2);
            assertThat(driver.registrationStatistics().refused()).isOne();
            assertThat(driver.registrationStatistics().evictions()).isZero();
            readAll(handle, second, file);
            assertThat(driver.registrationStatistics().registrations()).isEqualTo(2);
        }
    }

    private static void readAll(CuFileHandle handle, GuardedMemory memory, GuardedFile file) {
        assertThat(handle.read(memory.range(), 0)).isEqualTo(LENGTH);
        memory.expect(0, file.expected(0, LENGTH));
        memory.verify();
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("otherKinds")
    void hostAndManagedMemoryIsNotRegistered(MemoryKind kind) {
        GuardedFile file = newFile(LENGTH);
        try (CuFileHandle handle = open(file); GuardedMemory memory = memory(kind, LENGTH)) {
            assertThat(handle.read(memory.range(), 0)).isEqualTo(LENGTH);
            memory.expect(0, file.expected(0, LENGTH));
            memory.verify();
            assertThat(cached().registrationStatistics().uncacheable()).isOne();
            assertThat(cached().registrationStatistics().registrations()).isZero();
        }
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("pinnableKinds")
    void registrationsOfTheProgramTakePrecedence(MemoryKind kind) {
        GuardedFile file = newFile(LENGTH);
        try (CuFileHandle handle = open(file); MemoryAllocation memory = allocator().allocate(kind, LENGTH)) {
            handle.read(memory.range(), 0);
            try (CuFileBuffer buffer = cached().registerBuffer(memory.range())) {
                assertThat(cached().registrationStatistics().registrations()).isZero();
                assertThat(handle.read(memory.range(), 0)).isEqualTo(LENGTH);
                assertThat(handle.read(buffer, 0)).isEqualTo(LENGTH);
                assertThat(cached().registrationStatistics().registrations()).isZero();
                Failures.expect(
                        CuFileError.MEMORY_ALREADY_REGISTERED, () -> cached().registerBuffer(memory.range()));
            }
            assertThat(handle.read(memory.range(), 0)).isEqualTo(LENGTH);
            assertThat(cached().registrationStatistics().registrations()).isOne();
        }
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("pinnableKinds")
    void changedPolicyDropsRegistrations(MemoryKind kind) {
        GuardedFile file = newFile(LENGTH);
        try (CuFileHandle handle = open(file); GuardedMemory memory = memory(kind, LENGTH)) {
            handle.read(memory.range(), 0);
            for (RegistrationPolicy policy : new RegistrationPolicy[]{RegistrationPolicy.EXPLICIT,
                    RegistrationPolicy.NONE, RegistrationPolicy.CACHED.withBudget(1)}) {
                cached().setRegistrationPolicy(policy);
                assertThat(cached().registrationPolicy()).isEqualTo(policy);
                assertThat(handle.read(memory.range(), 0)).isEqualTo(LENGTH);
                assertThat(cached().registrationStatistics().registrations()).isZero();
            }
            assertThat(cached().registrationStatistics().refused()).isOne();
            memory.expect(0, file.expected(0, LENGTH));
            memory.verify();
        }
    }

    @Test
    void grownMemoryIsRegisteredAgainAtItsNextUse() {
        assumeTrue(allocator().supports(MemoryKind.CUDA_VMM), "no memory that grows");
        GuardedFile file = newFile(LENGTH);
        try (CuFileHandle handle = open(file); GrowableMemory memory = allocator().growable(64L << 20, 0)) {
            MemoryRange small = memory.allocation().range();
            assertThat(handle.read(small, LENGTH, 0, 0)).isEqualTo(LENGTH);
            assertThat(cached().registrationStatistics().registrations()).isOne();
            MemoryRange large = memory.grow(small.length() + 1).range();
            assertThat(cached().registrationStatistics().registrations()).as("of what was smaller").isZero();
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(small, 1, 0, 0));
            long end = large.length() - LENGTH;
            assertThat(handle.read(large, LENGTH, 0, end)).isEqualTo(LENGTH);
            assertThat(bytes(large.slice(0, LENGTH))).as("kept").isEqualTo(file.expected(0, LENGTH));
            assertThat(bytes(large.slice(end, LENGTH))).isEqualTo(file.expected(0, LENGTH));
            assertThat(cached().registrationStatistics().bytesPinned()).isGreaterThanOrEqualTo(large.length());

            try (CuFileBuffer buffer = cached().registerBuffer(large)) {
                Failures.expect(
                        CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, () -> memory.grow(large.length() + 1));
                assertThat(handle.read(buffer, 100, 7, end)).isEqualTo(100);
            }
            MemoryRange larger = memory.grow(large.length() + 1).range();
            try (CuFileBuffer buffer = cached().registerBuffer(larger)) {
                assertThat(handle.read(buffer, 100, 9, larger.length() - 100)).isEqualTo(100);
                assertThat(bytes(larger.slice(larger.length() - 100, 100))).isEqualTo(file.expected(9, 100));
            }
            MemoryRange acrossMappings =
                    MemoryRange.ofAddress(larger.address(), larger.length(), MemoryKind.CUDA_VMM, 0);
            try (CuFileBuffer buffer = cached().registerBuffer(acrossMappings)) {
                assertThat(handle.read(buffer, LENGTH, 0, small.length() - PAGE)).isEqualTo(LENGTH);
                assertThat(bytes(larger.slice(small.length() - PAGE, LENGTH))).isEqualTo(file.expected(0, LENGTH));
            }
        }
    }

    private byte[] bytes(MemoryRange range) {
        byte[] bytes = new byte[(int) range.length()];
        allocator().copyToHost(range, MemorySegment.ofArray(bytes));
        return bytes;
    }

    /** Returns the same memory as if the program had allocated it by other means. */
    private static MemoryRange foreign(MemoryAllocation memory) {
        MemoryRange range = memory.range();
        return MemoryRange.ofAddress(range.address(), range.length(), range.kind(), range.device());
    }

    final Stream<MemoryKind> taggedKinds() {
        return kinds().filter(kind -> kind == MemoryKind.CUDA_DEVICE || kind == MemoryKind.CUDA_POOL);
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("taggedKinds")
    void freedForeignMemoryIsRefused(MemoryKind kind) {
        GuardedFile file = newFile(LENGTH);
        try (CuFileHandle handle = open(file)) {
            MemoryAllocation mine = allocator().allocate(kind, LENGTH);
            MemoryAllocation theirs = allocator().allocate(kind, LENGTH);
            MemoryRange cachedRange = foreign(theirs);
            try (CuFileBuffer buffer = cached().registerBuffer(foreign(mine))) {
                assertThat(handle.read(buffer, 0)).isEqualTo(LENGTH);
                assertThat(handle.read(cachedRange, 0)).isEqualTo(LENGTH);
                assertThat(handle.read(cachedRange, 0)).isEqualTo(LENGTH);
                assertThat(cached().registrationStatistics().hits()).isOne();
                mine.close();
                theirs.close();
                Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(buffer, 0));
                Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.write(buffer, 0));
                Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(cachedRange, 0));
                assertThat(cached().registrationStatistics().staleHits()).isOne();
                assertThat(cached().registrationStatistics().registrations()).isZero();
            }
        }
        file.verify();
    }

    @Test
    void buffersHaveRightsAndWindowsWithoutTheCache() {
        GuardedFile file = newFile(LENGTH);
        cached().setRegistrationPolicy(RegistrationPolicy.NONE);
        try (CuFileHandle handle = open(file);
                GuardedMemory memory = memory(backend().kinds().getFirst(), LENGTH);
                CuFileBuffer buffer = cached().registerBuffer(memory.range());
                BufferWindow window = buffer.window(10, 100, Set.of(BufferRight.READ_INTO))) {
            assertThat(handle.read(window, 0)).isEqualTo(100);
            memory.expect(10, file.expected(0, 100));
            memory.verify();
            Failures.expect(CuFileError.PERMISSION_DENIED, () -> handle.write(window, 0));
            cached().setRegistrationPolicy(RegistrationPolicy.EXPLICIT);
        }
    }

    @Test
    void meaninglessPoliciesAreRefused() {
        Failures.expect(CuFileError.INVALID_VALUE, () -> RegistrationPolicy.CACHED.withBudget(-1));
        Failures.expect(CuFileError.INVALID_VALUE, () -> RegistrationPolicy.CACHED.withPages(0));
        Failures.expect(CuFileError.INVALID_VALUE, () -> RegistrationPolicy.CACHED.withPages(4097));
    }
}
