package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(120)
class HostStreamTest {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("work of a host stream failed");

    private final RecordingBackend backend = new RecordingBackend();

    /** Objects that the work of a stream can close. */
    enum Closeable {
        HANDLE, MEMORY, STREAM, DRIVER
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void throwUndeclared(Throwable thrown) throws E {
        throw (E) thrown;
    }

    @Test
    void streamContinuesAfterCheckedException() throws Exception {
        try (HostStream stream = HostStream.create()) {
            stream.enqueue(() -> HostStreamTest.<RuntimeException>throwUndeclared(new Exception("checked")));
            CountDownLatch later = new CountDownLatch(1);
            stream.enqueue(later::countDown);

            assertThat(later.await(60, TimeUnit.SECONDS)).isTrue();
            assertThat(HostStream.find(stream.address())).contains(stream);
        }
        assertThat(logged.lines()).containsExactly("SEVERE work of a host stream failed");
    }

    @Test
    void streamWithoutThreadIsNotFound() {
        long[] address = new long[1];

        assertThatThrownBy(() -> HostStream.create(work -> new Thread(work) {
            @Override
            public void start() {
                throw new OutOfMemoryError("no thread");
            }
        })).isInstanceOf(OutOfMemoryError.class);

        try (HostStream next = HostStream.create()) {
            address[0] = next.address() - 1;
        }
        assertThat(HostStream.find(address[0])).isEmpty();
    }

    /** Closes an object in the stream's work. The backend queues operations inside the submitting call, as real ones do. */
    private CuFileException closeInWork(Closeable what, boolean useLater) throws Exception {
        MemorySegment cell = Arena.ofAuto().allocate(8, 8);
        CuFileStream.Cells cells = new CuFileStream.Cells(cell, cell, cell, cell);
        CuFileDriver driver = CuFileDriver.open(backend);
        CuFileHandle handle = driver.openFile(Path.of("/data/a"));
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
        try (HostStream host = HostStream.create()) {
            CuFileStream stream = driver.stream(host.address(), Set.of());
            backend.during("readAsync", () -> host.enqueue(() -> {
            }));
            ThrowingCallable close = switch (what) {
                case HANDLE -> handle::close;
                case MEMORY -> memory::close;
                case STREAM -> stream::close;
                case DRIVER -> driver::close;
            };
            CountDownLatch queued = new CountDownLatch(1);
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            host.enqueue(() -> {
                try {
                    queued.await();
                    close.call();
                    thrown.complete(null);
                } catch (Throwable e) {
                    thrown.complete(e);
                }
            });
            if (useLater) {
                stream.read(handle, memory.range(), cells);
            }
            queued.countDown();
            Throwable failure = thrown.get(60, TimeUnit.SECONDS);
            host.synchronize();
            // After the operation every object can be closed.
            close.call();
            return (CuFileException) failure;
        } catch (Throwable e) {
            throw new AssertionError(e);
        } finally {
            driver.close();
            memory.close();
        }
    }

    @ParameterizedTest
    @EnumSource
    void workCannotCloseWhatLaterWorkUses(Closeable what) throws Exception {
        CuFileException refused = closeInWork(what, true);

        assertThat(refused.errno()).hasValue(Errno.EBUSY);
        assertThat(refused.error())
                .isEqualTo(what == Closeable.DRIVER ? CuFileError.DRIVER_CLOSING : CuFileError.IO_NOT_SUPPORTED);
    }

    @ParameterizedTest
    @EnumSource
    void workClosesWhatNoLaterWorkUses(Closeable what) throws Exception {
        assertThat(closeInWork(what, false)).isNull();
    }
}
