package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.random.RandomRuns;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random operations pass on a correct backend, and find a backend with a single wrong byte. */
class RandomRunsTest {
    private static final Duration LONG_ENOUGH = Duration.ofMinutes(2);

    @TempDir
    Path directory;

    private void run(Function<CuFileConfig, CuFileBackend> backends, Duration time) {
        new RandomRuns("reference", backends, directory, List.of(MemoryKind.HOST)).run(time);
    }

    @Test
    void correctBackendPasses() {
        run(config -> new ReferenceBackend(), Duration.ofSeconds(1));
    }

    private void mustBeFound(Function<CuFileBackend, CuFileBackend> wrong) {
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(() -> run(config -> wrong.apply(new ReferenceBackend()), LONG_ENOUGH))
                .withMessageContaining("repeat with -Dgds4j.property.seed=");
    }

    @Test
    void readBeyondTheReturnedCountIsFound() {
        mustBeFound(right -> new ForwardingBackend(right) {
            @Override
            public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
                long count = super.read(file, base, size, fileOffset, bufferOffset);
                if (count > 0 && count < size) {
                    allocator().fill(base.slice(bufferOffset + count, 1), (byte) 0);
                }
                return count;
            }
        });
    }

    @Test
    void writeThatRoundsItsRangeUpIsFound() {
        mustBeFound(right -> new ForwardingBackend(right) {
            @Override
            public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
                boolean room = size % 512 != 0 && bufferOffset + size < base.length();
                super.write(file, base, room ? size + 1 : size, fileOffset, bufferOffset);
                return size;
            }
        });
    }

    @Test
    void unlockedMergeOfPagesIsFound() {
        mustBeFound(right -> new ForwardingBackend(right) {
            @Override
            public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
                if (size == 0 || !file.isReadable()) {
                    return super.write(file, base, size, fileOffset, bufferOffset);
                }
                long from = fileOffset / 4096 * 4096;
                long length = Math.max(file.size(), fileOffset + size) - from;
                length = Math.min(length, (fileOffset + size + 4095) / 4096 * 4096 - from);
                try (var page = allocator().allocate(MemoryKind.HOST, length)) {
                    super.read(file, page.range(), length, from, 0);
                    byte[] bytes = new byte[(int) size];
                    allocator().copyToHost(base.slice(bufferOffset, size), MemorySegment.ofArray(bytes));
                    allocator().copyFromHost(MemorySegment.ofArray(bytes), page.range().slice(fileOffset - from, size));
                    super.write(file, page.range(), length, from, 0);
                }
                return size;
            }
        });
    }
}
