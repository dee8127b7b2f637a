package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The part of {@link StreamContract} about fragments of memory. */
abstract class StreamFragments extends BackendContract {
    static final int PAGE = 4096;
    static final int SIZE = 4 * PAGE;

    @BeforeEach
    void backendServesStreams() {
        assumeTrue(backend().servesStreams(), "not built");
    }

    static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Fragments in the opposite order of the file, each 77 bytes from its neighbour, of memories in turn. */
    private static List<ScatterCopy> fragments(int size, int bytes, GuardedMemory... memories) {
        List<ScatterCopy> fragments = new ArrayList<>();
        int to = 0;
        for (int end = size; end > 0; end -= bytes) {
            int from = Math.max(0, end - bytes);
            MemoryRange memory = memories[fragments.size() % memories.length].range();
            fragments.add(new ScatterCopy(from, end - from, memory, to));
            to += end - from + 77;
        }
        return fragments;
    }

    private static void expect(List<ScatterCopy> fragments, byte[] content, GuardedMemory... memories) {
        for (int i = 0; i < fragments.size(); i++) {
            ScatterCopy fragment = fragments.get(i);
            int from = (int) fragment.sourceOffset();
            int to = (int) Math.min(fragment.sourceEnd(), content.length);
            if (from < to) {
                memories[i % memories.length].expect(
                        (int) fragment.destinationOffset(), Arrays.copyOfRange(content, from, to));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void fragmentsAreReadAndWrittenInTheOrderOfTheStream(Way way) throws Exception {
        int size = way.kind().isCuda() ? (9 << 20) + 5 : SIZE + 5;
        int bytes = way.kind().isCuda() ? 99_991 : 991;
        int room = size + 77 * (size / bytes + 2);
        GuardedFile source = newFile(size + PAGE);
        GuardedFile target = newFile(PAGE);
        try (CuFileHandle from = openToRead(source, way.mode());
                CuFileHandle to = openToWrite(target, way.mode());
                GuardedMemory memory = memory(way.kind(), room);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            CountDownLatch go = new CountDownLatch(1);
            host.enqueue(() -> await(go));
            List<ScatterCopy> fragments = fragments(size, bytes, memory);
            CuFileStream.Cells read = stream.readScattered(from, 3, size, fragments);
            CuFileStream.Cells write = stream.writeScattered(to, 7, size, fragments);
            assertThat(read.bytesDone()).as("nothing before its turn").isZero();
            read.bufferOffset().set(ValueLayout.JAVA_LONG, 0, PAGE); // without effect
            go.countDown();
            host.synchronize();
            assertThat(read.bytesDone()).isEqualTo(size);
            assertThat(write.bytesDone()).isEqualTo(size);
            expect(fragments, source.expected(3, size), memory);
            memory.verify();
            target.expectWrite(7, source.expected(3, size));
        }
        target.verify();
    }

    @Test
    void fragmentsOfAllKindsTakePart() throws Exception {
        List<MemoryKind> kinds = backend().kinds();
        GuardedFile source = newFile(SIZE);
        GuardedFile target = newFile(SIZE);
        List<GuardedMemory> memories = new ArrayList<>();
        try (CuFileHandle from = openToRead(source, Mode.DIRECT);
                CuFileHandle to = openToWrite(target, Mode.DIRECT);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            kinds.forEach(kind -> memories.add(memory(kind, 2 * SIZE)));
            GuardedMemory[] all = memories.toArray(GuardedMemory[]::new);
            List<ScatterCopy> fragments = fragments(SIZE, 500, all);
            CuFileStream.Cells read = stream.readScattered(from, 0, SIZE, fragments);
            CuFileStream.Cells write = stream.writeScattered(to, 0, SIZE, fragments);
            host.synchronize();
            assertThat(read.bytesDone()).isEqualTo(SIZE);
            assertThat(write.bytesDone()).isEqualTo(SIZE);
            expect(fragments, source.expected(0, SIZE), all);
            memories.forEach(GuardedMemory::verify);
            target.expectWrite(0, source.expected(0, SIZE));
        } finally {
            memories.forEach(GuardedMemory::close);
        }
        target.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void fragmentsEndAtTheEndOfTheFileAndAtASmallerSize(Way way) throws Exception {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), 2 * SIZE);
                GuardedMemory other = memory(way.kind(), 2 * SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            CountDownLatch go = new CountDownLatch(1);
            host.enqueue(() -> await(go));
            List<ScatterCopy> atEnd = fragments(SIZE, 991, memory);
            List<ScatterCopy> smaller = fragments(SIZE, 991, other);
            CuFileStream.Cells ended = stream.readScattered(handle, SIZE - 1500, SIZE, atEnd);
            CuFileStream.Cells shrunk = stream.readScattered(handle, 0, SIZE, smaller);
            CuFileStream.Cells negative = stream.readScattered(handle, 0, SIZE, smaller);
            shrunk.size().set(ValueLayout.JAVA_LONG, 0, 1500);
            negative.size().set(ValueLayout.JAVA_LONG, 0, -1);
            go.countDown();
            host.synchronize();
            assertThat(ended.bytesDone()).isEqualTo(1500);
            assertThat(shrunk.bytesDone()).isEqualTo(1500);
            assertThat(negative.bytesDone()).isEqualTo(-CuFileError.INVALID_VALUE.code());
            expect(atEnd, file.expected(SIZE - 1500, 1500), memory);
            expect(smaller, file.expected(0, 1500), other);
            memory.verify();
            other.verify();
        }
    }

    @Test
    void fragmentsThatDoNotFitAreRefused() throws Exception {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(backend().kinds().getFirst(), SIZE);
                OrderedStream host = backend().newStream();
                Arena arena = Arena.ofConfined()) {
            CuFileStream stream = driver().stream(host.address(), Set.of());
            ScatterCopy whole = new ScatterCopy(0, PAGE, memory.range(), 0);
            ScatterCopy next = new ScatterCopy(PAGE, PAGE, memory.range(), 1);
            ScatterCopy confined = new ScatterCopy(0, 8, MemoryRange.ofSegment(arena.allocate(8)), 0);
            Failures.expect(CuFileError.INVALID_VALUE, () -> stream.readScattered(handle, 0, PAGE, List.of()));
            Failures.expect(CuFileError.INVALID_VALUE, () -> stream.readScattered(handle, -1, PAGE, List.of(whole)));
            Failures.expect(CuFileError.INVALID_VALUE, () -> stream.readScattered(handle, 0, PAGE - 1, List.of(whole)));
            Failures.expect(CuFileError.INVALID_VALUE,
                    () -> stream.readScattered(handle, 0, 2 * PAGE, List.of(whole, next)));
            Failures.expect(CuFileError.INVALID_VALUE,
                    () -> stream.readScattered(handle, 0, (1L << 50) + 1, List.of(whole)));
            Failures.expect(CuFileError.INVALID_VALUE,
                    () -> stream.writeScattered(handle, 0, PAGE + 1, List.of(whole)));
            Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    () -> stream.readScattered(handle, 0, 8, List.of(confined)));
            stream.close();
            Failures.expect(CuFileError.INVALID_VALUE, () -> stream.readScattered(handle, 0, PAGE, List.of(whole)));
            memory.verify();
        }
        file.verify();
    }

    @Test
    void closingTheMemoryOfAFragmentWaitsForTheQueue() {
        GuardedFile file = newFile(SIZE);
        CountDownLatch go = new CountDownLatch(1);
        try (OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of());
                CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            GuardedMemory one = memory(backend().kinds().getFirst(), PAGE);
            GuardedMemory other = memory(backend().kinds().getFirst(), PAGE);
            other.put(0, RandomBytes.of(4, PAGE));
            host.enqueue(() -> await(go));
            CuFileStream.Cells write = stream.writeScattered(handle, 0, 2L * PAGE, List.of(
                    new ScatterCopy(0, PAGE, one.range(), 0), new ScatterCopy(PAGE, PAGE, other.range(), 0)));
            file.expectWrite(0, one.expected(0, PAGE));
            file.expectWrite(PAGE, other.expected(0, PAGE));
            Thread.ofVirtual().start(go::countDown);
            other.close();
            assertThat(write.bytesDone()).isEqualTo(2L * PAGE);
            one.close();
        }
        file.verify();
    }
}
