package io.gds4j.ffi.nvtx;

import io.gds4j.ffi.CallState;
import io.gds4j.spi.RangeTracer;
import io.gds4j.spi.TraceRanges;
import io.gds4j.spi.TracedOperation;
import io.gds4j.statistics.IoPath;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Shows operations in Nsight Systems and other profilers that know NVTX: domain {@code gds4j}, category by I/O path, payload in
 * bytes.
 *
 * <p>
 * Ranges of a platform thread are pushed and popped, so that they nest with those of other libraries. A profiler keeps that stack
 * for each thread of the system: virtual threads, which change theirs, and batches start and end ranges instead.
 */
public final class NvtxTracer implements RangeTracer {
    private static final String DOMAIN = "gds4j";
    /** Stands for a pushed range, which has no id. Ids of NVTX are not negative in practice; the sign bit keeps them apart. */
    private static final long PUSHED = Long.MIN_VALUE;

    private @Nullable Tool tool;

    /** The attached profiler: domain and registered names. */
    private record Tool(NvtxFunctions functions, long domain, long[] names) {
    }

    /** For the service loader. */
    public NvtxTracer() {
        // Attaches later.
    }

    @Override
    public boolean attach() {
        String library = System.getenv(TraceRanges.VARIABLE);
        return library != null && attach(library);
    }

    boolean attach(String library) {
        return switch (NvtxInjection.attach(library)) {
            case NvtxInjection.Refused refused -> {
                System.getLogger("io.gds4j").log(Level.WARNING, "no NVTX ranges: " + refused.reason());
                yield false;
            }
            case NvtxInjection.Attached attached -> {
                tool = tool(attached.functions());
                yield true;
            }
        };
    }

    private static Tool tool(NvtxFunctions functions) {
        long domain = functions.domainCreate(DOMAIN);
        for (IoPath path : IoPath.values()) {
            functions.nameCategory(
                    domain, path.ordinal() + 1, path.name().toLowerCase(Locale.ROOT).replace('_', ' '));
        }
        TracedOperation[] operations = TracedOperation.values();
        long[] names = new long[operations.length];
        for (TracedOperation operation : operations) {
            names[operation.ordinal()] = functions.registerString(domain, operation.label());
        }
        return new Tool(functions, domain, names);
    }

    @Override
    public long begin(TracedOperation operation, String detail, int category, long bytes) {
        Tool attached = tool;
        if (attached == null) {
            return 0;
        }
        long name = attached.names[operation.ordinal()];
        if (detail.isEmpty() && name != 0) {
            return begin(attached, operation, category, bytes, true, name);
        }
        try (Arena arena = Arena.ofConfined()) {
            String text = detail.isEmpty() ? operation.label() : operation.label() + " " + detail.replace('\0', '?');
            return begin(attached, operation, category, bytes, false, arena.allocateFrom(text).address());
        }
    }

    private static long begin(
            Tool attached, TracedOperation operation, int category, long bytes, boolean registered, long message) {
        MemorySegment attributes = CallState.current().scratch().asSlice(0, EventAttributes.LAYOUT.byteSize());
        EventAttributes.write(attributes, category, bytes, registered, message);
        if (operation.crossesThreads() || Thread.currentThread().isVirtual()) {
            return attached.functions.rangeStart(attached.domain, attributes);
        }
        attached.functions.rangePush(attached.domain, attributes);
        return PUSHED;
    }

    @Override
    public void end(long range) {
        Tool attached = tool;
        if (attached == null) {
            return;
        }
        if (range == PUSHED) {
            attached.functions.rangePop(attached.domain);
        } else if (range != 0) {
            attached.functions.rangeEnd(attached.domain, range);
        }
    }
}
