package io.gds4j.compat.batch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SharesTest {
    private static final long KIB = 1024;
    private static final int THREADS = 16;
    private static final int PER_THREAD = 4;
    private static final int ENTRIES = 128;
    private static final BackendFile FILE = (BackendFile) Proxy.newProxyInstance(
            BackendFile.class.getClassLoader(), new Class<?>[]{BackendFile.class}, (proxy, method, arguments) -> null);

    /** The entries of each claim of a submission, in order. */
    private static final class Claims implements EntryRunner {
        private final List<Integer> entries = new ArrayList<>();

        @Override
        public void run(Claim claim) {
            entries.add(claim.entries().size());
        }

        @Override
        public void settle() {
            // ends each claim at once
        }

        @Override
        public void close() {
            // owns nothing
        }
    }

    private static Submission submission(int count, long size, boolean adjacent, MemoryKind kind, boolean cold) {
        MemoryRange memory = MemoryRange.ofAddress(4096, count * size, kind, 0);
        List<BatchRequest> entries = LongStream.range(0, count)
                .mapToObj(i -> new BatchRequest(
                        FILE, Operation.READ, memory, size, (adjacent ? i : 2 * (count - i)) * size, i * size, i))
                .toList();
        return new Submission(new CompatBatch(count), entries, cold);
    }

    private static List<Integer> claims(Submission submission, Shares shares) {
        Claims claims = new Claims();
        while (submission.hasUnclaimed()) {
            submission.runSome(claims, shares);
        }
        return claims.entries;
    }

    @ParameterizedTest
    @CsvSource({
            // entries, KiB each, adjacent, kind, from the disk: threads, largest number of entries of a claim
            "128,  4,    true,  CUDA_DEVICE, false,  8, 16",
            "128,  4,    false, CUDA_DEVICE, false,  8, 16",
            "128,  64,   false, CUDA_DEVICE, false,  8, 16",
            "128,  128,  false, CUDA_DEVICE, false, 16,  1",
            "128,  256,  false, CUDA_DEVICE, false, 12,  8",
            "128,  1024, false, CUDA_DEVICE, false, 12,  4",
            "128,  64,   true,  CUDA_DEVICE, false,  1, 128",
            "128,  128,  true,  CUDA_DEVICE, false,  1, 128",
            "128,  256,  true,  CUDA_DEVICE, false,  2, 64",
            "128,  1024, true,  CUDA_DEVICE, false,  4, 16",
            "128,  1024, true,  CUDA_DEVICE, true,  16,  1",
            "128,  1024, true,  HOST,        false, 16,  1",
            "128,  8192, true,  CUDA_DEVICE, false, 16,  1",
            "128,  4,    true,  CUDA_DEVICE, true,   8, 16",
            "128,  4,    false, CUDA_DEVICE, true,  32,  4",
            "4,    1024, true,  CUDA_DEVICE, false,  1,  4",
            "1,    4,    true,  CUDA_DEVICE, false,  1,  1"})
    void threadsAndSharesFollowTheWork(
            int entries, long kib, boolean adjacent, MemoryKind kind, boolean cold, int threads, int most) {
        Submission submission = submission(entries, kib * KIB, adjacent, kind, cold);
        Shares shares = Shares.of(submission, THREADS, PER_THREAD);
        assertThat(shares.threads()).isEqualTo(threads);
        List<Integer> claims = claims(submission, shares);
        assertThat(claims.stream().mapToInt(Integer::intValue).max()).hasValue(most);
        assertThat(claims.stream().mapToInt(Integer::intValue).sum()).isEqualTo(entries);
    }

    @Test
    void manySubmissionsThatWaitForADiskHaveMoreThreadsTogether() {
        Submission scattered = submission(PER_THREAD, 64 * KIB, false, MemoryKind.CUDA_DEVICE, true);
        assertThat(Shares.of(scattered, THREADS, PER_THREAD).threads()).isEqualTo(1);
        assertThat(Shares.of(scattered, THREADS, PER_THREAD).threadsForAll()).isEqualTo(2 * THREADS);
        Submission cached = submission(PER_THREAD, 64 * KIB, false, MemoryKind.CUDA_DEVICE, false);
        assertThat(Shares.of(cached, THREADS, PER_THREAD).threadsForAll()).isEqualTo(THREADS);
    }

    @Test
    void firstAndLastSharesAreSmall() {
        Submission submission = submission(ENTRIES, 256 * KIB, false, MemoryKind.CUDA_DEVICE, false);
        List<Integer> claims = claims(submission, Shares.of(submission, THREADS, PER_THREAD));
        int largest = claims.stream().mapToInt(Integer::intValue).max().orElseThrow();
        assertThat(claims.getFirst()).isLessThan(largest);
        assertThat(claims.getLast()).isLessThan(largest);
    }

    @Test
    void threadsThatHaveReadsInFlightTogetherClaimSeveral() {
        Submission submission = submission(ENTRIES, 4 * KIB, false, MemoryKind.CUDA_DEVICE, true);
        assertThat(claims(submission, Shares.of(submission, THREADS, 16))).containsOnly(16);
    }
}
