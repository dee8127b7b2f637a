package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.machine.TransferCosts;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How requests are served: the table of cases of the model. */
class TransferCourseTest {
    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;

    private static Parallelism limits(int processors) {
        return Parallelism.of(CuFileConfig.builder().withoutEnvironment().build(), processors);
    }

    private static Circumstances circumstances(
            String request, int processors, long kib, int requests, int gpus) {
        return new Circumstances()
                .machine(limits(processors), 4 * MIB, 16 * MIB)
                .request(kib * KIB, kib * KIB, request.contains("write"), request.contains("GPU"),
                        request.contains("kernel"))
                .route(request.contains("cached"), request.contains("direct"))
                .beside(requests, gpus);
    }

    @ParameterizedTest(name = "{0}, {1} processors, {2} KiB, {3} requests, {4} GPUs")
    @CsvSource(textBlock = """
            # request,             processors,      KiB, requests, gpus, threads, piece KiB, joinable
            # small requests have one thread
            cached GPU read,               16,        4,        1,    1,       1,      4096, false
            cached GPU read,               16,      512,        1,    1,       1,      4096, false
            cached GPU read,               16,      768,        1,    1,       1,       512, false
            cached host read,              16,        4,        1,    1,       1,     65536, false
            # threads grow with the square root of the size, pieces with the size
            cached GPU read,               16,     1024,        1,    1,       2,       512, false
            cached GPU read,               16,     4096,        1,    1,       4,       512, false
            cached GPU read,               16,    16384,        1,    1,       8,      1024, false
            cached GPU read,               16,    65536,        1,    1,      12,      2048, true
            cached GPU read,               16,  1048576,        1,    1,      12,      4096, true
            cached host read,              16,    16384,        1,    1,       8,       512, false
            cached host read,              16,  1048576,        1,    1,      12,      4096, true
            # a kernel copies all pieces of medium-sized requests: more threads, smaller pieces
            gathered kernel cached GPU read, 16,     64,        1,    1,       1,        32, false
            gathered kernel cached GPU read, 16,    256,        1,    1,       1,        64, false
            gathered kernel cached GPU read, 16,    512,        1,    1,       3,        32, false
            gathered kernel cached GPU read, 16,    512,       16,    1,       1,       128, false
            gathered kernel cached GPU read, 16,   1024,        1,    1,       4,        64, false
            gathered kernel cached GPU read, 16,   4096,        1,    1,       9,       128, false
            gathered kernel cached GPU read, 16,  16384,        1,    1,      12,       128, false
            kernel cached GPU read,        16,    65536,        1,    1,      12,      2048, true
            gathered kernel cached GPU read, 16,  16384,        2,    1,       7,       128, false
            gathered kernel cached GPU read, 16,  16384,        4,    1,       4,       128, false
            gathered kernel cached GPU read, 16,  16384,        8,    1,       2,       128, false
            gathered kernel cached GPU read, 16,  16384,       16,    1,       1,       128, false
            kernel GPU read,               16,    16384,        1,    1,      12,       512, false
            kernel direct GPU read,        16,    16384,        1,    1,      12,       512, false
            # few requests share the processors, many work alone
            cached GPU read,               16,    16384,        2,    1,       4,      2048, false
            cached GPU read,               16,    16384,        3,    1,       4,      4096, false
            cached GPU read,               16,    16384,        4,    1,       4,      4096, false
            cached GPU read,               16,    16384,        5,    1,       2,      4096, false
            cached GPU read,               16,    16384,        7,    1,       2,      4096, false
            cached GPU read,               16,     1024,        4,    1,       2,       512, false
            cached GPU read,               16,     1024,       16,    1,       1,       512, false
            cached GPU read,                8,    16384,        4,    1,       2,      4096, false
            cached GPU read,               16,    16384,        8,    1,       1,      4096, false
            cached GPU read,               16,    16384,      100,    1,       1,      4096, false
            cached GPU read,                2,    16384,        2,    1,       1,      4096, false
            # GPUs share the processors
            cached GPU read,               32,  1048576,        1,    2,       8,      4096, true
            cached GPU read,               32,  1048576,        2,    2,       4,      4096, true
            cached GPU read,               16,  1048576,        1,    4,       4,      4096, true
            cached GPU read,                2,  1048576,        1,    4,       1,      4096, true
            # with few threads, a second one pays from 4 MiB of host memory on
            cached host read,               2,     1024,        1,    1,       1,     65536, false
            cached host read,               2,     4096,        1,    1,       2,       512, false
            cached GPU read,                2,     1024,        1,    1,       2,       512, false
            # what waits for a disk has all threads; the kernel gives the disk a long piece at once
            direct GPU read,               16,    16384,        1,    1,      12,       512, false
            direct GPU read,               16,    16384,        8,    1,      12,       512, false
            direct host read,              16,    65536,        1,    1,      12,     16384, true
            host read,                     16,    65536,        1,    1,      12,      1024, true
            # writes to the page cache take turns; short writes keep a disk busy
            cached GPU write,              16,  1048576,        1,    1,       1,      4096, false
            cached host write,             16,  1048576,        1,    1,       2,      4096, false
            direct GPU write,              16,  1048576,        1,    1,      12,       512, true
            direct host write,             16,  1048576,        1,    1,      12,     16384, true
            """)
    void courseFollowsFromTheCircumstances(
            String request, int processors, long kib, int requests, int gpus, int threads, long pieceKib,
            boolean joinable) {
        TransferCourse course = TransferCourse.of(circumstances(request, processors, kib, requests, gpus));

        assertThat(course)
                .isEqualTo(new TransferCourse(threads, pieceKib * KIB, joinable, request.contains("gathered")));
    }

    @ParameterizedTest(name = "{0} KiB, {1} requests: {2}")
    @CsvSource({
            "4, 100, false", "31, 100, false", "32, 4, false", "32, 5, true", "64, 1, false", "64, 5, false",
            "64, 6, true",
            "93, 1, false", "94, 1, true", "512, 1, true", "55000, 1, true", "56000, 1, false"
    })
    void kernelPaysForLongRequestsAndForMany(long kib, int requests, boolean pays) {
        assertThat(TransferCourse.mayGather(limits(16), kib * KIB, requests)).isEqualTo(pays);
        Parallelism noWorkers = new Parallelism(0, 1, 0, 16);
        assertThat(TransferCourse.mayGather(noWorkers, kib * KIB, requests)).as("no worker loads it").isFalse();
    }

    @Test
    void limitsBelongToTheLargerSide() {
        long joinable = TransferCosts.MEASURED.joinableBytes();
        assertThat(TransferCourse.mayGather(limits(16), joinable - 1, 1)).isTrue();
        assertThat(TransferCourse.mayGather(limits(16), joinable, 1)).isFalse();
        Circumstances now = circumstances("cached GPU read", 16, 1, 1, 1);
        assertThat(now.request(joinable - 1, joinable, false, true, false).course().joinable()).isFalse();
        assertThat(now.request(joinable, joinable, false, true, false).course().joinable()).isTrue();
    }

    @ParameterizedTest(name = "{0} bytes, slab of {1}, at least {2}, {3} workers: {4}")
    @CsvSource({"4096, 4096, 0, 1, false", "4097, 4096, 0, 1, true", "4097, 4096, 4097, 1, true",
            "4097, 4096, 4098, 1, false", "4097, 4096, 0, 0, false"})
    void requestsLargerThanASlabAreShared(long bytes, long slab, long minimum, int workers, boolean shared) {
        assertThat(TransferCourse.mayShare(new Parallelism(workers, workers + 1, minimum, 8), bytes, slab))
                .isEqualTo(shared);
        long most = TransferCosts.MEASURED.sharedBytes();
        assertThat(TransferCourse.mayShare(limits(8), most, most + 1)).as("of large slabs").isFalse();
        assertThat(TransferCourse.mayShare(limits(8), most + 1, most + 1)).as("of large slabs").isTrue();
    }

    @Test
    void secondThreadPaysForLargeRequestsOrWithEnoughThreads() {
        Parallelism few = new Parallelism(2, 3, 0, 16);
        assertThat(TransferCourse.isSmall(few, 4 * MIB - 1)).isTrue();
        assertThat(TransferCourse.isSmall(few, 4 * MIB)).isFalse();
        assertThat(TransferCourse.isSmall(new Parallelism(3, 4, 0, 16), 1)).isFalse();
    }

    /** Their copies take longer than the calls, so the pieces are short as those of any cached bytes. */
    @Test
    void cachedBytesOfADirectFileAreReadInPieces() {
        assertThat(TransferCourse.of(circumstances("cached direct host read", 16, 65536, 1, 1)))
                .isEqualTo(TransferCourse.of(circumstances("cached host read", 16, 65536, 1, 1)));
    }

    /** Two requests keep the link busy: more threads than half of those that do would wait for it. */
    @Test
    void configurationsWithManyWorkersKeepTheLinkAsBusyAsOthers() {
        assertThat(TransferCourse.share(new Parallelism(63, 64, 0, 128), 2, 1))
                .isEqualTo(TransferCosts.MEASURED.linkThreads() / 2);
    }

    @ParameterizedTest(name = "{0} us a thread, {1} us a copy, {2} GB/s a thread, {3} GB/s a link")
    @CsvSource({
            "65, 8.2, 8, 55, 8, 1024",
            "16, 8.2, 8, 55, 12, 512",
            "260, 8.2, 8, 55, 4, 2048",
            "65, 64, 8, 55, 8, 2048",
            "65, 8.2, 16, 55, 5, 1024",
            "65, 8.2, 8, 25, 8, 1024"
    })
    void courseFollowsFromTheCosts(
            double threadMicros, double copyMicros, double read, double link, int threads, long pieceKib) {
        TransferCosts costs = new TransferCosts(
                read, link, (long) (threadMicros * 1000), (long) (copyMicros * 1000), 12_000, 1_000, 12_000, 4_000,
                128 * MIB, 10_000_000);

        TransferCourse course = TransferCourse.of(circumstances("cached GPU read", 16, 16384, 1, 1), costs);

        assertThat(course).extracting(TransferCourse::threads, TransferCourse::pieceSize)
                .containsExactly(threads, pieceKib * KIB);
    }

    @ParameterizedTest
    @ValueSource(longs = {433, 512, 768, 4 << 10, 12 << 10, 24 << 10, 32 << 10, 54 << 10})
    void boardHasAPlaceForEachPieceThatAKernelCopies(long kib) {
        for (int processors = 2; processors <= 32; processors++) {
            TransferCourse course = TransferCourse.of(circumstances("kernel cached GPU read", processors, kib, 1, 1));

            long pieces = course.gathered() ? Math.ceilDiv(kib * KIB, course.pieceSize()) + 1 : 0;
            assertThat(pieces).as("%d processors", processors).isLessThanOrEqualTo(PieceBoard.PIECES);
        }
    }

    @ParameterizedTest
    @CsvSource({"16, 0, 1, 12", "16, 1, 1, 12", "16, 3, 1, 4", "32, 1, 4, 8", "32, 4, 2, 4", "16, 4, 2, 2"})
    void requestsThatStayMayHaveTheThreadsOfThoseThatEnd(int processors, int requests, int gpus, int threads) {
        assertThat(TransferCourse.share(limits(processors), requests, gpus)).isEqualTo(threads);
    }
}
