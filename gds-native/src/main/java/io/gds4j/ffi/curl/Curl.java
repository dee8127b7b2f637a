package io.gds4j.ffi.curl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import io.gds4j.internal.http.NativeHttp;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/** The system's libcurl: version 7.77 or newer, with OpenSSL 1.1.1 or 3. */
public final class Curl implements NativeHttp {
    /** For the service loader. */
    public Curl() {
        // Links at the first use.
    }

    @Override
    public Optional<String> problem() {
        return CurlFunctions.problem().or(CurlTls::problem);
    }

    @Override
    public String version() {
        return CurlFunctions.version();
    }

    @Override
    public Optional<byte[]> sha256(MemorySegment bytes) {
        return Digest.sha256(bytes);
    }

    @Override
    public Wire open() {
        return new CurlWire();
    }

    /** SHA-256 by the OpenSSL that libcurl itself uses. Thread-safe. */
    private static final class Digest {
        private static final int DIGEST_BYTES = 32;
        private static final Linkage OPENSSL = new Linkage(
                "the OpenSSL of libcurl", CurlFunctions.symbols(),
                (address, type, options) -> Linker.nativeLinker().downcallHandle(address, type, options));
        private static final MethodHandle SHA256 =
                OPENSSL.function("SHA256", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS));

        /** Returns the digest; empty if OpenSSL refuses, as one may that allows no digest outside of its policy. */
        static Optional<byte[]> sha256(MemorySegment bytes) {
            if (OPENSSL.problem().isPresent()) {
                return Optional.empty();
            }
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment digest = arena.allocate(DIGEST_BYTES);
                long result = (long) SHA256.invokeExact(bytes, bytes.byteSize(), digest);
                return result == 0 ? Optional.empty() : Optional.of(digest.toArray(JAVA_BYTE));
            } catch (Throwable t) {
                throw Linkage.rethrow(t);
            }
        }
    }
}
