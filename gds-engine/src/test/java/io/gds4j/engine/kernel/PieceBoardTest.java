package io.gds4j.engine.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A word of an earlier request never counts for a later one, also where the numbers of requests begin anew. */
class PieceBoardTest {
    private static final int PLACE = 3;

    /** As the kernel does once it has copied all units of a place. */
    private static void copy(MemorySegment words, int request, int place) {
        for (int unit = 0; unit < PieceBoard.UNITS; unit++) {
            long at = PieceBoard.COPIED + (long) (place * PieceBoard.UNITS + unit) * Integer.BYTES;
            words.set(ValueLayout.JAVA_INT, at, PieceBoard.tag(request));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 32_760, 65_530, Integer.MAX_VALUE - 32_780, Integer.MAX_VALUE - 10})
    void noRequestIsCopiedBeforeItArrives(int before) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocate(PieceBoard.BYTES, 64);
            PieceBoard board = PieceBoard.at(words.address(), before);
            for (int i = 0; i < 40; i++) {
                int request = board.begin();
                assertThat(request).isPositive();
                assertThat(board.isCopied(request, PLACE)).as("request %d", request).isFalse();
                copy(words, request, PLACE);
                assertThat(board.isCopied(request, PLACE)).isTrue();
            }
        }
    }

    @Test
    void aForgottenPlaceIsNotCopiedWhenItsTagComesAgain() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocate(PieceBoard.BYTES, 64);
            PieceBoard board = PieceBoard.at(words.address());
            int first = board.beginBehind();
            copy(words, first, PLACE);
            board.forget(PLACE + 1);
            int request = board.beginBehind();
            while (PieceBoard.tag(request) != PieceBoard.tag(first)) {
                request = board.beginBehind();
            }
            assertThat(board.isCopied(request, PLACE)).isFalse();
        }
    }

    @Test
    void aPlaceIsCopiedForGoodThoughItsLineServesALaterOne() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocate(PieceBoard.BYTES, 64);
            PieceBoard board = PieceBoard.at(words.address(), 32_765);
            int request = board.beginBehind();
            assertThat(board.hasCopied(request, PLACE)).isFalse();
            for (int lap = 0; lap < 5; lap++) {
                copy(words, request + lap, PLACE);
                for (int other = 0; other < 6; other++) {
                    assertThat(board.hasCopied(request, PLACE + other * PieceBoard.PIECES))
                            .as("place of lap %d, line of lap %d", other, lap)
                            .isEqualTo(other <= lap);
                }
            }
        }
    }
}
