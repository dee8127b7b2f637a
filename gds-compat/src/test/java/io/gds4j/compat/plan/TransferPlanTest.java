package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.plan.TransferPlan.CacheTrace;
import io.gds4j.compat.plan.TransferPlan.CacheUse;
import io.gds4j.spi.ResultSink;
import java.util.StringJoiner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The arithmetic of plans: pieces, and the range that bypasses the page cache. */
@Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TransferPlanTest {
    private static final long MOST = Long.MAX_VALUE;

    /** Returns the pieces as {@code start-end}. */
    private static String pieces(TransferPlan plan) {
        StringJoiner pieces = new StringJoiner(" ");
        for (long piece = 0; piece < plan.pieces(); piece++) {
            pieces.add(plan.pieceStart(piece) + "-" + plan.pieceEnd(piece));
        }
        return pieces.toString();
    }

    /** Returns the runs that go the same way, direct ones in brackets. */
    private static String runs(TransferPlan plan) {
        StringJoiner runs = new StringJoiner(" ");
        for (long at = plan.offset(); at < plan.end();) {
            long end = Math.min(plan.end(), plan.runEnd(at));
            assertThat(end).as("end of a run").isGreaterThan(at);
            assertThat(plan.isDirect(end - 1)).as("last byte of a run").isEqualTo(plan.isDirect(at));
            runs.add((plan.isDirect(at) ? "[%d-%d]" : "%d-%d").formatted(at, end));
            at = end;
        }
        return runs.toString();
    }

    @ParameterizedTest(name = "{1} bytes from {0} in pieces of {2}: {3}")
    @CsvSource({
            "0, 100, 64, 0-64 64-100", "0, 64, 64, 0-64", "0, 65, 64, 0-64 64-65", "63, 2, 64, 63-64 64-65",
            "64, 64, 64, 64-128", "65, 63, 64, 65-128", "65, 64, 64, 65-128 128-129", "10, 20, 64, 10-30",
            "130, 200, 64, 130-192 192-256 256-320 320-330", "5, 0, 64, ''",
            // the last block of the largest file has no end that a long can hold
            "9223372036854775700, 107, 64, 9223372036854775700-9223372036854775744 9223372036854775744-9223372036854775807",
            "9223372036854775744, 63, 64, 9223372036854775744-9223372036854775807"
    })
    void piecesMeetAtMultiplesOfTheirSize(long offset, long size, long pieceSize, String pieces) {
        TransferPlan plan = new TransferPlan().buffered(offset, size, pieceSize);
        assertThat(pieces(plan)).isEqualTo(pieces);
        assertThat(plan).returns(pieceSize, TransferPlan::pieceSize).returns(size, TransferPlan::size);
    }

    @ParameterizedTest(name = "{1} bytes from {0}, blocks of {2}, file of {3}: {4}")
    @CsvSource({
            "0, 1024, 512, 1024, [0-1024]", "0, 1100, 512, 2000, [0-1024] 1024-1100",
            "1, 1023, 512, 1024, 1-512 [512-1024]",
            "100, 1000, 512, 4096, 100-512 [512-1024] 1024-1100", "512, 512, 512, 4096, [512-1024]",
            // reads: nothing goes direct behind the last whole block of the file
            "0, 4096, 512, 1500, [0-1024] 1024-4096", "0, 4096, 512, 511, 0-4096", "2048, 1024, 512, 1500, 2048-3072",
            // no whole block: one run
            "0, 511, 512, 4096, 0-511", "100, 500, 512, 4096, 100-600", "511, 512, 512, 4096, 511-1023",
            "9223372036854775700, 107, 512, 9223372036854775807, 9223372036854775700-9223372036854775807"
    })
    void wholeBlocksGoDirect(long offset, long size, long alignment, long limit, String runs) {
        TransferPlan plan = new TransferPlan().direct(offset, size, 1 << 20, alignment, limit);
        assertThat(runs(plan)).isEqualTo(runs);
        assertThat(plan.hasDirect()).isEqualTo(runs.contains("["));
        assertThat(plan.runEnd(plan.end())).isEqualTo(MOST);
    }

    @Test
    void bytesAreDirectFromTheFirstToBeforeTheEnd() {
        TransferPlan plan = new TransferPlan().direct(100, 1000, 4096, 512, MOST);
        assertThat(plan.directFrom()).isEqualTo(512);
        assertThat(plan.directTo()).isEqualTo(1024);
        assertThat(new boolean[]{plan.isDirect(511), plan.isDirect(512), plan.isDirect(1023), plan.isDirect(1024)})
                .containsExactly(false, true, true, false);
    }

    /** A slab has room for the bytes before a piece in its page, and never needs more than a piece. */
    @ParameterizedTest
    @CsvSource({"0, 100, 65536, 100", "4096, 100, 65536, 100", "100, 50, 65536, 150", "8191, 2, 65536, 4097",
            "100, 65536, 65536, 65536", "0, 70000, 65536, 65536"})
    void slabHoldsAPieceAndWhatIsBeforeItInThePage(long offset, long size, long pieceSize, long bytes) {
        assertThat(new TransferPlan().buffered(offset, size, pieceSize).slabBytes()).isEqualTo(bytes);
    }

    /** Plans are used again: nothing of the request before may stay. */
    @Test
    void planOfTheNextRequestKeepsNothing() {
        TransferPlan plan = new TransferPlan().direct(0, 4096, 4096, 512, MOST).write().cache(CacheUse.ASKED)
                .leave(CacheTrace.DROPPED).joinable(true).gathered(3).takeFromBothEnds();
        assertThat(plan).matches(TransferPlan::isWrite).matches(TransferPlan::isJoinable)
                .matches(TransferPlan::isGathered).matches(TransferPlan::isTakenFromBothEnds)
                .returns(3, TransferPlan::readers).returns(CacheUse.ASKED, TransferPlan::cacheUse)
                .returns(CacheTrace.DROPPED, TransferPlan::cacheTrace);
        plan.buffered(0, 10, 64);
        assertThat(plan).matches(used -> !used.isWrite()).matches(used -> !used.isJoinable())
                .matches(used -> !used.isGathered()).matches(used -> !used.isTakenFromBothEnds())
                .matches(used -> !used.hasDirect()).returns(0, TransferPlan::readers)
                .returns(CacheUse.UNKNOWN, TransferPlan::cacheUse).returns(CacheTrace.KEPT, TransferPlan::cacheTrace);
    }

    @Test
    void oneHearsOfTheBytes() {
        ResultSink first = (path, offset, bytes) -> {
        };
        ResultSink second = (path, offset, bytes) -> assertThat(path).isNull();
        TransferPlan plan = new TransferPlan();
        for (ResultSink sink : new ResultSink[]{first, second, second, ResultSink.NONE}) {
            plan.reportTo(sink);
            assertThat(plan.sink()).isSameAs(sink);
        }
    }

    @Test
    void textNamesTheRanges() {
        assertThat(new TransferPlan().direct(100, 1000, 4096, 512, MOST))
                .hasToString("TransferPlan[offset=100, size=1000, pieceSize=4096, direct=512..1024]");
    }
}
