package io.gds4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.memory.HostPages;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Host memory on a machine without a driver. */
class HostMemoryTest {
    private static final Pattern MAPPING = Pattern.compile("([0-9a-f]+)-([0-9a-f]+) ");

    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final NativeMemoryAllocator allocator =
            new NativeMemoryAllocator(posix, new CudaAvailability.Unavailable("no driver here", "install one"));

    @AfterEach
    void nothingStaysMapped() {
        posix.heal();
        assertThat(posix.leaks()).isEmpty();
    }

    private static CuFileException failure(Runnable call) {
        return catchThrowableOfType(CuFileException.class, call::run);
    }

    private static boolean isZero(MemorySegment segment) {
        return segment.mismatch(MemorySegment.ofArray(new byte[(int) segment.byteSize()])) == -1;
    }

    @ParameterizedTest
    @CsvSource({"HOST, 1", "HOST, 4096", "HOST, 4097", "HOST, 2097151", "HOST, 2097152", "HOST, 6291457",
            "HOST_HUGEPAGE, 1", "HOST_HUGEPAGE, 2097152", "HOST_HUGEPAGE, 2097153"})
    void hostMemoryIsAlignedZeroAndWholeAndGivenBack(MemoryKind kind, long size) {
        try (MemoryAllocation memory = allocator.allocate(kind, size)) {
            MemoryRange range = memory.range();
            assertThat(range.length()).isEqualTo(size);
            assertThat(range.kind()).isEqualTo(kind);
            assertThat(range.device()).isEqualTo(MemoryRange.NO_DEVICE);
            assertThat(range.address() % (kind == MemoryKind.HOST_HUGEPAGE ? 2 << 20 : posix.pageSize())).isZero();
            MemorySegment view = range.segment().orElseThrow();
            assertThat(view.byteSize()).isEqualTo(size);
            assertThat(isZero(view)).isTrue();
            view.fill((byte) 7);
        }
    }

    @Test
    void memoryFrom2MiBOnAsksForHugePagesAndSmallMemoryDoesNot() {
        try (MemoryAllocation large = allocator.allocate(MemoryKind.HOST, 3 << 20);
                MemoryAllocation small = allocator.allocate(MemoryKind.HOST, 64 << 10)) {
            assertThat(large.range().address() % (2 << 20)).isZero();
            assertThat(allocator.pages(large)).contains(HostPages.TRANSPARENT_HUGE);
            assertThat(allocator.pages(small)).contains(HostPages.BASE);
        }
    }

    @Test
    void kernelBacksLargeMemoryWithHugePagesWhereItMay() throws IOException {
        Path setting = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
        assumeTrue(
                Files.exists(setting) && !Files.readString(setting).contains("[never]"), "no transparent huge pages");
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 8 << 20)) {
            assertThat(vmFlags(memory.range().address())).contains("hg");
        }
    }

    /** Flags of the mapping that holds an address; "hg" is MADV_HUGEPAGE. */
    private static String vmFlags(long address) throws IOException {
        boolean found = false;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            Matcher mapping = MAPPING.matcher(line);
            if (mapping.lookingAt()) {
                found = Long.parseUnsignedLong(mapping.group(1), 16) <= address
                        && address < Long.parseUnsignedLong(mapping.group(2), 16);
            } else if (found && line.startsWith("VmFlags:")) {
                return line;
            }
        }
        return "";
    }

    @Test
    void kernelWithoutHugePagesGivesOrdinaryOnes() {
        posix.on(PosixCall.MADVISE).always().fails(Errno.EINVAL);
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST_HUGEPAGE, 3 << 20)) {
            assertThat(allocator.pages(memory)).contains(HostPages.BASE);
            assertThat(isZero(memory.range().segment().orElseThrow())).isTrue();
        }
    }

    /** A cgroup may allow the reservation and refuse the pages. Touching a page would then end the process. */
    @Test
    void reservedHugePagesThatCannotBeFilledAreNotUsed() {
        Posix withReservations = (Posix) Proxy.newProxyInstance(
                Posix.class.getClassLoader(), new Class<?>[]{Posix.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("mmap") && ((int) arguments[3] & PosixConstants.MAP_HUGETLB) != 0) {
                        arguments[0] = 0x6000_0000_0000L; // on a 2 MiB boundary, as reserved pages are
                        arguments[3] = (int) arguments[3] & ~PosixConstants.MAP_HUGETLB;
                    }
                    return method.invoke(posix, arguments);
                });
        posix.on(PosixCall.MADVISE).nth(1).fails(Errno.EFAULT);
        HostMapping mapping = HostMapping.mapHuge(withReservations, 2 << 20);
        assertThat(mapping.pages()).isEqualTo(HostPages.TRANSPARENT_HUGE);
        assertThat(posix.calls(PosixCall.MMAP)).isEqualTo(2);
        mapping.view().fill((byte) 1);
        mapping.unmap(posix);
    }

    @Test
    void moreThan2GiBIsOneSegment() {
        long size = (5L << 30) + 4097;
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, size)) {
            MemorySegment view = memory.range().segment().orElseThrow();
            view.set(ValueLayout.JAVA_BYTE, size - 1, (byte) 42);
            assertThat(view.get(ValueLayout.JAVA_BYTE, size - 1)).isEqualTo((byte) 42);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE})
    void aSizeBelowOneIsInvalid(long size) {
        CuFileException failure = failure(() -> allocator.allocate(MemoryKind.HOST, size));
        assertThat(failure.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failure).hasMessageContaining(String.valueOf(size));
    }

    @ParameterizedTest
    @ValueSource(longs = {1L << 50, Long.MAX_VALUE - 4096, Long.MAX_VALUE})
    void moreThanTheSystemHasIsOutOfMemory(long size) {
        for (MemoryKind kind : new MemoryKind[]{MemoryKind.HOST, MemoryKind.HOST_HUGEPAGE}) {
            CuFileException failure = failure(() -> allocator.allocate(kind, size));
            assertThat(failure.error()).isEqualTo(CuFileError.NOMEM_ERROR);
            assertThat(failure.errno()).hasValue(Errno.ENOMEM);
            assertThat(failure.size()).hasValue(size);
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "HOST_HUGEPAGE"}, mode = EnumSource.Mode.EXCLUDE)
    void kindsThatNeedADriverSayWhyThereAreNone(MemoryKind kind) {
        assertThat(allocator.supports(kind)).isFalse();
        CuFileException failure = failure(() -> allocator.allocate(kind, 4096));
        assertThat(failure.error()).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
        assertThat(failure).hasMessageContaining("no driver here").hasMessageContaining("install one");
        assertThat(failure(() -> allocator.available(kind, 0)).error())
                .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
    }

    @Test
    void memoryOfADriverThatIsNotThereCannotBeCopied() {
        MemoryRange range = MemoryRange.ofAddress(4096, 8, MemoryKind.CUDA_DEVICE);
        MemorySegment bytes = MemorySegment.ofArray(new byte[8]);
        assertThat(failure(() -> allocator.copyToHost(range, bytes)).error())
                .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
        assertThat(failure(() -> allocator.copyFromHost(bytes, range)).error())
                .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
        assertThat(failure(() -> allocator.fill(range, (byte) 1)).error())
                .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
    }

    @Test
    void copiesGoFromAndToArraysAndSegmentsAndRanges() {
        byte[] bytes = new byte[5000];
        new SplittableRandom(1).nextBytes(bytes);
        try (MemoryAllocation one = allocator.allocate(MemoryKind.HOST, 8192);
                MemoryAllocation two = allocator.allocate(MemoryKind.HOST_HUGEPAGE, 8192);
                Arena arena = Arena.ofConfined()) {
            allocator.copyFromHost(MemorySegment.ofArray(bytes), one.range().slice(3, 6000));
            allocator.copy(one.range(), two.range());
            MemorySegment out = arena.allocate(5000);
            allocator.copyToHost(two.range().slice(3, 5000), out);
            assertThat(out.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
            byte[] array = new byte[5000];
            allocator.copyToHost(two.range().slice(3, 6000), MemorySegment.ofArray(array));
            assertThat(array).isEqualTo(bytes);
            assertThat(isZero(one.range().segment().orElseThrow().asSlice(5003))).isTrue();
        }
    }

    @Test
    void rawAddressesAreReadAndFilled() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(64);
            MemoryRange raw = MemoryRange.ofAddress(memory.address() + 8, 16, MemoryKind.HOST);
            allocator.fill(raw, (byte) 9);
            byte[] bytes = new byte[16];
            allocator.copyToHost(raw, MemorySegment.ofArray(bytes));
            assertThat(bytes).containsOnly(9);
            assertThat(memory.get(ValueLayout.JAVA_BYTE, 7)).isZero();
            assertThat(memory.get(ValueLayout.JAVA_BYTE, 24)).isZero();
        }
    }

    @Test
    void copyThatDoesNotFitMovesNothing() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 16);
                MemoryAllocation larger = allocator.allocate(MemoryKind.HOST, 17)) {
            MemorySegment bytes = MemorySegment.ofArray(new byte[17]);
            assertThat(failure(() -> allocator.copyToHost(memory.range(), bytes)).error())
                    .isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
            assertThat(failure(() -> allocator.copyFromHost(bytes, memory.range())).error())
                    .isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
            assertThat(failure(() -> allocator.copy(larger.range(), memory.range())).error())
                    .isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
        }
    }

    @Test
    void memoryThatMayNotBeTouchedIsRefused() throws InterruptedException {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 16)) {
            Arena arena = Arena.ofShared();
            MemorySegment closed = arena.allocate(16);
            arena.close();
            assertThat(failure(() -> allocator.copyToHost(memory.range(), closed)).error())
                    .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
            assertThat(failure(() -> allocator.copyFromHost(closed, memory.range())).error())
                    .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
            MemorySegment readOnly = MemorySegment.ofArray(new byte[16]).asReadOnly();
            assertThat(failure(() -> allocator.copyToHost(memory.range(), readOnly)).error())
                    .isEqualTo(CuFileError.INVALID_VALUE);
            MemoryRange readOnlyRange =
                    MemoryRange.ofSegment(Arena.ofAuto().allocate(16).asReadOnly());
            assertThat(failure(() -> allocator.fill(readOnlyRange, (byte) 1)).error())
                    .isEqualTo(CuFileError.INVALID_VALUE);
            try (Arena confined = Arena.ofConfined()) {
                MemorySegment mine = confined.allocate(16);
                CuFileException[] other = new CuFileException[1];
                Thread thread = Thread.ofPlatform()
                        .start(() -> other[0] = failure(() -> allocator.copyFromHost(mine, memory.range())));
                thread.join();
                assertThat(other[0].error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
            }
        }
    }

    @Test
    void freedMemoryCannotBeCopied() {
        MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 16);
        memory.close();
        memory.close();
        MemorySegment bytes = MemorySegment.ofArray(new byte[16]);
        assertThat(failure(() -> allocator.copyToHost(memory.range(), bytes)).error())
                .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
    }

    @Test
    void availableMemoryIsTheLowerOfKernelAndContainerLimit(@TempDir Path system) throws IOException {
        Path proc = Files.createDirectories(system.resolve("proc/self")).getParent();
        Path group = Files.createDirectories(system.resolve("sys/fs/cgroup/pods/one"));
        Files.writeString(proc.resolve("meminfo"), "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
        AvailableHostMemory available = new AvailableHostMemory(system);
        assertThat(available.bytes()).isEqualTo(8000 * 1024);

        Files.writeString(proc.resolve("self/cgroup"), "4:memory:/old\n0::/pods/one\n");
        Files.writeString(group.resolve("memory.max"), "max\n");
        Files.writeString(group.resolve("memory.current"), "1000\n");
        assertThat(available.bytes()).isEqualTo(8000 * 1024);

        Files.writeString(group.resolve("memory.max"), "500000\n");
        Files.writeString(group.resolve("memory.current"), "300000\n");
        Files.writeString(group.resolve("memory.stat"), "anon 5\ninactive_file 40000\nactive_file 60000\n");
        assertThat(available.bytes()).isEqualTo(300000);

        Files.writeString(group.getParent().resolve("memory.max"), "250000\n");
        Files.writeString(group.getParent().resolve("memory.current"), "250001\n");
        assertThat(available.bytes()).isZero();
    }

    @Test
    void availableMemoryHeedsLimitsOfTheFirstVersionOfControlGroups(@TempDir Path system) throws IOException {
        Path proc = Files.createDirectories(system.resolve("proc/self")).getParent();
        Path root = Files.createDirectories(system.resolve("sys/fs/cgroup/memory"));
        Files.writeString(proc.resolve("meminfo"), "MemAvailable:    8000 kB\n");
        Files.writeString(proc.resolve("self/cgroup"), "5:cpu,cpuacct:/docker/one\n4:memory:/docker/one\n");
        AvailableHostMemory available = new AvailableHostMemory(system);
        assertThat(available.bytes()).isEqualTo(8000 * 1024);

        // In a container the root is the container's group, and the path is that of the host.
        Files.writeString(root.resolve("memory.limit_in_bytes"), "500000\n");
        Files.writeString(root.resolve("memory.usage_in_bytes"), "300000\n");
        Files.writeString(
                root.resolve("memory.stat"),
                "inactive_file 1\nactive_file 1\ntotal_inactive_file 40000\ntotal_active_file 60000\n");
        assertThat(available.bytes()).isEqualTo(300000);

        Path group = Files.createDirectories(root.resolve("docker/one"));
        Files.writeString(group.resolve("memory.limit_in_bytes"), "100000\n");
        Files.writeString(group.resolve("memory.usage_in_bytes"), "90000\n");
        assertThat(available.bytes()).isEqualTo(10000);

        Files.writeString(group.resolve("memory.limit_in_bytes"), "9223372036854771712\n");
        assertThat(available.bytes()).isEqualTo(300000);
    }

    @Test
    void unknownAvailableMemoryIsNotZero(@TempDir Path system) {
        assertThat(new AvailableHostMemory(system).bytes()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void thisMachineHasMemoryLeft() {
        assertThat(allocator.available(MemoryKind.HOST, MemoryRange.NO_DEVICE)).isGreaterThan(1 << 20);
    }

    @Test
    void viewsOfGpuMemoryAreRefused() {
        MemoryRange range = MemoryRange.ofAddress(4096, 8, MemoryKind.CUDA_DEVICE);
        assertThatThrownBy(() -> HostMemoryViews.of(range)).isInstanceOf(CuFileException.class);
    }
}
