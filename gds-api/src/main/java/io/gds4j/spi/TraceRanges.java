package io.gds4j.spi;

import io.gds4j.statistics.IoPath;
import java.lang.System.Logger.Level;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/**
 * The ranges of this process for a profiler. A process without one pays nothing: the switch is a constant for the compiler.
 *
 * <pre>{@code
 * long range = TraceRanges.ACTIVE ? TraceRanges.begin(TracedOperation.READ, path, bytes) : 0;
 * try {
 *     move();
 * } finally {
 *     if (TraceRanges.ACTIVE) {
 *         TraceRanges.end(range);
 *     }
 * }
 * }</pre>
 *
 * @since 0.1
 */
public final class TraceRanges {
    /** The environment variable by which profilers such as Nsight Systems name their library. */
    public static final String VARIABLE = "NVTX_INJECTION64_PATH";

    /** Records nothing. */
    private static final class Nothing implements RangeTracer {
        @Override
        public boolean attach() {
            return true;
        }

        @Override
        public long begin(TracedOperation operation, String detail, int category, long bytes) {
            return 0;
        }

        @Override
        public void end(long range) {
            // There is no profiler.
        }
    }

    private static final RangeTracer TRACER = find();

    /** True if a profiler is attached. It stays so until the process ends. */
    public static final boolean ACTIVE = !(TRACER instanceof Nothing);

    private TraceRanges() {
    }

    private static RangeTracer find() {
        String library = System.getenv(VARIABLE);
        if (library == null || library.isEmpty()) {
            return new Nothing();
        }
        try {
            for (RangeTracer tracer : ServiceLoader.load(RangeTracer.class, RangeTracer.class.getClassLoader())) {
                if (tracer.attach()) {
                    return tracer;
                }
            }
        } catch (ServiceConfigurationError | LinkageError e) {
            System.getLogger("io.gds4j").log(Level.WARNING, "no profiler is attached", e);
        }
        return new Nothing();
    }

    /**
     * Begins a range of a request.
     *
     * @param operation what begins
     * @param path the I/O path, which becomes the category
     * @param bytes bytes that the program asked for
     * @return the range, for {@link #end}
     */
    public static long begin(TracedOperation operation, IoPath path, long bytes) {
        return TRACER.begin(operation, "", path.ordinal() + 1, bytes);
    }

    /**
     * Begins the range of a load.
     *
     * @param file the file or folder
     * @param bytes bytes of all tensors
     * @return the range, for {@link #end}
     */
    public static long beginLoad(String file, long bytes) {
        return TRACER.begin(TracedOperation.LOAD, file, RangeTracer.NO_CATEGORY, bytes);
    }

    /**
     * Ends a range.
     *
     * @param range from {@link #begin} or {@link #beginLoad}
     */
    public static void end(long range) {
        TRACER.end(range);
    }
}
