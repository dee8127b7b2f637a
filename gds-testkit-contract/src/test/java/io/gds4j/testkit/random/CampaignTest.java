package io.gds4j.testkit.random;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.ReferenceBackend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random operations pass on a correct backend, and find a backend with a single wrong byte. */
class CampaignTest {
    private static final Duration LONG_ENOUGH = Duration.ofMinutes(2);

    @TempDir
    Path directory;

    private Campaign over(Function<CuFileConfig, CuFileBackend> backends) {
        return new Campaign("reference", backends, List.of(directory), List.of(MemoryKind.HOST));
    }

    @Test
    void correctBackendPasses() {
        Campaign.Outcome outcome = over(config -> new ReferenceBackend()).run(Duration.ofSeconds(1));
        assertThat(outcome.operations()).isGreaterThan(50);
        assertThat(outcome.bytes()).isPositive();
        assertThat(directory).isEmptyDirectory();
    }

    private void mustBeFound(Function<CuFileBackend, CuFileBackend> wrong) {
        mustBeFound(over(config -> wrong.apply(new ReferenceBackend())));
    }

    private static void mustBeFound(Campaign campaign) {
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(() -> campaign.run(LONG_ENOUGH))
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
        mustBeFound(over(config -> new ForwardingBackend(new ReferenceBackend()) {
            @Override
            public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
                if (size == 0 || !file.isReadable()) {
                    return super.write(file, base, size, fileOffset, bufferOffset);
                }
                long from = fileOffset / 4096 * 4096;
                long length = Math.max(file.size(), fileOffset + size) - from;
                length = Math.min(length, (fileOffset + size + 4095) / 4096 * 4096 - from);
                // No allocation of its own: closing one stops all threads for a moment, so that they would not meet.
                MemoryRange page = MemoryRange.ofSegment(Arena.ofAuto().allocate(length));
                super.read(file, page, length, from, 0);
                MemorySegment bytes = base.slice(bufferOffset, size).segment().orElseThrow();
                Thread.yield(); // threads meet although they share a processor
                page.slice(fileOffset - from, size).segment().orElseThrow().copyFrom(bytes);
                super.write(file, page, length, from, 0);
                return size;
            }
        }).threads(6, 0).only(EnumSet.of(Campaign.Step.WRITE)));
    }
}
