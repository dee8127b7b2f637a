package io.gds4j.engine.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.engine.kernel.CopyCell;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.ExitHandlers;
import io.gds4j.ffi.posix.LibcExitHandlers;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Release words of streams at the end of their session or of the process. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReleaseWordsTest {
    private static final int NON_BLOCKING = 1;

    @TempDir
    private Path folder;

    private final FakeCuda cuda = new FakeCuda();
    private final CudaContexts contexts = new CudaContexts(cuda);
    private final Handlers handlers = new Handlers();
    private final ReleaseWords words = new ReleaseWords(contexts, handlers);

    /** Records the words, and writes every byte that a handler of libc may write. */
    private static final class Handlers implements ExitHandlers {
        final List<Long> added = new ArrayList<>();
        final Set<Long> groups = new TreeSet<>();
        int forgotten;
        boolean refuses;
        boolean forgetsNothing;

        @Override
        public boolean add(long word, long group) {
            added.add(word);
            groups.add(group);
            return !refuses;
        }

        @Override
        public void runAndForget(long group) {
            assertThat(groups).contains(group);
            forgotten++;
            if (!forgetsNothing && !refuses) {
                run();
            }
        }

        void run() {
            for (long word : added) {
                MemorySegment written = memory(word, BYTES).fill((byte) -1);
                written.set(ValueLayout.JAVA_INT, 0, PASSED);
            }
        }
    }

    private static MemorySegment memory(long address, long bytes) {
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    @Test
    void wordIsAddedWhenItIsTakenForTheFirstTime() {
        ReleaseWord first = words.take();
        assertThat(handlers.added).containsExactly(first.address());
        words.giveBack(first);
        assertThat(words.take()).isSameAs(first);
        assertThat(handlers.added).containsExactly(first.address());
        ReleaseWord second = words.take();
        assertThat(handlers.added).containsExactly(first.address(), second.address());
        words.close();
    }

    @Test
    void closingForgetsTheHandlersAndThenFreesOnce() {
        words.take();
        words.giveBack(words.take());
        words.close();
        words.close();
        assertThat(handlers.forgotten).isOne();
        assertThat(cuda.leaks()).isEmpty();
        assertThat(cuda.violations()).isEmpty();
    }

    @Test
    void memoryStaysIfItsHandlersAreNotForgotten() {
        handlers.forgetsNothing = true;
        ReleaseWord word = words.take();
        words.close();
        assertThat(cuda.calls(CudaFunction.MEM_FREE_HOST)).isZero();
        handlers.run();
        assertThat(word.isForgotten()).isTrue();
    }

    @Test
    void wordsWithoutHandlersAreFreedAsEver() {
        handlers.refuses = true;
        words.take();
        words.close();
        assertThat(cuda.leaks()).isEmpty();
    }

    @Test
    void wordThatIsGivenBackAfterCloseIsNotTakenAgain() {
        ReleaseWord late = words.take();
        words.close();
        words.giveBack(late);
        assertThat(words.take()).isNotSameAs(late);
        words.close();
        assertThat(cuda.leaks()).isEmpty();
    }

    @Test
    void streamPassesItsWaitsAtTheEndAndCopiesNothing() {
        ReleaseWord word = words.take();
        ReleaseWord neighbour = words.take();
        words.giveBack(neighbour);
        handlers.added.remove(neighbour.address());
        long[] stream = new long[1];
        assertThat(contexts.in(contexts.primary(0), () -> {
            cuda.streamCreate(stream, NON_BLOCKING);
            cuda.streamWaitValue32(stream[0], word.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ);
            return cuda.streamQuery(stream[0]);
        })).isEqualTo(Cuda.ERROR_NOT_READY);
        handlers.run();
        assertThat(contexts.in(contexts.primary(0), () -> {
            cuda.streamWaitValue32(stream[0], word.address(), Integer.MAX_VALUE, Cuda.STREAM_WAIT_VALUE_GEQ);
            return cuda.streamSynchronize(stream[0]);
        })).isEqualTo(Cuda.SUCCESS);
        assertThat(memory(word.emptyCell().address(), CopyCell.BYTES).mismatch(memory(
                neighbour.emptyCell().address(), CopyCell.BYTES))).isEqualTo(-1);
        assertThat(memory(neighbour.address(), Integer.BYTES).get(ValueLayout.JAVA_INT, 0)).isZero();
        // A worker thread that releases it later changes nothing.
        word.release(1);
        assertThat(memory(word.address(), Integer.BYTES).get(ValueLayout.JAVA_INT, 0)).isEqualTo(ExitHandlers.PASSED);
    }

    @Test
    void libcForgetsFreedWords() {
        ReleaseWords real = new ReleaseWords(contexts, new LibcExitHandlers());
        real.take();
        real.giveBack(real.take());
        real.close();
        assertThat(cuda.leaks()).isEmpty();
    }

    @Test
    void exitHandlerOfALibraryThatWaitsForAWordComesToItsEnd() {
        assumeTrue(LateWaiter.semWait().isPresent(), "sem_wait is not in libc itself");
        ChildJvm.End end = new ChildJvm(LateWaiter.class, folder).run();
        assertThat(end.status()).as("%s", end).isEqualTo(6);
        assertThat(end.error()).isEmpty();
    }

    /**
     * A program whose exit handler waits until a word is not 0, like the handler of libcufile that waits for a stream. The handler
     * is {@code sem_wait}, with the word as its semaphore.
     */
    static final class LateWaiter {
        static Optional<MemorySegment> semWait() {
            return Linker.nativeLinker().defaultLookup().find("sem_wait");
        }

        public static void main(String[] args) throws Throwable {
            ReleaseWords words = new ReleaseWords(new CudaContexts(new FakeCuda()), new LibcExitHandlers());
            long next = words.take().address() + ReleaseWord.BYTES;
            memory(next, ExitHandlers.BYTES).fill((byte) 0);
            Linker linker = Linker.nativeLinker();
            int refused = (int) linker.downcallHandle(
                    linker.defaultLookup().findOrThrow("__cxa_atexit"),
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG))
                    .invokeExact(semWait().orElseThrow().address(), next, 0L);
            boolean waitedFor = words.take().address() == next;
            Runtime.getRuntime().halt(refused == 0 && waitedFor ? 6 : 7);
        }
    }
}
