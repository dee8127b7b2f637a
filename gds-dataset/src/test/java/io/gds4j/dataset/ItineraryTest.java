package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Which records a rank gets, in which batches. */
@Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ItineraryTest {
    private static Itinerary itinerary(long records, int rank, int world, Remainder rest, int batch, long epochs) {
        return Itinerary.of(
                new RecordPlan(RecordOrder.sequential(), records, DoneRecords.NONE, world, batch, rest), rank, epochs);
    }

    /** Returns the batches of a rank, each as its records: epochs end with {@code /}. */
    private static String batches(Itinerary way) {
        StringBuilder text = new StringBuilder();
        for (long at = 0; at < way.end();) {
            int count = way.batchAt(at);
            long[] numbers = new long[count];
            way.records(at, count, numbers);
            List<String> records = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                assertThat(way.record(at + i)).isEqualTo(numbers[i]);
                records.add(Long.toString(numbers[i]));
            }
            long epoch = way.epoch(at);
            at += count;
            text.append(String.join(" ", records)).append(at == way.begin(epoch + 1) ? "/" : ",");
        }
        return text.toString();
    }

    @ParameterizedTest(name = "{3}: rank {1} of {2}, {0} records, batches of {4}, {5} epochs")
    @CsvSource(delimiter = '|', textBlock = """
            # records | rank | world | remainder | batch | epochs | batches
            10 | 0 | 1 | KEEP | 4 | 1 | 0 1 2 3,4 5 6 7,8 9/
            10 | 0 | 3 | KEEP | 2 | 2 | 0 1,2 3/0 1,2 3/
            10 | 1 | 3 | KEEP | 2 | 2 | 4 5,6/4 5,6/
            10 | 2 | 3 | KEEP | 2 | 2 | 7 8,9/7 8,9/
            11 | 1 | 3 | KEEP | 8 | 1 | 4 5 6 7/
            11 | 2 | 3 | KEEP | 8 | 1 | 8 9 10/
            12 | 2 | 3 | KEEP | 4 | 1 | 8 9 10 11/
            2  | 0 | 4 | KEEP | 4 | 2 | 0/0/
            2  | 1 | 4 | KEEP | 4 | 1 | 1/
            2  | 2 | 4 | KEEP | 4 | 1 | ''
            10 | 0 | 1 | DROP | 4 | 2 | 0 1 2 3,4 5 6 7/0 1 2 3,4 5 6 7/
            10 | 0 | 2 | DROP | 2 | 1 | 0 1,2 3/
            10 | 1 | 2 | DROP | 2 | 1 | 4 5,6 7/
            8  | 1 | 2 | DROP | 4 | 1 | 4 5 6 7/
            7  | 1 | 2 | DROP | 4 | 1 | ''
            10 | 0 | 1 | PAD  | 4 | 1 | 0 1 2 3,4 5 6 7,8 9 0 1/
            10 | 0 | 2 | PAD  | 4 | 2 | 0 1 2 3,4 5 6 7/0 1 2 3,4 5 6 7/
            10 | 1 | 2 | PAD  | 4 | 1 | 8 9 0 1,2 3 4 5/
            9  | 1 | 2 | PAD  | 5 | 1 | 5 6 7 8 0/
            9  | 1 | 2 | PAD  | 4 | 1 | 8 0 1 2,3 4 5 6/
            8  | 1 | 2 | PAD  | 4 | 1 | 4 5 6 7/
            2  | 2 | 3 | PAD  | 3 | 1 | 0 1 0/
            """)
    void ranksGetConsecutiveParts(
            long records, int rank, int world, Remainder rest, int batch, long epochs, String batches) {
        Itinerary way = itinerary(records, rank, world, rest, batch, epochs);

        assertThat(batches(way)).isEqualTo(batches);
        assertThat(way.end()).isEqualTo(way.perEpoch() * epochs);
    }

    /** A share begins behind those of lower ranks also in later epochs, whose order is another. */
    @ParameterizedTest
    @EnumSource
    void eachEpochHasItsOrder(Remainder rest) {
        RecordOrder order = RecordOrder.shuffled(42);
        Itinerary way = Itinerary.of(new RecordPlan(order, 12, DoneRecords.NONE, 2, 3, rest), 1, 3);

        for (long position = 0; position < way.end(); position++) {
            assertThat(way.record(position)).isEqualTo(order.recordAt(6 + position % 6, 12, position / 6));
        }
        assertThat(way.end()).isEqualTo(18);
    }

    @Test
    void endlessEpochsEndAtTheLargestPosition() {
        assertThat(itinerary(10, 0, 1, Remainder.KEEP, 4, Long.MAX_VALUE).end()).isEqualTo(Long.MAX_VALUE);
        assertThat(itinerary(10, 0, 1, Remainder.KEEP, 4, Long.MAX_VALUE / 10).end())
                .isEqualTo(Long.MAX_VALUE / 10 * 10);
        assertThat(itinerary(0, 0, 1, Remainder.KEEP, 4, Long.MAX_VALUE).end()).isZero();
        Itinerary way = itinerary(10, 0, 1, Remainder.KEEP, 4, Long.MAX_VALUE);
        assertThat(way.batchAt(Long.MAX_VALUE - 1)).as("before the largest position").isEqualTo(1);
    }

    @Test
    void paddedSharesThatOverflowAreRefused() {
        assertThatThrownBy(() -> itinerary(Long.MAX_VALUE, 0, 1, Remainder.PAD, 1 << 30, 1))
                .isInstanceOf(CuFileException.class).hasMessageContaining("exceed 2^63");
        assertThatThrownBy(() -> itinerary(Long.MAX_VALUE - 1, 1, 2, Remainder.PAD, 1 << 30, 1))
                .isInstanceOf(CuFileException.class).hasMessageContaining("exceed 2^63");
    }
}
