package io.gds4j.interop.dlpack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.dlpack.ManagedTensors;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Lending, giving and importing of tensors. */
class DlPackCapsuleTest {
    private static final DlPackType F32 = new DlPackType(2, 32, 1);

    private final CuFileDriver driver = CuFileDriver.open();
    private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
    private final DlPackTensor tensor = DlPackTensor.compact(memory.range(), F32, List.of(32L, 32L));
    private int before;

    @BeforeEach
    void countStructs() {
        before = ManagedTensors.live();
    }

    @AfterEach
    void nothingStaysLent() {
        assertThat(ManagedTensors.live()).isEqualTo(before);
        memory.close();
        assertThat(memory.isOpen()).isFalse();
        driver.close();
    }

    @ParameterizedTest
    @EnumSource
    void lentTensorComesBackWithAllFields(DlPackVersion version) {
        memory.segment().setAtIndex(ValueLayout.JAVA_FLOAT, 5, 2.5f);
        try (DlPackCapsule capsule = tensor.capsule(version); DlPackImport imported = capsule.open()) {
            assertThat(imported.tensor().range().address()).isEqualTo(memory.address());
            assertThat(imported.tensor()).usingRecursiveComparison().ignoringFields("range").isEqualTo(tensor);
            assertThat(imported.memory().segment().getAtIndex(ValueLayout.JAVA_FLOAT, 5)).isEqualTo(2.5f);
        }
    }

    @Test
    void memoryIsBusyUntilTheDeleterRan() {
        try (DlPackCapsule capsule = tensor.capsule()) {
            DlPackImport imported = capsule.open();
            assertThatExceptionOfType(CuFileException.class).isThrownBy(memory::close)
                    .withMessageContaining("lent by DLPack: DlPackTensor");
            imported.close();
        }
        memory.close();
    }

    @Test
    void givenMemoryIsClosedByTheDeleter() {
        MemoryAllocation given = driver.allocator().allocate(MemoryKind.HOST, 4096);
        DlPackCapsule capsule = DlPackTensor.compact(given.range(), F32, List.of(1024L)).give(given);
        DlPackImport imported = capsule.open();
        capsule.close();
        assertThat(given.isOpen()).isTrue();
        imported.close();
        assertThat(given.isOpen()).isFalse();
    }

    @Test
    void givenMemoryBelongsToTheConsumerAlone() {
        MemoryAllocation given = driver.allocator().allocate(MemoryKind.HOST, 4096);
        DlPackTensor whole = DlPackTensor.compact(given.range(), F32, List.of(1024L));
        DlPackImport imported = whole.give(given).open();
        refuses(() -> whole.give(given), CuFileError.IO_NOT_SUPPORTED, "given already");
        refuses(whole::capsule, CuFileError.IO_NOT_SUPPORTED, "given to another runtime");
        refuses(given::close, CuFileError.IO_NOT_SUPPORTED, "given to another runtime");
        assertThat(given.isOpen()).isTrue();
        assertThat(given.segment().get(ValueLayout.JAVA_BYTE, 0)).isZero();
        imported.close();
        assertThat(given.isOpen()).isFalse();
        given.close();
        refuses(() -> whole.give(given), CuFileError.CUDA_POINTER_INVALID, "closed");
    }

    @Test
    void lentMemoryIsNotGiven() {
        try (MemoryAllocation lent = driver.allocator().allocate(MemoryKind.HOST, 4096)) {
            DlPackTensor whole = DlPackTensor.compact(lent.range(), F32, List.of(1024L));
            try (DlPackCapsule capsule = whole.capsule()) {
                refuses(() -> whole.give(lent), CuFileError.IO_NOT_SUPPORTED, "lent");
                refuses(lent::close, CuFileError.IO_NOT_SUPPORTED, "DLPack");
                assertThat(capsule.isUnused()).isTrue();
            }
            whole.give(lent).close();
            assertThat(lent.isOpen()).isFalse();
        }
    }

    @Test
    void memoryOfAnotherOwnerIsNotGiven() {
        try (MemoryAllocation other = driver.allocator().allocate(MemoryKind.HOST, 4096)) {
            refuses(() -> tensor.give(other), CuFileError.INVALID_VALUE, "outside of");
            assertThat(other.isOpen()).isTrue();
        }
    }

    @Test
    void capsuleIsUsedOnce() {
        try (DlPackCapsule capsule = tensor.capsule()) {
            try (DlPackImport imported = capsule.open()) {
                assertThat(imported.tensor().bytes()).isEqualTo(4096);
                assertThat(capsule.isUnused()).isFalse();
                refuses(capsule::open, CuFileError.INVALID_VALUE, "used already");
                refuses(capsule::handOver, CuFileError.INVALID_VALUE, "used already");
            }
        }
        DlPackCapsule closed = tensor.capsule();
        closed.close();
        closed.close();
        refuses(closed::handOver, CuFileError.INVALID_VALUE, "closed");
    }

    /** An import once looked at a struct that another thread had just given back to the producer. */
    @Test
    void capsuleThatIsClosedMeanwhileIsImportedOrRefused() throws Exception {
        try (ExecutorService other = Executors.newSingleThreadExecutor()) {
            for (int i = 0; i < 500; i++) {
                DlPackCapsule capsule = tensor.capsule();
                AtomicInteger ready = new AtomicInteger();
                int delay = i % 20;
                Future<?> closing = other.submit(() -> {
                    meet(ready, delay);
                    capsule.close();
                });
                meet(ready, 0);
                try {
                    capsule.open().close();
                } catch (CuFileException e) {
                    assertThat(e).hasMessageContaining("the capsule is closed");
                }
                closing.get();
            }
        }
    }

    private static void meet(AtomicInteger ready, int delay) {
        ready.incrementAndGet();
        while (ready.get() < 2) {
            Thread.yield();
        }
        for (int i = 0; i < delay; i++) {
            Thread.onSpinWait();
        }
    }

    /** Its deleter would run twice. */
    @Test
    void structIsImportedOnceAtATime() {
        DlPackCapsule capsule = tensor.capsule();
        long address = struct(capsule, 80).address();
        try (DlPackImport imported = capsule.open()) {
            DlPackCapsule second = DlPackCapsule.ofAddress(address, DlPackVersion.VERSIONED);
            refuses(second::open, CuFileError.INVALID_VALUE, "another import holds the tensor");
            assertThat(second.isUnused()).isTrue();
            second.handOver(); // this capsule, too, would call the deleter
            assertThat(imported.memory().isOpen()).isTrue();
        }
    }

    @Test
    void memoryThatWrapsAroundIsRefused() {
        try (DlPackCapsule capsule = tensor.capsule()) {
            struct(capsule, 80).set(ValueLayout.JAVA_LONG, 32, -64);
            refuses(capsule::open, CuFileError.INVALID_VALUE, "wrap around");
            assertThat(capsule.isUnused()).isTrue();
        }
    }

    /** The call waits for the deleter, which once waited for the call. */
    @Test
    @Timeout(60)
    void givenMemoryIsDeletedInsideACallThatUsesIt() throws Exception {
        MemoryAllocation given = driver.allocator().allocate(MemoryKind.HOST, 4096);
        DlPackCapsule capsule = DlPackTensor.compact(given.range(), F32, List.of(1024L)).give(given);
        RangeSource source = new RangeSource() {
            @Override
            public long size() {
                return 4096;
            }

            @Override
            public String identity() {
                return "a source that deletes";
            }

            @Override
            public long read(long offset, MemorySegment target, Cancellation cancellation) {
                capsule.close();
                return target.fill((byte) 7).byteSize();
            }
        };
        try (CuFileHandle handle = driver.openSource(source)) {
            assertThat(handle.readAsync(given, 0).get()).isEqualTo(4096);
        }
        given.close();
        assertThat(given.isOpen()).isFalse();
    }

    @Test
    void importedMemoryFailsAfterClose() {
        DlPackImport imported = tensor.capsule().open();
        MemorySegment segment = imported.memory().segment();
        imported.close();
        imported.close();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, 0));
        refuses(imported.tensor()::capsule, CuFileError.CUDA_POINTER_INVALID, "closed");
    }

    @Test
    void unknownMajorVersionIsRefusedAndDeleted() {
        try (DlPackCapsule capsule = tensor.capsule()) {
            struct(capsule, 80).set(ValueLayout.JAVA_INT, 0, 2);
            refuses(capsule::open, CuFileError.INVALID_VALUE, "DLPack 2");
            assertThat(capsule.isUnused()).isTrue();
        }
    }

    @Test
    void newerMinorVersionAndUnknownFlagsAreAccepted() {
        try (DlPackCapsule capsule = tensor.capsule()) {
            MemorySegment struct = struct(capsule, 80);
            struct.set(ValueLayout.JAVA_INT, 4, 99);
            struct.set(ValueLayout.JAVA_LONG, 24, 1L << 40);
            try (DlPackImport imported = capsule.open()) {
                assertThat(imported.tensor().flags()).isEmpty();
            }
        }
    }

    @Test
    void brokenStructsAreRefusedWithTheReason() {
        broken(32 + 8, 8, CuFileError.CUDA_MEMORY_TYPE_INVALID, "device type 8");
        broken(32 + 16, 65, CuFileError.INVALID_VALUE, "65 dimensions");
        broken(32 + 16, -1, CuFileError.INVALID_VALUE, "-1 dimensions");
        broken(32 + 20, 0x0001_2003, CuFileError.INVALID_VALUE, "code 3");
        broken(32 + 20, 0x0001_2063, CuFileError.INVALID_VALUE, "code 99");
        broken(32 + 20, 0x0000_2002, CuFileError.INVALID_VALUE, "0 lanes");
        broken(32 + 20, 0x0001_0811, CuFileError.INVALID_VALUE, "allowed are 4");
    }

    private void broken(long offset, int value, CuFileError error, String reason) {
        try (DlPackCapsule capsule = tensor.capsule()) {
            struct(capsule, 80).set(ValueLayout.JAVA_INT, offset, value);
            refuses(capsule::open, error, reason);
        }
    }

    @Test
    void missingGpuIsRefused() {
        try (DlPackCapsule capsule = tensor.capsule()) {
            MemorySegment struct = struct(capsule, 80);
            struct.set(ValueLayout.JAVA_INT, 32 + 8, 2);
            struct.set(ValueLayout.JAVA_INT, 32 + 12, 4711);
            refuses(capsule::open, CuFileError.DEVICE_NOT_FOUND, "GPU 4711");
        }
    }

    @Test
    void tensorWithoutStridesIsCompact() {
        try (DlPackCapsule capsule = tensor.capsule()) {
            struct(capsule, 80).set(ValueLayout.JAVA_LONG, 32 + 32, 0);
            try (DlPackImport imported = capsule.open()) {
                assertThat(imported.tensor().strides()).containsExactly(32L, 1L);
            }
        }
    }

    @Test
    void byteOffsetIsAdded() {
        try (DlPackCapsule capsule = tensor.capsule()) {
            struct(capsule, 80).set(ValueLayout.JAVA_LONG, 32 + 40, 64);
            try (DlPackImport imported = capsule.open()) {
                assertThat(imported.memory().address()).isEqualTo(memory.address() + 64);
            }
        }
    }

    @Test
    void emptyTensorHasNoData() {
        DlPackTensor empty = DlPackTensor.compact(memory.range(), F32, List.of(0L, 7L));
        try (DlPackCapsule capsule = empty.capsule()) {
            assertThat(struct(capsule, 80).get(ValueLayout.JAVA_LONG, 32)).isZero();
            try (DlPackImport imported = capsule.open()) {
                assertThat(imported.memory().length()).isZero();
            }
        }
    }

    @Test
    void readOnlyTensorsRefuseReads() {
        DlPackTensor readOnly = tensor.with(DlPackFlag.READ_ONLY);
        refuses(() -> readOnly.capsule(DlPackVersion.UNVERSIONED), CuFileError.INVALID_VALUE, "READ_ONLY");
        try (DlPackImport imported = readOnly.capsule().open()) {
            assertThat(imported.tensor().isWritable()).isFalse();
            assertThat(imported.memory().range().isWritable()).isFalse();
        }
    }

    @Test
    void segmentOfAnArenaThatMayCloseIsRefused() {
        try (Arena arena = Arena.ofShared()) {
            MemoryRange range = MemoryRange.ofSegment(arena.allocate(64));
            refuses(DlPackTensor.compact(range, F32, List.of(16L))::capsule, CuFileError.INVALID_VALUE, "arena");
        }
        MemoryRange kept = MemoryRange.ofSegment(Arena.ofAuto().allocate(64));
        DlPackTensor.compact(kept, F32, List.of(16L)).capsule().close();
    }

    @Test
    void nullPointerIsNoTensor() {
        refuses(() -> DlPackCapsule.ofAddress(0, DlPackVersion.VERSIONED), CuFileError.INVALID_VALUE, "0x0");
        refuses(() -> DlPackCapsule.ofAddress(4099, DlPackVersion.VERSIONED), CuFileError.INVALID_VALUE, "0x1003");
    }

    @Test
    void secondCallOfADeleterDoesNothing() {
        long address = tensor.capsule().handOver();
        // The deleter's address, read before the struct is freed.
        DlPackCapsule first = DlPackCapsule.ofAddress(address, DlPackVersion.VERSIONED);
        MemorySegment deleter = MemorySegment.ofAddress(struct(address, 80).get(ValueLayout.JAVA_LONG, 16));
        first.close();
        CallDeleter.call(deleter, address);
        memory.close();
    }

    @Test
    void hundredThousandExportsLeaveNothingBehind() throws Exception {
        AtomicInteger released = new AtomicInteger();
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                DlPackVersion version = DlPackVersion.values()[i % 2];
                all.add(threads.submit(() -> {
                    for (int j = 0; j < 25_000; j++) {
                        // Another runtime's consumer: takes the struct and calls its deleter.
                        long address = tensor.capsule(version).handOver();
                        long deleter = version == DlPackVersion.VERSIONED ? 16 : 56;
                        MemorySegment function = struct(address, 80).get(ValueLayout.ADDRESS, deleter);
                        CallDeleter.call(function, address);
                        released.incrementAndGet();
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(released).hasValue(100_000);
    }

    private static MemorySegment struct(DlPackCapsule capsule, long size) {
        String text = capsule.toString();
        return struct(Long.parseLong(text.substring(text.indexOf("0x") + 2, text.indexOf(',')), 16), size);
    }

    private static MemorySegment struct(long address, long size) {
        return MemorySegment.ofAddress(address).reinterpret(size);
    }

    private static void refuses(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, CuFileError error,
            String reason) {
        assertThatExceptionOfType(CuFileException.class)
                .isThrownBy(call)
                .withMessageContaining(reason)
                .satisfies(e -> assertThat(e.error()).isEqualTo(error));
    }
}
