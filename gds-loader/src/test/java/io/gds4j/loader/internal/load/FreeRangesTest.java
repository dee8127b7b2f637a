package io.gds4j.loader.internal.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Ranges that are taken and given back in any order, beside a bit for each byte. */
class FreeRangesTest {
    private static final int SIZE = 200;

    private record Taken(int offset, int bytes) {
    }

    @Test
    void takesTheFirstRangeThatIsLongEnoughAndNoByteTwice() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int round = 0; round < 200; round++) {
            FreeRanges ranges = new FreeRanges();
            ranges.give(0, SIZE);
            BitSet used = new BitSet(SIZE);
            List<Taken> taken = new ArrayList<>();
            for (int step = 0; step < 200; step++) {
                if (!taken.isEmpty() && random.nextBoolean()) {
                    Taken back = taken.remove(random.nextInt(taken.size()));
                    ranges.give(back.offset, back.bytes);
                    used.clear(back.offset, back.offset + back.bytes);
                } else {
                    int bytes = 1 + random.nextInt(random.nextBoolean() ? 8 : 80);
                    int first = first(used, bytes);
                    assertThat(ranges.take(bytes)).as("-Dgds4j.property.seed=%s, round %s, step %s", seed, round, step)
                            .isEqualTo(first < 0 ? OptionalLong.empty() : OptionalLong.of(first));
                    if (first >= 0) {
                        used.set(first, first + bytes);
                        taken.add(new Taken(first, bytes));
                    }
                }
            }
        }
    }

    private static int first(BitSet used, int bytes) {
        for (int begin = used.nextClearBit(0); begin + bytes <= SIZE; begin = used.nextClearBit(begin + 1)) {
            int end = used.nextSetBit(begin);
            if (end < 0 || end - begin >= bytes) {
                return begin;
            }
        }
        return -1;
    }
}
