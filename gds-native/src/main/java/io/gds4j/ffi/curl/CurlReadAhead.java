package io.gds4j.ffi.curl;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import io.gds4j.ffi.NativeSegments;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Lets OpenSSL take several records of TLS from the socket at a time: without it, each record takes two calls of the kernel. Libcurl
 * does not know of the records that OpenSSL holds, and would wait for the socket instead. So {@link CurlWire} asks here before it waits.
 */
final class CurlReadAhead {
    /** Longer ones gain nothing, and glibc maps them from 128 KiB on. */
    private static final long BUFFER_BYTES = 64 << 10;
    /** SSL_CTRL_SET_READ_AHEAD. */
    private static final int SET_READ_AHEAD = 41;
    /** CURLINFO_TLS_SSL_PTR: a struct curl_tlssessioninfo, which has the connection of OpenSSL. */
    private static final int INFO_TLS = 0x400000 + 45;
    private static final long TLS_CONNECTION = 8;
    /** SSL_NOTHING: the last call of the connection did not lack bytes. */
    private static final int WANTS_NOTHING = 1;
    private static final int PAUSE_RECEIVING = 1;
    private static final int PAUSE_NOTHING = 0;

    private static final Linkage OPENSSL = new Linkage(
            "the OpenSSL of libcurl", CurlFunctions.symbols(),
            (address, type, options) -> Linker.nativeLinker().downcallHandle(address, type, options));
    private static final MethodHandle CONTROL = OPENSSL.function("SSL_CTX_ctrl", Linkage.WORDS);
    private static final MethodHandle SET_BUFFER =
            OPENSSL.function("SSL_CTX_set_default_read_buffer_len", Linkage.WORDS);
    private static final MethodHandle HAS_PENDING =
            OPENSSL.function("SSL_has_pending", Linkage.WORDS);
    private static final MethodHandle WANT = OPENSSL.function("SSL_want", Linkage.WORDS);

    private CurlReadAhead() {
    }

    /** Prepares the context of a new connection. */
    static void enable(long context) {
        if (OPENSSL.problem().isEmpty()) {
            long result = Linkage.call(CONTROL, context, SET_READ_AHEAD, 1, 0, 0, 0);
            Linkage.call(SET_BUFFER, context, BUFFER_BYTES, 0);
        }
    }

    /**
     * Lets libcurl read a connection again without a wait if OpenSSL may hold a whole record. A part of one does not count: the last call
     * wanted more then.
     *
     * @param out room for a result
     * @return whether libcurl will read
     */
    static boolean resumes(long easy, MemorySegment out) {
        long connection = OPENSSL.problem().isEmpty() ? connection(easy, out) : 0;
        if (connection == 0 || (int) Linkage.call(HAS_PENDING, connection) == 0
                || (int) Linkage.call(WANT, connection) != WANTS_NOTHING) {
            return false;
        }
        // The end of a pause makes libcurl read whether the socket has bytes or not.
        int paused = (int) Linkage.call(CurlFunctions.EASY_PAUSE, easy, PAUSE_RECEIVING, 0);
        int resumed = (int) Linkage.call(CurlFunctions.EASY_PAUSE, easy, PAUSE_NOTHING, 0);
        return paused == 0 && resumed == 0;
    }

    private static long connection(long easy, MemorySegment out) {
        int got = (int) Linkage.call(CurlFunctions.EASY_GETINFO, easy, INFO_TLS, out.address());
        long info = got == 0 ? out.get(JAVA_LONG, 0) : 0;
        return info == 0 ? 0
                : NativeSegments.of(info, TLS_CONNECTION + Long.BYTES).get(JAVA_LONG, TLS_CONNECTION);
    }
}
