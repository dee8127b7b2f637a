package io.gds4j.ffi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Links the functions of one C library for a class that keeps the handles in static final fields. Linking never throws, so that the
 * class always initialises. {@link #problem()} reports all failures at once.
 *
 * <p>
 * Three failures have a message each: a symbol is missing, the program was started without native access, or this platform has no
 * linker. Not thread-safe: made for a static initialiser.
 */
public final class Linkage {
    /** Makes a handle of a function: {@link Linker#downcallHandle}, or the double of a test. */
    @FunctionalInterface
    public interface Downcalls {
        /** As {@link Linker#downcallHandle(MemorySegment, FunctionDescriptor, Linker.Option...)}. */
        MethodHandle link(MemorySegment address, FunctionDescriptor type, Linker.Option... options);
    }

    /**
     * The type of any function whose parameters are up to six integers or pointers. A new JVM needs 5 to 20 ms for each type that it
     * meets first, which is longer than the calls of a short process. On Linux, x86-64 and AArch64 pass integers and pointers in
     * registers of 64 bits, also the variable ones of {@code open} or {@code syscall}: a function ignores registers behind its parameters,
     * and the upper half of one that holds an int. So an int is passed as a long, a pointer as its address, and 0 for what is left. The
     * result of a function that returns an int is the lower half. The caller keeps the memory of its pointers open.
     */
    public static final FunctionDescriptor WORDS =
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

    /** The linker of this JVM. A reference to its restricted method would make classes that bind the caller, which takes milliseconds. */
    private record Native(Linker linker) implements Downcalls {
        @Override
        public MethodHandle link(MemorySegment address, FunctionDescriptor type, Linker.Option... options) {
            return linker.downcallHandle(address, type, options);
        }
    }

    /** Most processes refuse no function. */
    private static final class Refusal {
        static final MethodHandle HANDLE = refuse();
    }

    private final String library;
    private final @Nullable SymbolLookup lookup;
    private final @Nullable Downcalls downcalls;
    private final List<String> missing = new ArrayList<>();
    private @Nullable String refusal;

    /** Links functions that {@code lookup} finds; {@code library} is the name for messages. */
    public Linkage(String library, SymbolLookup lookup, Downcalls downcalls) {
        this.library = library;
        this.lookup = lookup;
        this.downcalls = downcalls;
    }

    private Linkage(String library, String refusal) {
        this.library = library;
        this.lookup = null;
        this.downcalls = null;
        this.refusal = refusal;
    }

    /**
     * Returns what links functions of a native library.
     *
     * @throws UnsupportedOperationException if this platform has no linker
     */
    public static Downcalls downcalls() {
        return new Native(Linker.nativeLinker());
    }

    /** Links libc by the linker's own lookup: other libraries of the process must not take its place. */
    public static Linkage ofLibc() {
        // a + would link itself, while cuInit waits for this
        String system = System.getProperty("os.name").concat(" ").concat(System.getProperty("os.arch"));
        try {
            return ofLibc(
                    system, ValueLayout.ADDRESS.byteSize(), Linker.nativeLinker().defaultLookup(), downcalls());
        } catch (UnsupportedOperationException e) {
            return new Linkage("libc", noLinker());
        }
    }

    /**
     * Links libc, or refuses a platform that the layouts of structs do not fit.
     *
     * @param system operating system and architecture
     * @param addressBytes size of an address
     */
    static Linkage ofLibc(String system, long addressBytes, SymbolLookup lookup, Downcalls downcalls) {
        if (!system.startsWith("Linux")) {
            return new Linkage("libc", "the driver needs Linux, this is " + system);
        }
        if (addressBytes != Long.BYTES) {
            return new Linkage("libc", "gds4j needs a 64-bit JVM, this one has %s bits (%s): install a 64-bit JDK"
                    .formatted(addressBytes * Byte.SIZE, system));
        }
        // musl lacks the function; CUDA and libcufile need glibc, too.
        if (lookup.find("gnu_get_libc_version").isEmpty()) {
            return new Linkage("libc",
                    "gds4j needs glibc, this JVM runs on another C library, such as musl of Alpine Linux:"
                            + " use an image based on glibc, such as Debian, Ubuntu or UBI");
        }
        return new Linkage("libc", lookup, downcalls);
    }

    /** Returns the handle of a function; if it cannot be linked, a handle that throws. */
    public MethodHandle function(String name, FunctionDescriptor type, Linker.Option... options) {
        MethodType shape = shape(type, options);
        if (lookup == null || downcalls == null || refusal != null) {
            return refusing(shape);
        }
        Optional<MemorySegment> symbol = lookup.find(name);
        if (symbol.isEmpty()) {
            missing.add(name);
            return refusing(shape);
        }
        try {
            return downcalls.link(symbol.get(), type, options);
        } catch (IllegalCallerException e) {
            refusal = noAccess(Linkage.class.getModule());
        } catch (UnsupportedOperationException e) {
            refusal = noLinker();
        }
        return refusing(shape);
    }

    /** Calls a function of the type {@link #WORDS} that has one parameter or none. */
    public static long call(MethodHandle function, long a) {
        return call(function, a, 0, 0, 0, 0, 0);
    }

    /** Calls a function of the type {@link #WORDS} that has up to three parameters. */
    public static long call(MethodHandle function, long a, long b, long c) {
        return call(function, a, b, c, 0, 0, 0);
    }

    /** Calls a function of the type {@link #WORDS}. */
    public static long call(MethodHandle function, long a, long b, long c, long d, long e, long f) {
        try {
            return (long) function.invokeExact(a, b, c, d, e, f);
        } catch (Throwable t) {
            throw rethrow(t);
        }
    }

    /** Returns the address of a function for C code to call; 0 if there is none. */
    public long address(String name) {
        Optional<MemorySegment> symbol = lookup == null ? Optional.empty() : lookup.find(name);
        if (lookup != null && symbol.isEmpty()) {
            missing.add(name);
        }
        return symbol.map(MemorySegment::address).orElse(0L);
    }

    /** Returns why the library cannot be used; empty if every function was linked. */
    public Optional<String> problem() {
        if (refusal != null) {
            return Optional.of(refusal);
        }
        if (!missing.isEmpty()) {
            return Optional.of(library + " of this system lacks " + String.join(", ", missing));
        }
        return Optional.empty();
    }

    /** Returns the exception for {@link #problem()}. */
    public static CuFileException failure(String problem) {
        return CuFileException.of(CuFileError.PLATFORM_NOT_SUPPORTED, "gds4j", problem);
    }

    /** Returns the message that names the option for native access of the given module. */
    public static String noAccess(Module module) {
        String grantee = module.isNamed() ? module.getName() : "ALL-UNNAMED";
        return "native access is denied: start java with --enable-native-access=" + grantee;
    }

    /** Rethrows what a handle threw: unchecked throwables as they are; others are impossible. */
    public static RuntimeException rethrow(Throwable thrown) {
        if (thrown instanceof RuntimeException unchecked) {
            return unchecked;
        }
        if (thrown instanceof Error error) {
            throw error;
        }
        throw new AssertionError(thrown);
    }

    private static String noLinker() {
        return "this JVM has no native linker for " + System.getProperty("os.name") + " "
                + System.getProperty("os.arch");
    }

    private static MethodType shape(FunctionDescriptor type, Linker.Option... options) {
        MethodType shape = type.toMethodType();
        for (Linker.Option option : options) {
            if (option.equals(CallState.CAPTURE_ERRNO)) {
                shape = shape.insertParameterTypes(0, MemorySegment.class);
            }
        }
        return shape;
    }

    private MethodHandle refusing(MethodType shape) {
        MethodHandle thrower = MethodHandles.throwException(shape.returnType(), CuFileException.class);
        MethodHandle made = MethodHandles.filterReturnValue(Refusal.HANDLE.bindTo(this), thrower);
        return MethodHandles.dropArguments(made, 0, shape.parameterList());
    }

    private CuFileException refused() {
        return failure(problem().orElse(library + " was not linked"));
    }

    private static MethodHandle refuse() {
        try {
            return MethodHandles.lookup()
                    .findVirtual(Linkage.class, "refused", MethodType.methodType(CuFileException.class));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
