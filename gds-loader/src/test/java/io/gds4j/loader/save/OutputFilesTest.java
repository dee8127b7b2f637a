package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.MemoryFolder;
import io.gds4j.loader.internal.MovedBytes;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of a save that are closed early, as where there are more of them than descriptors. */
@Timeout(60)
class OutputFilesTest {
    private static final long BYTES = 4096;

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    private int refusal;
    private final WatchedCalls calls = new WatchedCalls((number, name) -> {
        int errno = refusal;
        if (errno != 0 && name.equals("open")) {
            refusal = 0;
            throw WatchedCalls.refusal(errno);
        }
    });

    private Path create(OutputFiles outputs, String name) {
        Path path = folder.resolve(name);
        outputs.create(path, StandardOpenOption.CREATE_NEW);
        return path;
    }

    private static void assertFails(int errno, Runnable call) {
        assertThatThrownBy(call::run)
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(errno));
    }

    @Test
    void fileThatIsClosedEarlyIsForcedIfItWasWrittenAndKnownWhenItIsOpenedAgain() throws IOException {
        try (CuFileDriver driver = CuFileDriver.open(calls.watch(new ReferenceBackend()));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, BYTES);
                OutputFiles outputs = new OutputFiles(driver, true, new MovedBytes())) {
            Path first = create(outputs, "first");
            outputs.write(0, memory, BYTES, 0, 0);
            assertThat(calls.names()).containsExactly("open", "header");

            refusal = Errno.EMFILE;
            Path second = create(outputs, "second");
            assertThat(calls.names()).endsWith("open", "force", "close", "open");

            outputs.write(0, memory, BYTES, BYTES, 0);
            assertThat(first).hasSize(2 * BYTES);
            refusal = Errno.EMFILE;
            create(outputs, "third");
            assertThat(calls.names()).filteredOn("force"::equals).as("not the file without writes").hasSize(2);
            assertThat(calls.names()).filteredOn("close"::equals).hasSize(3);

            Files.move(Files.copy(first, folder.resolve("copy")), first, StandardCopyOption.REPLACE_EXISTING);
            assertFails(Errno.ESTALE, () -> outputs.force(0));
            refusal = Errno.EACCES;
            assertFails(Errno.EACCES, () -> outputs.force(1));
            Files.delete(second);
            assertFails(Errno.ESTALE, () -> outputs.force(1));
            assertFails(Errno.ENOENT, () -> create(outputs, "missing/fourth"));
        }
        assertThat(calls.names()).filteredOn("close"::equals).as("the exchanged file, and the third").hasSize(5);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void filesAreDirectOnDemand(boolean direct) {
        List<Boolean> opened = new ArrayList<>();
        ForwardingBackend backend = new ForwardingBackend(new ReferenceBackend()) {
            @Override
            public BackendFile handleRegister(FileSource source) {
                opened.add(((FileSource.Named) source).has(CuFileOpenOption.DIRECT));
                return super.handleRegister(source);
            }
        };
        try (CuFileDriver driver = CuFileDriver.open(backend);
                OutputFiles outputs = new OutputFiles(driver, direct, new MovedBytes())) {
            create(outputs, "file");
        }
        assertThat(opened).containsExactly(direct);
    }
}
