package io.gds4j.ffi.curl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Certificates that all connections trust, parsed once: libcurl would parse them again for each connection, which takes 16 ms of a
 * processor for the 145 of a JDK. They go into OpenSSL's store, which connections of all threads share. Thread-safe.
 */
final class CurlTrust {
    /** As libcurl itself: prefer what is trusted, and trust certificates that are no roots. */
    private static final long TRUSTED_FIRST_AND_PARTIAL_CHAINS = 0x8000 | 0x80000;
    private static final byte[] BEGIN = "-----BEGIN CERTIFICATE-----".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] END = "-----END CERTIFICATE-----\n".getBytes(StandardCharsets.US_ASCII);
    private static final int ABORTED = 42;

    /** The functions of the OpenSSL that libcurl itself uses: they are found through libcurl. */
    private static final Linkage OPENSSL = new Linkage(
            "the OpenSSL of libcurl", CurlFunctions.symbols(),
            (address, type, options) -> Linker.nativeLinker().downcallHandle(address, type, options));
    private static final MethodHandle STORE_NEW =
            OPENSSL.function("X509_STORE_new", FunctionDescriptor.of(JAVA_LONG));
    private static final MethodHandle STORE_FREE =
            OPENSSL.function("X509_STORE_free", FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle STORE_ADD =
            OPENSSL.function("X509_STORE_add_cert", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle STORE_FLAGS =
            OPENSSL.function("X509_STORE_set_flags", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle BIO_OF =
            OPENSSL.function("BIO_new_mem_buf", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT));
    private static final MethodHandle BIO_FREE =
            OPENSSL.function("BIO_free", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle READ = OPENSSL.function(
            "PEM_read_bio_X509",
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE = OPENSSL.function("X509_free", FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle CLEAR = OPENSSL.function("ERR_clear_error", FunctionDescriptor.ofVoid());
    private static final MethodHandle USE =
            OPENSSL.function("SSL_CTX_set1_cert_store", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG));

    private static final FunctionDescriptor ON_CONTEXT =
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);

    /** What libcurl calls with the context of a new connection and the store. */
    static final MemorySegment USE_STORE = upcall();

    /** The trust of each list of certificates by its address: a program has one, which lives as long as it does. */
    private static final Map<Long, CurlTrust> KNOWN = new ConcurrentHashMap<>();

    private final MemorySegment first;
    private final long store;

    private CurlTrust(MemorySegment first, long store) {
        this.first = first;
        this.store = store;
    }

    /** Returns the trust in certificates in PEM, which live as long as the program. */
    static CurlTrust of(MemorySegment authorities) {
        return KNOWN.computeIfAbsent(authorities.address(), address -> made(authorities));
    }

    /**
     * Returns what libcurl shall parse itself, in PEM: the first certificate if there is a store. It must have one, and adds it to
     * the store at most.
     */
    MemorySegment blob() {
        return first;
    }

    /** Returns the store for {@link #USE_STORE}; 0 if libcurl has to parse all. */
    long store() {
        return store;
    }

    private static CurlTrust made(MemorySegment authorities) {
        byte[] text = authorities.toArray(ValueLayout.JAVA_BYTE);
        int firstEnd = indexOf(text, END, 0) + END.length;
        if (OPENSSL.problem().isPresent() || firstEnd < END.length) {
            return new CurlTrust(authorities, 0);
        }
        try {
            long store = store(authorities, count(text));
            return new CurlTrust(store == 0 ? authorities : authorities.asSlice(0, firstEnd), store);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Makes a store; 0 if OpenSSL does not take every certificate. */
    private static long store(MemorySegment authorities, int count) throws Throwable {
        long store = (long) STORE_NEW.invokeExact();
        long bio = (long) BIO_OF.invokeExact(authorities, (int) authorities.byteSize());
        int taken = 0;
        if (store != 0 && bio != 0) {
            int set = (int) STORE_FLAGS.invokeExact(store, TRUSTED_FIRST_AND_PARTIAL_CHAINS);
            long certificate = set == 1 ? (long) READ.invokeExact(bio, 0L, 0L, 0L) : 0;
            while (certificate != 0) {
                taken += (int) STORE_ADD.invokeExact(store, certificate);
                FREE.invokeExact(certificate);
                certificate = (long) READ.invokeExact(bio, 0L, 0L, 0L);
            }
        }
        int freed = (int) BIO_FREE.invokeExact(bio);
        // The end of the text is an error, too.
        CLEAR.invokeExact();
        if (taken == count && freed == 1) {
            return store;
        }
        STORE_FREE.invokeExact(store);
        return 0;
    }

    private static int count(byte[] text) {
        int count = 0;
        for (int at = indexOf(text, BEGIN, 0); at >= 0; at = indexOf(text, BEGIN, at + 1)) {
            count++;
        }
        return count;
    }

    private static int indexOf(byte[] text, byte[] wanted, int from) {
        for (int at = from; at <= text.length - wanted.length; at++) {
            if (text[at] == wanted[0] && Arrays.equals(
                    text, at, at + wanted.length, wanted, 0, wanted.length)) {
                return at;
            }
        }
        return -1;
    }

    /** Prepares the context of a new connection for libcurl. An answer other than 0 ends the request. */
    private static int onContext(long easy, long context, long store) {
        try {
            USE.invokeExact(context, store);
            CurlReadAhead.enable(context);
            return 0;
        } catch (Throwable t) {
            return ABORTED;
        }
    }

    private static MemorySegment upcall() {
        try {
            return Linker.nativeLinker().upcallStub(
                    MethodHandles.lookup().findStatic(CurlTrust.class, "onContext", ON_CONTEXT.toMethodType()),
                    ON_CONTEXT, Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
