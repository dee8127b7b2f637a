package io.gds4j.ffi.curl;

import io.gds4j.ffi.CString;
import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.Linker;
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

    private static final DynamicLoader.Result LIBRARY = DynamicLoader.open("libcurl.so.4");
    private static final Linkage CURL = new Linkage(
            "libcurl", symbols(),
            (address, type, options) -> Linker.nativeLinker().downcallHandle(address, type, options));
    private static final MethodHandle VERSION_TEXT = CURL.function("curl_version", Linkage.WORDS);
    private static final MethodHandle GLOBAL_INIT =
            CURL.function("curl_global_init", Linkage.WORDS);

    static final MethodHandle EASY_INIT = CURL.function("curl_easy_init", Linkage.WORDS);
    static final MethodHandle EASY_CLEANUP = CURL.function("curl_easy_cleanup", Linkage.WORDS);
    static final MethodHandle EASY_SETOPT = CURL.function("curl_easy_setopt", Linkage.WORDS);
    static final MethodHandle EASY_GETINFO = CURL.function("curl_easy_getinfo", Linkage.WORDS);
    static final MethodHandle EASY_PAUSE =
            CURL.function("curl_easy_pause", Linkage.WORDS);
    static final MethodHandle EASY_STRERROR =
            CURL.function("curl_easy_strerror", Linkage.WORDS);
    static final MethodHandle SHARE_INIT = CURL.function("curl_share_init", Linkage.WORDS);
    static final MethodHandle SHARE_SETOPT = CURL.function("curl_share_setopt", Linkage.WORDS);
    static final MethodHandle SHARE_CLEANUP =
            CURL.function("curl_share_cleanup", Linkage.WORDS);
    static final MethodHandle MULTI_INIT = CURL.function("curl_multi_init", Linkage.WORDS);
    static final MethodHandle MULTI_CLEANUP =
            CURL.function("curl_multi_cleanup", Linkage.WORDS);
    static final MethodHandle MULTI_SETOPT = CURL.function("curl_multi_setopt", Linkage.WORDS);
    static final MethodHandle MULTI_ADD =
            CURL.function("curl_multi_add_handle", Linkage.WORDS);
    static final MethodHandle MULTI_REMOVE =
            CURL.function("curl_multi_remove_handle", Linkage.WORDS);
    static final MethodHandle MULTI_PERFORM =
            CURL.function("curl_multi_perform", Linkage.WORDS);
    static final MethodHandle MULTI_POLL = CURL.function("curl_multi_poll", Linkage.WORDS);
    static final MethodHandle MULTI_WAKEUP =
            CURL.function("curl_multi_wakeup", Linkage.WORDS);
    static final MethodHandle MULTI_INFO_READ =
            CURL.function("curl_multi_info_read", Linkage.WORDS);

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
        int result = (int) Linkage.call(GLOBAL_INIT, GLOBAL_DEFAULT);
        return result == 0 ? Optional.empty() : Optional.of("curl_global_init answers " + result);
    }

    /** Returns the version of libcurl and of the libraries that it uses. */
    static String version() {
        return CString.at(Linkage.call(VERSION_TEXT, 0), MAX_TEXT);
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

    private static boolean keepsOpenSsl(String version) {
        if (!(DynamicLoader.open("libcrypto.so." + version) instanceof DynamicLoader.Loaded crypto)) {
            return false;
        }
        Linkage library = new Linkage("libcrypto", crypto.symbols(), Linkage.downcalls());
        MethodHandle init = library.function("OPENSSL_init_crypto", Linkage.WORDS);
        return library.problem().isEmpty() && (int) Linkage.call(init, NO_ATEXIT, 0, 0) == 1;
    }
}
