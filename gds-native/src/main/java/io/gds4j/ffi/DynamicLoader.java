package io.gds4j.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** Opens shared libraries for the rest of the process, and can say why one does not open: the JDK's lookup cannot. */
public final class DynamicLoader {
    /** What came of opening a library. */
    public sealed interface Result {
    }

    /** Its symbols; it is never unloaded. */
    public record Loaded(SymbolLookup symbols) implements Result {
    }

    /** Why it did not open, in the dynamic linker's words. */
    public record NotLoaded(String reason) implements Result {
    }

    /** Why nothing can be opened from this JVM at all; says what to do about it. */
    public record Unlinked(String reason) implements Result {
    }

    private static final Linkage LIBC = Linkage.ofLibc();
    private static final MethodHandle DLOPEN =
            LIBC.function("dlopen", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT));
    private static final MethodHandle DLERROR = LIBC.function("dlerror", FunctionDescriptor.of(JAVA_LONG));

    private static final int RTLD_LAZY = 1;
    private static final long LONGEST_REASON = 4096;

    private DynamicLoader() {
    }

    /** Opens a library by its name or path; never throws. */
    public static Result open(String library) {
        if (LIBC.problem().isPresent()) {
            return new Unlinked(LIBC.problem().get());
        }
        if (!CString.isRepresentable(library)) {
            return new NotLoaded("the name of the library holds a NUL");
        }
        try (Arena arena = Arena.ofConfined()) {
            long handle = (long) DLOPEN.invokeExact(CString.ofFileName(arena, library), RTLD_LAZY);
            if (handle == 0) {
                return new NotLoaded(CString.at((long) DLERROR.invokeExact(), LONGEST_REASON));
            }
            // The JDK opens it once more; the first handle stays open, too.
            return new Loaded(SymbolLookup.libraryLookup(library, Arena.global()));
        } catch (IllegalArgumentException e) {
            return new NotLoaded(String.valueOf(e.getMessage()));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }
}
