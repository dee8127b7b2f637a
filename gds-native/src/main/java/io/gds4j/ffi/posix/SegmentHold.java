package io.gds4j.ffi.posix;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.jspecify.annotations.Nullable;

/**
 * Keeps a segment's arena open while work uses its raw address, also on other threads: closing the arena fails meanwhile.
 *
 * <p>
 * Java holds an arena open only during a native call that takes the segment. So the work runs within such a call: {@code bsearch} over
 * one element, with the segment as its key and the work as its comparison. The comparison reads neither key nor element. A virtual
 * thread cannot unmount meanwhile.
 */
public final class SegmentHold {
    private static final Linkage LIBC = Linkage.ofLibc();
    private static final MethodHandle BSEARCH = LIBC.function(
            "bsearch", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    private static final long ANY_ADDRESS = 8;

    /** Made of classes of the JDK only: the stub stays, and would keep the class loader of its code. */
    private static final class Comparison {
        static final ThreadLocal<Runnable> CURRENT = new ThreadLocal<>();
        static final MemorySegment STUB = stub();

        private static MemorySegment stub() {
            try {
                MethodHandles.Lookup lookup = MethodHandles.publicLookup();
                MethodHandle current = lookup.findVirtual(ThreadLocal.class, "get", MethodType.methodType(Object.class))
                        .bindTo(CURRENT)
                        .asType(MethodType.methodType(Runnable.class));
                MethodHandle run = lookup.findVirtual(Runnable.class, "run", MethodType.methodType(void.class));
                MethodHandle equal = MethodHandles.filterReturnValue(
                        MethodHandles.collectArguments(run, 0, current), MethodHandles.zero(int.class));
                FunctionDescriptor type = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG);
                return Linker.nativeLinker().upcallStub(
                        MethodHandles.dropArguments(equal, 0, long.class, long.class), type, Arena.global());
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }
    }

    private final Runnable work;
    private @Nullable Throwable thrown;

    private SegmentHold(Runnable work) {
        this.work = work;
    }

    /**
     * Runs work on this thread while the segment's arena is held open, and rethrows what it throws.
     *
     * @param segment native memory that this thread may access
     * @throws IllegalStateException if the arena is closed already
     * @throws WrongThreadException if it is confined to another thread
     */
    public static void during(MemorySegment segment, Runnable work) {
        if (LIBC.problem().isPresent()) {
            throw Linkage.failure(LIBC.problem().get());
        }
        SegmentHold hold = new SegmentHold(work);
        Runnable outer = Comparison.CURRENT.get();
        Comparison.CURRENT.set(hold::compare);
        try {
            long found = (long) BSEARCH.invokeExact(segment, ANY_ADDRESS, 1L, 1L, Comparison.STUB);
            assert found == ANY_ADDRESS;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        } finally {
            if (outer == null) {
                Comparison.CURRENT.remove();
            } else {
                Comparison.CURRENT.set(outer);
            }
        }
        if (hold.thrown != null) {
            throw Linkage.rethrow(hold.thrown);
        }
    }

    /** The comparison of bsearch. An exception that left it would end the process. */
    private void compare() {
        try {
            work.run();
        } catch (Throwable t) {
            thrown = t;
        }
    }
}
