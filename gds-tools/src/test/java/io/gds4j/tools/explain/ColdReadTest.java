package io.gds4j.tools.explain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.loader.LoadDestination;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Measurements of storage by reads of a file. */
class ColdReadTest {
    private static final int MIB = 1 << 20;
    private static final int SIZE = 32 * MIB;
    private static final int PAGE = 4096;

    @TempDir
    private Path folder;

    private final Posix posix = FfmPosix.instance();
    private Path file;
    private int fd;

    @BeforeEach
    void write() throws Exception {
        file = Files.write(folder.resolve("file"), new byte[SIZE]);
        fd = posix.open(file.toString(), PosixConstants.O_RDONLY, 0);
        posix.fsync(fd);
    }

    @AfterEach
    void close() {
        posix.close(fd);
    }

    private long cached(long offset, long length) {
        return posix.cachedPages(fd, offset, length);
    }

    private OptionalDouble measure(Path path, boolean direct) throws InterruptedException {
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.builder().build(), "compat")) {
            return ColdRead.bytesPerSecond(driver, LoadDestination.host(), path, direct);
        }
    }

    /** Reads past the page cache fetch nothing again. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void fileThatIsCachedStaysCached(boolean direct) throws Exception {
        assumeTrue(cached(0, SIZE) == SIZE / PAGE, "the kernel does not tell what is cached");

        measure(file, direct);

        assertThat(cached(0, SIZE)).isEqualTo(SIZE / PAGE);
    }

    /** Pages that a program maps cannot be dropped, but those around them. */
    @Test
    void fileOfWhichAProgramMapsPagesStaysCached() throws Exception {
        assumeTrue(cached(0, SIZE) == SIZE / PAGE, "the kernel does not tell what is cached");
        try (Arena arena = Arena.ofConfined(); FileChannel channel = FileChannel.open(file)) {
            MemorySegment mapped = channel.map(MapMode.READ_ONLY, 0, SIZE, arena);
            for (int at = 0; at < SIZE; at += MIB) {
                assertThat(mapped.get(ValueLayout.JAVA_BYTE, at)).isZero();
            }

            measure(file, false);

            assertThat(cached(0, SIZE)).isEqualTo(SIZE / PAGE);
        }
    }

    @Test
    void halfThatIsCachedIsTheOneAfterwards() throws Exception {
        posix.fadvise(fd, 0, SIZE / 2, PosixConstants.POSIX_FADV_DONTNEED);
        assumeTrue(cached(0, SIZE / 2) == 0 && cached(SIZE / 2, SIZE / 2) == SIZE / 2 / PAGE,
                "a folder in memory, or a kernel that does not tell what is cached");

        OptionalDouble rate = measure(file, false);

        assertThat(rate).isPresent();
        assertThat(cached(0, SIZE / 2)).isZero();
        assertThat(cached(SIZE / 2, SIZE / 2)).isEqualTo(SIZE / 2 / PAGE);
    }

    /** A megabyte a second, as over a bad network: it is measured in not much more time than other storage. */
    @Test
    void slowStorageIsReadForAFractionOfASecond() throws Exception {
        Path hole = folder.resolve("hole");
        try (RandomAccessFile made = new RandomAccessFile(hole.toFile(), "rw")) {
            made.setLength(SIZE);
        }
        AtomicLong read = new AtomicLong();
        RangeSource slow = new RangeSource() {
            @Override
            public long size() {
                return SIZE;
            }

            @Override
            public String identity() {
                return "slow";
            }

            @Override
            public synchronized long read(long offset, MemorySegment target, Cancellation cancellation) {
                long end = System.nanoTime() + target.byteSize() * 1000;
                while (System.nanoTime() < end) {
                    LockSupport.parkNanos(end - System.nanoTime());
                }
                read.addAndGet(target.byteSize());
                return target.byteSize();
            }
        };
        Path path = (Path) Proxy.newProxyInstance(SourcePath.class.getClassLoader(), new Class<?>[]{SourcePath.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("openSource")) {
                        return slow;
                    }
                    if (method.isDefault()) {
                        return InvocationHandler.invokeDefault(proxy, method, arguments);
                    }
                    try {
                        return method.invoke(hole, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });

        OptionalDouble rate = measure(path, false);

        assertThat(rate.orElseThrow()).isBetween(0.3e6, 3e6);
        assertThat(read.get()).as("bytes in a fifth of a second").isLessThan(MIB);
    }
}
