package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.dataset.DoneRecords.Range;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The records that are done, and the others. */
class DoneRecordsTest {
    private static final int RECORDS = 20;

    /** Reads ranges as "EPOCH:BEGIN-END EPOCH:BEGIN-END". */
    private static List<Range> ranges(String text) {
        return text == null ? List.of() : Arrays.stream(text.split(" ")).map(range -> {
            String[] numbers = range.split("[:-]");
            return new Range(Long.parseLong(numbers[0]), Long.parseLong(numbers[1]), Long.parseLong(numbers[2]));
        }).toList();
    }

    private static String text(List<Range> ranges) {
        return ranges.stream().map(range -> range.epoch() + ":" + range.begin() + "-" + range.end())
                .collect(Collectors.joining(" "));
    }

    @ParameterizedTest(name = "{0} epochs and {1}")
    @CsvSource(delimiter = '|', nullValues = "none", textBlock = """
            # epochs | ranges | whole epochs | ranges of later ones | last epoch
            0 | none                | 0 | ''                | -1
            3 | none                | 3 | ''                | 2
            0 | 0:5-9 0:0-5         | 0 | 0:0-9             | 0
            0 | 0:0-5 0:6-9         | 0 | 0:0-5 0:6-9       | 0
            0 | 0:0-9 0:2-4 0:8-10  | 0 | 0:0-10            | 0
            0 | 0:0-5 1:5-9         | 0 | 0:0-5 1:5-9       | 1
            2 | 1:0-5 2:0-20 4:7-8  | 3 | 4:7-8             | 4
            0 | 0:0-12 0:12-20      | 1 | ''                | 0
            """)
    void rangesThatMeetBecomeOne(long epochs, String some, long whole, String later, long last) {
        DoneRecords done = DoneRecords.of(epochs, ranges(some), RECORDS);
        assertThat(done.epochs()).isEqualTo(whole);
        assertThat(text(done.ranges())).isEqualTo(later);
        assertThat(done.lastEpoch()).isEqualTo(last);
        assertThat(done.left(RECORDS)).hasSize((int) (last + 1 - whole));
    }

    @Test
    void limitsHoldToTheLast() {
        List<Range> most = IntStream.range(0, DoneRecords.MAX_RANGES).mapToObj(i -> new Range(0, 2L * i, 2L * i + 1))
                .toList();
        assertThat(DoneRecords.of(0, most, Long.MAX_VALUE).ranges()).hasSize(DoneRecords.MAX_RANGES);
        List<Range> more = new ArrayList<>(most);
        more.add(new Range(2, 0, 1));
        assertThatThrownBy(() -> DoneRecords.of(0, more, Long.MAX_VALUE)).hasMessageContaining(
                "the records that are done are 65537 ranges of 3 epochs, allowed: 65536 of 1024");
        assertThat(DoneRecords.of(1000, ranges("2023:0-1"), RECORDS).lastEpoch()).isEqualTo(2023);
        assertThatThrownBy(() -> DoneRecords.of(1000, ranges("2024:0-1"), RECORDS)).hasMessageContaining(
                "the records that are done are 1 ranges of 1025 epochs, allowed: 65536 of 1024");
    }

    @ParameterizedTest(name = "{2} from {1} on without {0}")
    @CsvSource(delimiter = '|', nullValues = "none", textBlock = """
            # done | first left record | count | where they are
            none          | 0  | 20 | 7:0-20
            none          | 3  | 20 | 7:0-20
            none          | 3  | 21 | 7:0-20
            none          | 3  | 0  | ''
            none          | 3  | 4  | 7:3-7
            none          | 18 | 5  | 7:18-20 7:0-3
            none          | 43 | 4  | 7:3-7
            0:4-6 0:9-12  | 0  | 15 | 7:0-4 7:6-9 7:12-20
            0:4-6 0:9-12  | 3  | 3  | 7:3-4 7:6-8
            0:4-6 0:9-12  | 4  | 3  | 7:6-9
            0:4-6 0:9-12  | 14 | 6  | 7:19-20 7:0-4 7:6-7
            0:0-4 0:19-20 | 14 | 2  | 7:18-19 7:4-5
            0:0-20        | 0  | 0  | ''
            """)
    void leftRecordsLieBetweenDoneOnes(String done, long from, long size, String places) {
        LeftRecords left = LeftRecords.without(ranges(done), RECORDS);
        List<Range> found = new ArrayList<>() {
            @Override
            public boolean add(Range range) {
                assertThat(size()).as("%s", this).isLessThan(9);
                return super.add(range);
            }
        };
        left.addRanges(7, from, size, found);
        assertThat(text(found)).isEqualTo(places);
        assertThat(left.count()).isEqualTo(
                RECORDS - ranges(done).stream().mapToLong(range -> range.end() - range.begin()).sum());
        if (size > 0 && size < left.count()) {
            assertThat(left.index(from)).isEqualTo(found.getFirst().begin());
            assertThat(left.index(from + size - 1)).isEqualTo(found.getLast().end() - 1);
        }
    }
}
