package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.ResultSink;
import io.gds4j.statistics.IoPath;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The report of one request: bytes asked for, bytes moved and their paths, why they did not go by GPUDirect Storage, and the error. A
 * program passes it to a call, which fills it; a request without one costs nothing more.
 *
 * <pre>{@code
 * IoResult result = new IoResult();
 * handle.read(memory, memory.length(), 0, 0, result);
 * System.out.println(result.moved() + " bytes by " + result.bytesByPath());
 * }</pre>
 *
 * <p>
 * One request at a time fills it; the next one clears it. Read it once the request is over: the call has returned, the future is complete,
 * a caller has the completion of the batch, or the stream has passed the operation. The request of a cancelled future may go on for a while.
 *
 * @since 0.1
 */
@Experimental
public final class IoResult {
    private static final IoPath[] PATHS = IoPath.values();

    private final AtomicLongArray bytes = new AtomicLongArray(PATHS.length);
    private final ResultSink sink = new Counts();
    private volatile long asked;
    private volatile long moved;
    private volatile @Nullable CuFileException error;

    /** Makes the error when a program asks for it; null if there is none, or if it is made. */
    private volatile @Nullable Supplier<CuFileException> failure;

    private volatile boolean gpu;
    private final AtomicBoolean busy = new AtomicBoolean();

    /** Number of requests that have begun to fill it. */
    private volatile int requests;

    /** The file whose reason {@link #fileReason} is. */
    private @Nullable BackendFile file;
    private volatile String fileReason = "";

    /** Counts the bytes of each path. */
    private final class Counts implements ResultSink {
        @Override
        public void moved(IoPath path, long fileOffset, long count) {
            bytes.addAndGet(path.ordinal(), count);
        }

        @Override
        public void begin(long fileOffset, long size) {
            for (int i = 0; i < PATHS.length; i++) {
                bytes.set(i, 0);
            }
        }
    }

    /** Creates a report of no request. */
    public IoResult() {
        // all is 0
    }

    /** {@return bytes that the request asked for} */
    public long asked() {
        return asked;
    }

    /**
     * Returns the contiguous bytes that were moved.
     *
     * @return bytes from the start of the request; less than {@link #asked} at the end of a file and after an error, 0 after one of a batch
     *         or a stream
     */
    public long moved() {
        return moved;
    }

    /** {@return true if the request moved all bytes that it asked for} */
    public boolean isComplete() {
        return !hasFailed() && moved == asked;
    }

    /**
     * Returns the bytes that took a path. A byte that the backend moved twice counts twice. After an error, bytes behind the first gap count, too.
     *
     * @param path the path
     * @return bytes
     */
    public long bytes(IoPath path) {
        return bytes.get(path.ordinal());
    }

    /** {@return the bytes of each path that took some, as {@link #bytes} counts them; a new map} */
    public Map<IoPath, Long> bytesByPath() {
        Map<IoPath, Long> all = new EnumMap<>(IoPath.class);
        for (IoPath path : PATHS) {
            long count = bytes(path);
            if (count > 0) {
                all.put(path, count);
            }
        }
        return Collections.unmodifiableMap(all);
    }

    /** {@return the path that took most bytes; empty if none were moved} */
    public Optional<IoPath> path() {
        IoPath most = null;
        for (IoPath path : PATHS) {
            if (bytes(path) > (most == null ? 0 : bytes(most))) {
                most = path;
            }
        }
        return Optional.ofNullable(most);
    }

    /**
     * Returns why bytes did not go by GPUDirect Storage.
     *
     * @return a clause for users; empty if all bytes did, or none were moved
     */
    public Optional<String> whyNotDirect() {
        boolean direct = false;
        for (IoPath path : PATHS) {
            if (!path.isDirect() && bytes(path) > 0) {
                return Optional.of(gpu ? fileReason : "the memory is the host's; " + fileReason);
            }
            direct |= bytes(path) > 0;
        }
        // libcufile has one path for a file, whatever the memory.
        return direct && !gpu ? Optional.of("the memory is the host's") : Optional.empty();
    }

    /** {@return what the request threw; empty if it succeeded} */
    public Optional<CuFileException> error() {
        Supplier<CuFileException> unmade = failure;
        if (unmade != null) {
            error = unmade.get();
            failure = null;
        }
        return Optional.ofNullable(error);
    }

    boolean hasFailed() {
        return error != null || failure != null;
    }

    ResultSink sink() {
        return sink;
    }

    /**
     * Clears it for a request, which {@link #over} ends.
     *
     * @throws CuFileException INVALID_VALUE while another request fills it
     */
    void begin(RequestCheck request) {
        if (!take()) {
            throw request.invalid("another request fills this report");
        }
        clear(request.size());
    }

    private boolean take() {
        return !busy.getAndSet(true);
    }

    /** Returns the number of the request that fills it. */
    int request() {
        return requests;
    }

    /** Keeps it from other requests until {@link #over}, for one that was over; returns false if another one has begun since. */
    boolean takeAgain(int request) {
        if (!take()) {
            return false;
        }
        if (requests != request) {
            over();
            return false;
        }
        return true;
    }

    /** Another request may use it. */
    void over() {
        busy.set(false);
    }

    void clear(long size) {
        requests++;
        for (int i = 0; i < PATHS.length; i++) {
            bytes.setPlain(i, 0);
        }
        moved = 0;
        error = null;
        failure = null;
        asked = Math.max(0, size);
    }

    /** Corrects the number of bytes: a stream has bound the size of its operation. */
    void asked(long size) {
        asked = size;
    }

    /**
     * Tells what the request uses.
     *
     * @param ofGpu whether bytes go to or come from GPU memory
     */
    void about(BackendFile served, boolean ofGpu) {
        gpu = ofGpu;
        if (!served.equals(file)) {
            file = served;
            fileReason = served.ioPath().reason();
        }
    }

    /** Sets the bytes that a request moved. */
    void end(long count) {
        moved = count;
    }

    /** Sets what a request used, and the bytes that it moved. */
    void end(long count, BackendFile served, boolean ofGpu) {
        about(served, ofGpu);
        end(count);
    }

    /** Notes what the request threw. A defect, or an exhausted heap, is an error of the report, too: without one it tells of the end of a file. */
    void fail(RequestCheck request, Throwable thrown) {
        if (thrown instanceof CuFileException known) {
            failAfter(Math.max(0, known.bytesTransferred()), known);
        } else {
            failLater(0,
                    () -> request.failure(CuFileError.INTERNAL_ERROR).detail(thrown.toString()).cause(thrown).build());
        }
    }

    void failAfter(long count, CuFileException thrown) {
        moved = count;
        error = thrown;
    }

    /** Notes a failure whose exception is made when a program asks for it. Allocates nothing. */
    void failLater(long count, Supplier<CuFileException> thrown) {
        moved = count;
        failure = thrown;
    }

    @Override
    public String toString() {
        return "IoResult[%s of %s bytes, %s%s]".formatted(
                moved, asked, bytesByPath(), error().map(e -> ", " + e.getMessage()).orElse(""));
    }
}
