package io.gds4j.loader.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Few files are open, and each is checked when it is closed. */
class OpenFilesTest {
    /** Names instead of files, and what happened to them. */
    private static final class Names extends OpenFiles<Path> {
        private final Set<Path> open = new HashSet<>();
        private final List<Path> finished = new ArrayList<>();
        private int most;
        private int limit = Integer.MAX_VALUE;
        private int opened;

        Names(int most) {
            super(most);
        }

        @Override
        protected synchronized Path openFile(Path path) {
            if (open.size() == limit) {
                throw CuFileException.builder("open").error(CuFileError.IO_ERROR).errno(Errno.EMFILE).build();
            }
            assertThat(open.add(path)).isTrue();
            opened++;
            most = Math.max(most, open.size());
            return path;
        }

        @Override
        protected void opened(Path path, Path file) {
            // only the end of its use is of interest
        }

        @Override
        protected synchronized void finishFile(Path path, Path file) {
            assertThat(open).contains(file);
            finished.add(path);
            if (path.toString().endsWith("bad")) {
                throw new IllegalStateException("bad");
            }
        }

        @Override
        protected synchronized void closeFile(Path file) {
            assertThat(open.remove(file)).isTrue();
        }

        synchronized boolean isOpen(Path file) {
            return open.contains(file);
        }
    }

    private static void use(OpenFiles<Path> files, Path path, Consumer<Path> action) {
        try (OpenFiles<Path>.Share share = files.borrow(path)) {
            action.accept(share.file());
        }
    }

    private static List<Path> paths(int count) {
        return IntStream.range(0, count).mapToObj(i -> Path.of("f" + i)).toList();
    }

    @Test
    void firstFilesStayOpen() {
        try (Names names = new Names(3)) {
            names.openAll(paths(10), () -> {
            });
            assertThat(names.open).containsExactlyInAnyOrderElementsOf(paths(3));
            assertThat(names.opened).isEqualTo(3);
            for (Path path : paths(10)) {
                use(names, path, file -> assertThat(names.open).contains(file));
            }
            assertThat(names.opened).isEqualTo(10);
            names.finish();
            assertThat(names.finished).hasSize(10);
        }
    }

    @Test
    void filesInUseStayOpen() {
        try (Names names = new Names(1)) {
            use(names, Path.of("a"), a -> use(names, Path.of("b"), b -> {
                assertThat(names.open).containsExactlyInAnyOrder(a, b);
                use(names, Path.of("a"), again -> assertThat(again).isSameAs(a));
            }));
            use(names, Path.of("c"), c -> assertThat(names.open).containsExactly(c));
        }
    }

    @Test
    void exhaustedDescriptorsCloseWhatIsUnused() {
        try (Names names = new Names(100)) {
            names.limit = 4;
            for (Path path : paths(10)) {
                use(names, path, file -> {
                });
            }
            assertThat(names.most).isEqualTo(4);
        }
        try (Names none = new Names(100)) {
            none.limit = 0;
            assertThatThrownBy(() -> use(none, Path.of("a"), file -> {
            })).isInstanceOf(CuFileException.class);
        }
    }

    @Test
    void fileThatFailsItsCheckIsClosed() {
        try (Names names = new Names(1)) {
            use(names, Path.of("bad"), file -> {
            });
            assertThatThrownBy(() -> use(names, Path.of("a"), file -> {
            })).hasMessage("bad");
            assertThat(names.open).isEmpty();
            use(names, Path.of("a"), file -> {
            });
        }
    }

    /** A thread takes three files to close them, and another borrows two before they are closed. */
    @Test
    void fileThatIsBorrowedAgainStaysOpen() throws Exception {
        CountDownLatch closes = new CountDownLatch(1);
        CountDownLatch borrowed = new CountDownLatch(1);
        Set<Path> kept = ConcurrentHashMap.newKeySet();
        try (OpenFiles<Path> files = new OpenFiles<>(1) {
            @Override
            protected Path openFile(Path path) {
                return path;
            }

            @Override
            protected void finishFile(Path path, Path file) {
                if (closes.getCount() == 1) {
                    kept.addAll(List.of(Path.of("a"), Path.of("b"), Path.of("c")));
                    kept.remove(path);
                    closes.countDown();
                    await(borrowed);
                }
                assertThat(kept).doesNotContain(file);
            }

            @Override
            protected void opened(Path path, Path file) {
                assertThat(kept).doesNotContain(file);
            }

            @Override
            protected void closeFile(Path file) {
                assertThat(kept).doesNotContain(file);
            }
        }; ExecutorService threads = Executors.newSingleThreadExecutor()) {
            use(files, Path.of("a"), a -> use(files, Path.of("b"), b -> use(files, Path.of("c"), c -> {
            })));
            Future<?> other = threads.submit(() -> use(files, Path.of("d"), d -> {
            }));
            await(closes);
            List<Path> again = List.copyOf(kept);
            try {
                use(files, again.get(0), first -> use(files, again.get(1), second -> {
                    borrowed.countDown();
                    finished(other);
                }));
            } finally {
                borrowed.countDown();
            }
            kept.clear();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void finished(Future<?> task) {
        try {
            task.get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** A thread that opens waits for no other file, and whoever needs the file that is being closed waits for that. */
    @Test
    void threadsOpenAndCloseAtTheSameTime() throws Exception {
        CyclicBarrier both = new CyclicBarrier(2);
        CountDownLatch kept = new CountDownLatch(1);
        AtomicInteger closing = new AtomicInteger();
        try (OpenFiles<Path> files = new OpenFiles<>(2) {
            @Override
            protected Path openFile(Path path) {
                if (path.toString().startsWith("both")) {
                    meet(both);
                }
                assertThat(closing.get() == 0 || !path.equals(Path.of("kept"))).isTrue();
                return path;
            }

            @Override
            protected void opened(Path path, Path file) {
                // only opening is of interest
            }

            @Override
            protected void finishFile(Path path, Path file) {
                closing.incrementAndGet();
                if (path.equals(Path.of("kept"))) {
                    kept.countDown();
                    meet(both);
                }
            }

            @Override
            protected void closeFile(Path file) {
                closing.decrementAndGet();
            }
        }) {
            Consumer<String> use = name -> use(files, Path.of(name), file -> assertThat(file).isEqualTo(Path.of(name)));
            use.accept("kept");
            use.accept("second");
            try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
                Future<?> closes = threads.submit(() -> use.accept("third"));
                assertThat(kept.await(20, TimeUnit.SECONDS)).isTrue();
                Future<?> opens = threads.submit(() -> use.accept("both1"));
                closes.get(60, TimeUnit.SECONDS);
                opens.get(60, TimeUnit.SECONDS);
                opens = threads.submit(() -> use.accept("both2"));
                closes = threads.submit(() -> use.accept("both3"));
                closes.get(60, TimeUnit.SECONDS);
                opens.get(60, TimeUnit.SECONDS);
            }
        }
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await(20, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void threadsShareFiles() {
        long seed = System.nanoTime();
        long end = seed + TimeUnit.SECONDS.toNanos(5);
        try (Names names = new Names(5)) {
            IntStream.range(0, 8).parallel().forEach(thread -> {
                SplittableRandom random = new SplittableRandom(seed + thread);
                for (int i = 0; i < 2000 && System.nanoTime() < end; i++) {
                    Path path = Path.of("f" + random.nextInt(20));
                    use(names, path, file -> {
                        assertThat(file).as("seed %d", seed).isEqualTo(path);
                        Thread.yield();
                        assertThat(names.isOpen(file)).as("seed %d", seed).isTrue();
                    });
                }
            });
            assertThat(names.most).as("seed %d", seed).isLessThanOrEqualTo(8);
            names.finish();
            assertThat(names.open).isEmpty();
            assertThat(names.finished).hasSize(names.opened);
        }
    }
}
