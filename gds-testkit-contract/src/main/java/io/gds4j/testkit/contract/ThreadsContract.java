package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of concurrent threads, on one handle or on several handles of a file.
 *
 * @since 0.1
 */
public abstract class ThreadsContract extends BackendContract {
    private static final int THREADS = 8;
    private static final int ROUNDS = 10;
    private static final int PAGE = 4096;
    /** Odd, so that neighbours share a page at every border. */
    private static final int PART = 5 * PAGE + 1237;
    private static final int LARGEST = 400 << 10;
    private static final long SEED = 17;

    /** For subclasses. */
    protected ThreadsContract() {
    }

    @ParameterizedTest
    @MethodSource("ways")
    void firstRequestOfANewThreadIsServed(Way way) {
        GuardedFile file = newFile(PART);
        try (CuFileHandle handle = openToWrite(file, way.mode());
                GuardedMemory memory = memory(way.kind(), PART)) {
            Crowd.run(1, member -> assertThat(handle.read(memory.range(), 0)).isEqualTo(PART));
            memory.expect(0, file.expected(0, PART));
            memory.verify();
            memory.put(0, RandomBytes.of(8, PART));
            Crowd.run(1, member -> assertThat(handle.write(memory.range(), 0)).isEqualTo(PART));
            file.expectWrite(0, memory.expected(0, PART));
            file.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void threadsReadTheirPartsThroughOneHandle(Way way) {
        GuardedFile file = newFile(THREADS * PART);
        try (CuFileHandle handle = openToRead(file, way.mode())) {
            Crowd.run(THREADS, member -> {
                try (GuardedMemory memory = GuardedMemory.allocate(allocator(), way.kind(), PART, member, member)) {
                    for (int round = 0; round < ROUNDS; round++) {
                        int part = (member + round) % THREADS;
                        assertThat(handle.read(memory.range(), (long) part * PART)).isEqualTo(PART);
                        memory.expect(0, file.expected((long) part * PART, PART));
                        memory.verify();
                    }
                }
            });
        }
    }

    /** Parts of up to 400 KiB: a backend may choose another way to copy them for each size, and beside many others. */
    @ParameterizedTest
    @MethodSource("ways")
    void threadsReadPartsOfAnySizeFromAnywhere(Way way) {
        GuardedFile file = newFile(4 * LARGEST);
        try (CuFileHandle handle = openToRead(file, way.mode())) {
            Crowd.run(THREADS, member -> {
                RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(SEED + member);
                try (GuardedMemory memory = GuardedMemory.allocate(allocator(), way.kind(), LARGEST, member, member)) {
                    for (int round = 0; round < ROUNDS; round++) {
                        int size = random.nextInt(1, LARGEST);
                        int from = random.nextInt(3 * LARGEST);
                        int to = random.nextInt(LARGEST - size + 1);
                        assertThat(handle.read(memory.range(), size, from, to))
                                .as("round %s, seed %s", round, SEED + member)
                                .isEqualTo(size);
                        memory.expect(to, file.expected(from, size));
                        memory.verify();
                    }
                }
            });
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void threadsReadTheSameRangeIntoPartsOfOneMemory(Way way) {
        GuardedFile file = newFile(PART);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), THREADS * PART);
                CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
            Crowd.run(
                    THREADS,
                    member -> assertThat(handle.read(buffer, PART, 0, (long) member * PART)).isEqualTo(PART));
            for (int member = 0; member < THREADS; member++) {
                memory.expect(member * PART, file.expected(0, PART));
            }
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void writersWithinAPageKeepEachOthersBytes(Way way) {
        GuardedFile file = newFile(THREADS * PART);
        try (CuFileHandle handle = openToWrite(file, way.mode())) {
            writeParts(file, way.kind(), member -> handle);
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void directAndBufferedWritersKeepEachOthersBytes(MemoryKind kind) {
        GuardedFile file = newFile(THREADS * PART);
        List<CuFileHandle> handles = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Mode mode = Mode.values()[i % 2];
            handles.add(
                    i % 4 < 2
                            ? openToWrite(file, mode)
                            : driver().openFile(file.path(), mode.options(StandardOpenOption.WRITE)));
        }
        writeParts(file, kind, handles::get);
        handles.forEach(CuFileHandle::close);
        file.verify();
    }

    private interface HandleOfMember {
        CuFileHandle get(int member);
    }

    private void writeParts(GuardedFile file, MemoryKind kind, HandleOfMember handles) {
        Crowd.run(THREADS, member -> {
            CuFileHandle handle = handles.get(member);
            try (GuardedMemory memory = GuardedMemory.allocate(allocator(), kind, PART, 0, member)) {
                for (int round = 0; round < ROUNDS; round++) {
                    memory.put(0, RandomBytes.of(member * 1000L + round, PART));
                    assertThat(handle.write(memory.range(), (long) member * PART)).isEqualTo(PART);
                }
                file.expectWrite((long) member * PART, memory.expected(0, PART));
            }
        });
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void threadsGrowTheFileTogether(Way way) {
        GuardedFile file = newFile(100);
        try (CuFileHandle handle = openToWrite(file, way.mode())) {
            // Any thread may write first, even the last part: no thread may truncate what another has written past the
            // old end.
            Crowd.run(THREADS, member -> {
                try (GuardedMemory memory = GuardedMemory.allocate(allocator(), way.kind(), PART, 0, member)) {
                    long at = 100 + (long) member * PART;
                    assertThat(handle.write(memory.range(), at)).isEqualTo(PART);
                    file.expectWrite(at, memory.expected(0, PART));
                }
            });
        }
        file.verify();
    }

    @ParameterizedTest
    @EnumSource
    void bytesBesideAWrittenRangeNeverChange(Mode mode) {
        GuardedFile file = newFile(4 * PAGE);
        int from = PAGE + 100;
        int size = 2 * PAGE + 57;
        AtomicBoolean done = new AtomicBoolean();
        MemoryKind kind = backend().kinds().getFirst();
        try (CuFileHandle writer = openToWrite(file, mode);
                CuFileHandle buffered = openToRead(file, Mode.BUFFERED);
                CuFileHandle direct = openToRead(file, Mode.DIRECT)) {
            Crowd.run(3, member -> {
                if (member == 0) {
                    try (GuardedMemory memory = memory(kind, size)) {
                        for (int round = 0; round < 20 * ROUNDS; round++) {
                            memory.put(0, RandomBytes.of(round, size));
                            assertThat(writer.write(memory.range(), from)).isEqualTo(size);
                        }
                        file.expectWrite(from, memory.expected(0, size));
                    } finally {
                        done.set(true);
                    }
                    return;
                }
                CuFileHandle reader = member == 1 ? buffered : direct;
                try (GuardedMemory memory = memory(kind, 4 * PAGE)) {
                    do {
                        assertThat(reader.read(memory.range(), 0)).isEqualTo(4 * PAGE);
                        memory.accept(from, size);
                        memory.expect(0, file.expected(0, from));
                        memory.expect(from + size, file.expected(from + size, 4 * PAGE));
                        memory.verify();
                    } while (!done.get());
                }
            });
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void registrationsChangeWhileOthersMoveBytes(MemoryKind kind) {
        GuardedFile file = newFile(THREADS * PART);
        try (CuFileHandle handle = openToWrite(file, Mode.DIRECT)) {
            Crowd.run(THREADS, member -> {
                long at = (long) member * PART;
                try (GuardedMemory memory = GuardedMemory.allocate(allocator(), kind, PART, 0, member)) {
                    for (int round = 0; round < ROUNDS; round++) {
                        try (CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
                            assertThat(handle.write(buffer, at)).isEqualTo(PART);
                            file.expectWrite(at, memory.expected(0, PART));
                            assertThat(handle.read(buffer, at)).isEqualTo(PART);
                        }
                        memory.verify();
                    }
                }
            });
        }
        file.verify();
    }

    @Test
    void handlesOpenAndCloseWhileOthersMoveBytes() {
        GuardedFile file = newFile(THREADS * PART);
        MemoryKind kind = backend().kinds().getFirst();
        Crowd.run(THREADS, member -> {
            long at = (long) member * PART;
            try (GuardedMemory memory = GuardedMemory.allocate(allocator(), kind, PART, 0, member)) {
                for (int round = 0; round < ROUNDS; round++) {
                    try (CuFileHandle handle = openToWrite(file, Mode.values()[(member + round) % 2])) {
                        assertThat(handle.write(memory.range(), at)).isEqualTo(PART);
                        assertThat(handle.read(memory.range(), at)).isEqualTo(PART);
                    }
                    memory.verify();
                }
                file.expectWrite(at, memory.expected(0, PART));
            }
        });
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void virtualThreadsAreServed(MemoryKind kind) {
        GuardedFile file = newFile(32 * PART);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            Crowd.run(32, Thread.ofVirtual(), member -> {
                try (GuardedMemory memory = GuardedMemory.allocate(allocator(), kind, PART, 0, member)) {
                    long at = (long) member * PART;
                    assertThat(handle.write(memory.range(), at)).isEqualTo(PART);
                    file.expectWrite(at, memory.expected(0, PART));
                    assertThat(handle.read(memory.range(), at)).isEqualTo(PART);
                    memory.verify();
                }
            });
        }
        file.verify();
    }
}
