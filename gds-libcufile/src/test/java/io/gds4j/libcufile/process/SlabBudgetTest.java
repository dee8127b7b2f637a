package io.gds4j.libcufile.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.SlabArray;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Entries of all batches together take at most half of the library's slabs. */
class SlabBudgetTest {
    private static SlabBudget budget() {
        return SlabBudget.of(new SlabArray(List.of(1024L, 4L, 16384L), List.of(64L, 128L, 3L)));
    }

    @ParameterizedTest
    @CsvSource({"0,1", "1,1", "4096,1", "4097,0", "1048576,0", "1048577,2", "16777216,2", "1073741824,2"})
    void entryTakesTheSmallestFittingSlabOrTheLargest(long size, int slabClass) {
        assertThat(budget().classOf(size)).isEqualTo(slabClass);
    }

    @Test
    void halfOfTheSlabsStayFree() {
        SlabBudget budget = budget();
        int taken = 0;
        while (budget.tryTake(0)) {
            taken++;
        }
        assertThat(taken).isEqualTo(32);
        assertThat(budget.tryTake(1)).as("another class").isTrue();
        budget.giveBack(0);
        assertThat(budget.tryTake(0)).isTrue();
        assertThat(budget.tryTake(0)).isFalse();
    }

    @Test
    void entriesUseOneOfThreeSlabs() {
        SlabBudget budget = budget();
        assertThat(budget.tryTake(2)).isTrue();
        assertThat(budget.tryTake(2)).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"0,true", "4096,true", "16777216,true", "16777217,false"})
    void entryLargerThanEverySlabIsNotHeld(long size, boolean held) {
        assertThat(budget().holds(size)).isEqualTo(held);
        assertThat(SlabBudget.unlimited().holds(size)).isTrue();
    }

    @Test
    void starvedHolderMakesOthersReap() {
        SlabBudget budget = budget();
        List<String> reaped = new ArrayList<>();
        SlabBudget.Holder starved = () -> reaped.add("starved");
        SlabBudget.Holder gone = () -> reaped.add("gone");
        SlabBudget.Holder other = () -> reaped.add("other");
        List.of(starved, gone, other).forEach(budget::add);
        budget.remove(gone);
        budget.reapOthers(starved);
        assertThat(reaped).containsExactly("other");
    }

    @Test
    void directLibraryHasNoLimit() {
        SlabBudget budget = SlabBudget.unlimited();
        for (int i = 0; i < 1000; i++) {
            assertThat(budget.tryTake(budget.classOf(i * 1000L))).isTrue();
        }
    }
}
