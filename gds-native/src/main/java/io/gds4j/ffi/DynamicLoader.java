package io.gds4j.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** Opens shared libraries for the rest of the process. Unlike the JDK's lookup it reports why a library does not open. */
public final class DynamicLoader {
    /** Result of opening a library. */
    public sealed interface Result {
    }

    /** The library is open. It is never unloaded. */
    public record Loaded(SymbolLookup symbols) implements Result {
    }

    /** The library did not open; the reason is the dynamic linker's message. */
    public record NotLoaded(String reason) implements Result {
    }

    /** This JVM cannot open any library; the reason names the remedy. */
    public record Unlinked(String reason) implements Result {
    }

    private static final Linkage LIBC = Linkage.ofLibc();
    private static final MethodHandle DLOPEN = LIBC.function("dlopen", Linkage.WORDS);
    private static final MethodHandle DLERROR = LIBC.function("dlerror", Linkage.WORDS);

    private static final long RTLD_LAZY = 1;
    private static final long MAX_REASON = 4096;

    private DynamicLoader() {
    }

    /** Opens a library by its name or path; never throws. */
    public static Result open(String library) {
        if (LIBC.problem().isPresent()) {
            return new Unlinked(LIBC.problem().get());
        }
        if (!CString.isRepresentable(library)) {
            return new NotLoaded("the name of the library contains a NUL");
        }
        try (Arena arena = Arena.ofConfined()) {
            long handle = (long) DLOPEN.invokeExact(
                    CString.ofFileName(arena, library).address(), RTLD_LAZY, 0L, 0L, 0L, 0L);
            if (handle == 0) {
                return new NotLoaded(CString.at((long) DLERROR.invokeExact(0L, 0L, 0L, 0L, 0L, 0L), MAX_REASON));
            }
            // The JDK opens it a second time; the first handle stays open, too.
            return new Loaded(SymbolLookup.libraryLookup(library, Arena.global()));
        } catch (IllegalArgumentException e) {
            return new NotLoaded(String.valueOf(e.getMessage()));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }
}
