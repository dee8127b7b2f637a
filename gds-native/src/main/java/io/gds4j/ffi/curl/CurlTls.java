package io.gds4j.ffi.curl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import io.gds4j.internal.http.NativeHttp;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Makes each connection of OpenSSL obey a {@link NativeHttp.Tls}: its versions, cipher suites, groups and signatures replace those of
 * OpenSSL's own configuration, and its judge decides about certificates. Thread-safe.
 */
final class CurlTls {
    private static final int SET_GROUPS = 92;
    private static final int SET_SIGNATURES = 98;
    private static final int SET_LEAST_VERSION = 123;
    private static final int SET_MOST_VERSION = 124;
    /** 112 bits of security: the least of OpenSSL since 3.2 and of most distributions. */
    private static final int LEVEL = 2;
    private static final int OK = 0;
    private static final int ABORTED = 42;
    private static final int VERIFIED = 0;
    private static final int REJECTED = 28;

    /** The functions of the OpenSSL that libcurl itself uses: they are found through libcurl. */
    private static final Linkage OPENSSL = new Linkage(
            "the OpenSSL of libcurl", CurlFunctions.symbols(),
            (address, type, options) -> Linker.nativeLinker().downcallHandle(address, type, options));
    private static final MethodHandle CONTROL = OPENSSL.function("SSL_CTX_ctrl", Linkage.WORDS);
    private static final MethodHandle SUITES = OPENSSL.function("SSL_CTX_set_cipher_list", Linkage.WORDS);
    private static final MethodHandle SUITES_13 = OPENSSL.function("SSL_CTX_set_ciphersuites", Linkage.WORDS);
    private static final MethodHandle CLEAR = OPENSSL.function("ERR_clear_error", Linkage.WORDS);
    private static final MethodHandle GET_LEVEL = OPENSSL.function("SSL_CTX_get_security_level", Linkage.WORDS);
    private static final MethodHandle SET_LEVEL = OPENSSL.function("SSL_CTX_set_security_level", Linkage.WORDS);
    private static final MethodHandle SET_KEY_LOG = OPENSSL.function("SSL_CTX_set_keylog_callback", Linkage.WORDS);
    private static final MethodHandle SET_VERIFY = OPENSSL.function("SSL_CTX_set_cert_verify_callback", Linkage.WORDS);
    private static final MethodHandle CHAIN = OPENSSL.function("X509_STORE_CTX_get0_untrusted", Linkage.WORDS);
    private static final MethodHandle SET_RESULT = OPENSSL.function("X509_STORE_CTX_set_error", Linkage.WORDS);
    private static final MethodHandle COUNT = OPENSSL.function("OPENSSL_sk_num", Linkage.WORDS);
    private static final MethodHandle VALUE = OPENSSL.function("OPENSSL_sk_value", Linkage.WORDS);
    private static final MethodHandle DER = OPENSSL.function("i2d_X509", Linkage.WORDS);

    private static final FunctionDescriptor ON_CONTEXT =
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final FunctionDescriptor ON_CERTIFICATES = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG);

    /** What libcurl calls with the context of a new connection and the handle of the request that opens it. */
    static final MemorySegment PREPARE = upcall("onContext", ON_CONTEXT);
    private static final MemorySegment VERIFY = upcall("onCertificates", ON_CERTIFICATES);

    private CurlTls() {
    }

    /** Returns why OpenSSL cannot be told. */
    static Optional<String> problem() {
        return OPENSSL.problem();
    }

    /** Prepares the context of a new connection. An answer other than 0 ends the request. */
    private static int onContext(long curl, long context, long easy) {
        CurlAnswer answer = CurlAnswer.of(easy);
        try (Arena arena = Arena.ofConfined()) {
            if (answer == null || !obeys(context, answer.tls(), arena)) {
                return ABORTED;
            }
            // A variable of the environment makes libcurl write the secrets of connections to a file.
            Linkage.call(SET_KEY_LOG, context, 0, 0);
            Linkage.call(SET_VERIFY, context, VERIFY.address(), easy);
            CurlReadAhead.enable(context);
            return OK;
        } catch (Throwable t) {
            return ABORTED;
        }
    }

    private static boolean obeys(long context, NativeHttp.Tls tls, Arena arena) {
        int level = (int) Linkage.call(GET_LEVEL, context);
        Linkage.call(SET_LEVEL, context, Math.max(level, LEVEL), 0);
        int suites =
                (int) Linkage.call(SUITES, context, arena.allocateFrom(String.join(":", tls.suites())).address(), 0);
        int suites13 = (int) Linkage.call(SUITES_13, context,
                arena.allocateFrom(String.join(":", tls.suites13())).address(), 0);
        return (suites == 1 || tls.suites().isEmpty()) && suites13 == 1
                && control(context, SET_LEAST_VERSION, tls.least(), MemorySegment.NULL)
                && control(context, SET_MOST_VERSION, tls.most(), MemorySegment.NULL)
                && some(context, SET_GROUPS, tls.groups(), arena)
                && some(context, SET_SIGNATURES, tls.signatures(), arena);
    }

    /** Sets the names that this OpenSSL has: one of FIPS lacks some, and takes no list that names them. */
    private static boolean some(long context, int what, List<String> names, Arena arena) {
        List<String> known = new ArrayList<>();
        for (String name : names) {
            if (control(context, what, 0, arena.allocateFrom(name))) {
                known.add(name);
            }
        }
        Linkage.call(CLEAR, 0);
        return control(context, what, 0, arena.allocateFrom(String.join(":", known)));
    }

    private static boolean control(long context, int what, long number, MemorySegment text) {
        return Linkage.call(CONTROL, context, what, number, text.address(), 0, 0) == 1;
    }

    /** Decides about the certificates of a server, in place of OpenSSL. */
    private static int onCertificates(long store, long easy) {
        try {
            CurlAnswer answer = CurlAnswer.of(easy);
            boolean trusted = answer != null && answer.trusts(chain(store));
            Linkage.call(SET_RESULT, store, trusted ? VERIFIED : REJECTED, 0);
            return trusted ? 1 : 0;
        } catch (Throwable t) {
            return 0;
        }
    }

    private static List<byte[]> chain(long store) {
        List<byte[]> chain = new ArrayList<>();
        long stack = Linkage.call(CHAIN, store);
        int count = (int) Linkage.call(COUNT, stack);
        for (int i = 0; i < count; i++) {
            long certificate = Linkage.call(VALUE, stack, i, 0);
            try (Arena arena = Arena.ofConfined()) {
                int size = (int) Linkage.call(DER, certificate, 0, 0);
                MemorySegment der = arena.allocate(size);
                int written = (int) Linkage.call(DER, certificate, arena.allocateFrom(ADDRESS, der).address(), 0);
                chain.add(der.asSlice(0, written).toArray(JAVA_BYTE));
            }
        }
        return chain;
    }

    private static MemorySegment upcall(String name, FunctionDescriptor type) {
        try {
            return Linker.nativeLinker().upcallStub(
                    MethodHandles.lookup().findStatic(CurlTls.class, name, type.toMethodType()), type, Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
