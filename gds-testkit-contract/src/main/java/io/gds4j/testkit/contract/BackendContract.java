package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.IoResult;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/**
 * Base class of the contract's groups: all tests of a class share one open driver and one directory.
 *
 * @since 0.1
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class BackendContract {
    private final AtomicInteger names = new AtomicInteger();
    private @Nullable Path folder;
    private @Nullable CuFileDriver driver;

    /** For subclasses. */
    protected BackendContract() {
    }

    /** Returns the backend under test. */
    protected abstract BackendUnderTest backend();

    /** How to open a handle: with or without O_DIRECT. */
    enum Mode {
        BUFFERED,
        DIRECT;

        OpenOption[] options(OpenOption... more) {
            List<OpenOption> all = new ArrayList<>(List.of(more));
            if (this == DIRECT) {
                all.add(CuFileOpenOption.DIRECT);
            }
            return all.toArray(OpenOption[]::new);
        }
    }

    /** A kind of memory and a mode of the handle. */
    record Way(MemoryKind kind, Mode mode) {
    }

    @BeforeAll
    void openDriver() throws IOException {
        folder = Files.createTempDirectory(backend().directory(), "contract");
        driver = newDriver();
    }

    @AfterAll
    void closeDriver() throws IOException {
        CuFileDriver shared = driver;
        if (shared != null) {
            Crowd.run(1, member -> shared.close()); // with a limit: a failed test may have left a request that never ends
        }
        if (folder != null) {
            deleteTree(folder);
        }
    }

    static void deleteTree(Path root) throws IOException {
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure)
                    throws IOException {
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Opens a separate driver, for tests that close it. */
    final CuFileDriver newDriver() {
        return CuFileDriver.open(backend().createBackend(backend().config()));
    }

    /** Opens a separate driver with a configuration. */
    final CuFileDriver newDriver(CuFileConfig config) {
        closeSharedDriverForOtherSettings();
        return CuFileDriver.open(backend().createBackend(config));
    }

    /** Returns the driver that all tests of this class share. */
    final CuFileDriver driver() {
        CuFileDriver shared = driver;
        if (shared == null) {
            if (folder == null) {
                throw new IllegalStateException("no driver outside of tests");
            }
            shared = newDriver();
            driver = shared;
        }
        return shared;
    }

    /**
     * Closes the shared driver if open drivers cannot differ in their configuration; {@link #driver} opens it again.
     */
    final void closeSharedDriverForOtherSettings() {
        if (diverges(Divergence.ONE_CONFIGURATION) && driver != null) {
            driver.close();
            driver = null;
        }
    }

    final MemoryAllocator allocator() {
        return driver().allocator();
    }

    /** Returns a path that no other test uses. */
    final Path newPath() {
        if (folder == null) {
            throw new IllegalStateException("no directory outside of tests");
        }
        return folder.resolve("file" + names.incrementAndGet());
    }

    /** Creates a file of random content. */
    final GuardedFile newFile(int size) {
        return GuardedFile.create(newPath(), size, size + 1L);
    }

    final GuardedMemory memory(MemoryKind kind, int length) {
        return GuardedMemory.allocate(allocator(), kind, length);
    }

    final CuFileHandle openToRead(GuardedFile file, Mode mode) {
        return driver().openFile(file.path(), mode.options());
    }

    final CuFileHandle openToWrite(GuardedFile file, Mode mode) {
        return driver().openFile(
                file.path(), mode.options(StandardOpenOption.READ, StandardOpenOption.WRITE));
    }

    /** Checks the report of a request that has not failed. The paths together have the bytes that it moved. */
    static void assertReports(IoResult result, long asked, long moved) {
        assertThat(result.error()).isEmpty();
        assertThat(result.asked()).isEqualTo(asked);
        assertThat(result.moved()).isEqualTo(moved);
        assertThat(result.isComplete()).isEqualTo(moved == asked);
        assertThat(result.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).isEqualTo(moved);
        assertThat(result.path().isPresent()).isEqualTo(moved > 0);
    }

    /** Checks the report of a request that was refused. */
    static void assertRefused(IoResult result, long asked, CuFileError error) {
        assertThat(result.error()).hasValueSatisfying(e -> assertThat(e.error()).isEqualTo(error));
        assertThat(result.asked()).isEqualTo(asked);
        assertThat(result.moved()).isZero();
        assertThat(result.isComplete()).isFalse();
        assertThat(result.bytesByPath()).isEmpty();
    }

    final boolean diverges(Divergence divergence) {
        return backend().divergences().contains(divergence);
    }

    final Stream<MemoryKind> kinds() {
        return backend().kinds().stream();
    }

    final Stream<Way> ways() {
        return kinds().flatMap(kind -> Stream.of(Mode.values()).map(mode -> new Way(kind, mode)));
    }
}
