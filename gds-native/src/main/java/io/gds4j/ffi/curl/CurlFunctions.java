package io.gds4j.ffi.curl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.CString;
import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The functions of libcurl that we call, and OpenSSL's that prepares it. Linked at the first use. */
final class CurlFunctions {
    /** The oldest version: it takes certificates from memory. */
    private static final int MIN_MINOR = 77;
    private static final Pattern VERSION = Pattern.compile("libcurl/(\\d+)\\.(\\d+).* OpenSSL/([13])\\.(\\d+).*");
    private static final long MAX_TEXT = 1024;
    private static final long GLOBAL_DEFAULT = 3;
    /** OpenSSL must not free what the threads of a program that exits still use. */
    private static final long NO_ATEXIT = 0x00080000;

    private static final Linker.Option VARIADIC = Linker.Option.firstVariadicArg(2);
    private static final DynamicLoader.Result LIBRARY = DynamicLoader.open("libcurl.so.4");
    private static final Linkage CURL = new Linkage(
            "libcurl", symbols(),
            (address, type, options) -> Linker.nativeLinker().downcallHandle(address, type, options));
    private static final MethodHandle VERSION_TEXT = CURL.function("curl_version", FunctionDescriptor.of(JAVA_LONG));
    private static final MethodHandle GLOBAL_INIT =
            CURL.function("curl_global_init", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));

    static final MethodHandle EASY_INIT = CURL.function("curl_easy_init", FunctionDescriptor.of(JAVA_LONG));
    static final MethodHandle EASY_CLEANUP = CURL.function("curl_easy_cleanup", FunctionDescriptor.ofVoid(JAVA_LONG));
    static final MethodHandle EASY_SETOPT = CURL.function(
            "curl_easy_setopt", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), VARIADIC);
    static final MethodHandle EASY_GETINFO = CURL.function(
            "curl_easy_getinfo", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS), VARIADIC);
    static final MethodHandle EASY_PAUSE =
            CURL.function("curl_easy_pause", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    static final MethodHandle EASY_STRERROR =
            CURL.function("curl_easy_strerror", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
    static final MethodHandle SHARE_INIT = CURL.function("curl_share_init", FunctionDescriptor.of(JAVA_LONG));
    static final MethodHandle SHARE_SETOPT = CURL.function(
            "curl_share_setopt", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), VARIADIC);
    static final MethodHandle SHARE_CLEANUP =
            CURL.function("curl_share_cleanup", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    static final MethodHandle MULTI_INIT = CURL.function("curl_multi_init", FunctionDescriptor.of(JAVA_LONG));
    static final MethodHandle MULTI_CLEANUP =
            CURL.function("curl_multi_cleanup", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    static final MethodHandle MULTI_SETOPT = CURL.function(
            "curl_multi_setopt", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), VARIADIC);
    static final MethodHandle MULTI_ADD =
            CURL.function("curl_multi_add_handle", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    static final MethodHandle MULTI_REMOVE =
            CURL.function("curl_multi_remove_handle", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    static final MethodHandle MULTI_PERFORM =
            CURL.function("curl_multi_perform", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
    static final MethodHandle MULTI_POLL = CURL.function(
            "curl_multi_poll",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG));
    static final MethodHandle MULTI_WAKEUP =
            CURL.function("curl_multi_wakeup", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    static final MethodHandle MULTI_INFO_READ =
            CURL.function("curl_multi_info_read", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS));

    private static final Optional<String> PROBLEM = start();

    private CurlFunctions() {
    }

    /** Returns why libcurl cannot be used. */
    static Optional<String> problem() {
        return PROBLEM;
    }

    /** Returns the functions of libcurl, and of the libraries that it uses itself. */
    static SymbolLookup symbols() {
        return LIBRARY instanceof DynamicLoader.Loaded loaded ? loaded.symbols() : name -> Optional.empty();
    }

    private static Optional<String> start() {
        if (LIBRARY instanceof DynamicLoader.NotLoaded not) {
            return Optional.of(not.reason());
        }
        if (LIBRARY instanceof DynamicLoader.Unlinked unlinked) {
            return Optional.of(unlinked.reason());
        }
        if (CURL.problem().isPresent()) {
            return CURL.problem();
        }
        try {
            String version = version();
            Optional<String> unfit = unfit(version);
            if (unfit.isPresent()) {
                return unfit;
            }
            Matcher openssl = VERSION.matcher(version);
            boolean known = openssl.matches() && keepsOpenSsl(openssl.group(3).equals("3") ? "3" : "1.1");
            if (!known) {
                return Optional.of(version + " without its libcrypto");
            }
            if (CurlTls.problem().isPresent()) {
                return CurlTls.problem();
            }
            int result = (int) GLOBAL_INIT.invokeExact(GLOBAL_DEFAULT);
            return result == 0 ? Optional.empty() : Optional.of("curl_global_init answers " + result);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Returns the version of libcurl and of the libraries that it uses. */
    static String version() {
        try {
            return CString.at((long) VERSION_TEXT.invokeExact(), MAX_TEXT);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Returns why a version is not used: it is too old, or its TLS library may not survive the exit of the process. */
    static Optional<String> unfit(String version) {
        Matcher matcher = VERSION.matcher(version);
        if (!matcher.matches()) {
            return Optional.of("no libcurl with OpenSSL: " + version);
        }
        int major = Integer.parseInt(matcher.group(1));
        boolean tooOld = major < 7 || major == 7 && Integer.parseInt(matcher.group(2)) < MIN_MINOR;
        boolean tooOldTls = matcher.group(3).equals("1") && Integer.parseInt(matcher.group(4)) < 1;
        return tooOld || tooOldTls ? Optional.of("too old: " + version) : Optional.empty();
    }

    private static boolean keepsOpenSsl(String version) throws Throwable {
        if (!(DynamicLoader.open("libcrypto.so." + version) instanceof DynamicLoader.Loaded crypto)) {
            return false;
        }
        SymbolLookup symbols = crypto.symbols();
        Optional<MemorySegment> init = symbols.find("OPENSSL_init_crypto");
        if (init.isEmpty()) {
            return false;
        }
        MethodHandle call = Linker.nativeLinker().downcallHandle(
                init.get(), FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
        return (int) call.invokeExact(NO_ATEXIT, 0L) == 1;
    }
}
