package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.ResultSink;
import io.gds4j.statistics.IoPath;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLongArray;
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
 * One request at a time fills it; the next one clears it. It may be read by the thread that made the call, once the call is over.
 *
 * @since 0.1
 */
@Experimental
public final class IoResult {
    private static final IoPath[] PATHS = IoPath.values();

    private final AtomicLongArray bytes = new AtomicLongArray(PATHS.length);
    private final ResultSink sink = (path, fileOffset, count) -> bytes.addAndGet(path.ordinal(), count);
    private volatile long asked;
    private volatile long moved;
    private volatile @Nullable CuFileException error;
    private volatile boolean gpu;

    /** The file whose reason {@link #fileReason} is. */
    private @Nullable BackendFile file;
    private volatile String fileReason = "";

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
     * @return bytes from the start of the request; less than {@link #asked} at the end of a file and after an error
     */
    public long moved() {
        return moved;
    }

    /** {@return true if the request moved all bytes that it asked for} */
    public boolean isComplete() {
        return error == null && moved == asked;
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
        return Optional.ofNullable(error);
    }

    ResultSink sink() {
        return sink;
    }

    /** Clears it for a request. */
    void begin(long size) {
        for (int i = 0; i < PATHS.length; i++) {
            bytes.setPlain(i, 0);
        }
        moved = 0;
        error = null;
        asked = size;
    }

    /**
     * Ends a request.
     *
     * @param ofGpu whether bytes went to or came from GPU memory
     */
    void end(long count, BackendFile served, boolean ofGpu) {
        gpu = ofGpu;
        if (!served.equals(file)) {
            file = served;
            fileReason = served.ioPath().reason();
        }
        moved = count;
    }

    /** Notes what the request threw. */
    void fail(CuFileException thrown) {
        failAfter(Math.max(0, thrown.bytesTransferred()), thrown);
    }

    void failAfter(long count, CuFileException thrown) {
        moved = count;
        error = thrown;
    }

    @Override
    public String toString() {
        return "IoResult[%s of %s bytes, %s%s]".formatted(
                moved, asked, bytesByPath(), error().map(e -> ", " + e.getMessage()).orElse(""));
    }
}
