package io.gds4j.libcufile.batch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A fixed number of threads serves the entries of a batch in their order. */
class EntryThreadsTest {
    private static final int THREADS = 8;

    private final Deque<Runnable> started = new ArrayDeque<>();
    private final List<Integer> served = new ArrayList<>();
    private final EntryThreads<Integer> threads = new EntryThreads<>(this::start, this::serve);
    private int startable = Integer.MAX_VALUE;
    private int attempts;

    private void serve(Integer entry) {
        served.add(entry);
        assertThat(served).doesNotHaveDuplicates();
    }

    private void start(Runnable task) {
        attempts++;
        if (startable == 0) {
            throw new OutOfMemoryError("unable to create native thread");
        }
        startable--;
        started.add(task);
    }

    private static List<Integer> entries(int from, int to) {
        return IntStream.range(from, to).boxed().toList();
    }

    @Test
    void eachEntryStartsOneThreadUpToTheLimit() {
        threads.add(entries(0, 3));
        assertThat(started).hasSize(3);
        threads.add(entries(3, 20));
        assertThat(started).hasSize(THREADS);
    }

    @Test
    void threadServesEntriesInOrderUntilNoneWaits() {
        threads.add(entries(0, 5));
        started.remove().run();
        assertThat(served).containsExactly(0, 1, 2, 3, 4);
        started.forEach(Runnable::run);
        assertThat(served).hasSize(5);
    }

    @Test
    void threadThatHasEndedMakesRoomForAnother() {
        threads.add(entries(0, 20));
        started.remove().run();
        started.clear();
        threads.add(entries(20, 40));
        assertThat(started).hasSize(1);
    }

    @Test
    void startedThreadsServeTheEntriesOfThoseThatCannotStart() {
        startable = 2;
        assertThat(threads.add(entries(0, 20))).isEmpty();
        assertThat(started).hasSize(2);
        assertThat(attempts).as("a system without threads is not asked again").isEqualTo(3);
        started.forEach(Runnable::run);
        assertThat(served).hasSize(20);
    }

    @Test
    void entriesAreGivenBackIfNoThreadCanStart() {
        startable = 0;
        assertThat(threads.add(entries(0, 3))).containsExactly(0, 1, 2);

        startable = 1;
        assertThat(threads.add(entries(3, 5))).isEmpty();
        started.forEach(Runnable::run);
        assertThat(served).containsExactly(3, 4);

        startable = 0;
        assertThat(threads.add(entries(5, 7))).as("the thread that started has ended").containsExactly(5, 6);
    }

    @Test
    void waitingEntriesCanBeTakenBack() {
        threads.add(entries(0, 3));
        assertThat(threads.takeWaiting()).containsExactly(0, 1, 2);
        assertThat(threads.takeWaiting()).isEmpty();
        started.forEach(Runnable::run);
        assertThat(served).isEmpty();
    }
}
