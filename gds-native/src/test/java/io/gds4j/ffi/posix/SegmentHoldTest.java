package io.gds4j.ffi.posix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A hold keeps an arena open while work runs, and no longer. */
class SegmentHoldTest {
    @Test
    void sharedArenaCannotCloseWhileItIsHeld() throws InterruptedException {
        Arena arena = Arena.ofShared();
        MemorySegment memory = arena.allocate(64);
        List<Throwable> refusals = new ArrayList<>();
        SegmentHold.during(memory.asSlice(8, 8), () -> {
            Thread closer = Thread.ofPlatform().start(() -> {
                try {
                    arena.close();
                } catch (IllegalStateException e) {
                    refusals.add(e);
                }
            });
            try {
                closer.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            memory.fill((byte) 1);
        });
        assertThat(refusals).hasSize(1);
        arena.close();
        assertThatThrownBy(() -> SegmentHold.during(memory, () -> {
        })).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void confinedGlobalAutomaticAndReadOnlyMemoryCanBeHeld() {
        List<Integer> done = new ArrayList<>();
        try (Arena confined = Arena.ofConfined()) {
            SegmentHold.during(confined.allocate(8), () -> done.add(1));
            SegmentHold.during(Arena.global().allocate(8), () -> done.add(2));
            SegmentHold.during(Arena.ofAuto().allocate(8).asReadOnly(), () -> done.add(3));
            SegmentHold.during(MemorySegment.ofAddress(1 << 20), () -> done.add(4));
        }
        assertThat(done).containsExactly(1, 2, 3, 4);
    }

    @Test
    void holdsNest() {
        List<Integer> done = new ArrayList<>();
        try (Arena outer = Arena.ofShared(); Arena inner = Arena.ofShared()) {
            SegmentHold.during(outer.allocate(8), () -> {
                SegmentHold.during(inner.allocate(8), () -> done.add(1));
                assertThatThrownBy(outer::close).isInstanceOf(IllegalStateException.class);
                done.add(2);
            });
        }
        assertThat(done).containsExactly(1, 2);
    }

    @Test
    void exceptionOfTheWorkIsRethrown() {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(8);
            assertThatThrownBy(() -> SegmentHold.during(memory, () -> {
                throw new UncheckedIOException(new IOException("disk"));
            })).isInstanceOf(UncheckedIOException.class);
            assertThatThrownBy(() -> SegmentHold.during(memory, () -> {
                throw new StackOverflowError();
            })).isInstanceOf(StackOverflowError.class);
        }
    }

    @Test
    void virtualThreadsHoldArenas() throws InterruptedException {
        List<Integer> done = new ArrayList<>();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(8);
            Thread.ofVirtual().start(() -> SegmentHold.during(memory, () -> done.add(1))).join();
        }
        assertThat(done).containsExactly(1);
    }

    @Test
    void heapMemoryHasNoAddressToHold() {
        assertThatThrownBy(() -> SegmentHold.during(MemorySegment.ofArray(new byte[8]), () -> {
        })).isInstanceOf(IllegalArgumentException.class);
    }
}
