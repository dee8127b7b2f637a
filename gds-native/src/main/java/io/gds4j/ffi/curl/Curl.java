package io.gds4j.ffi.curl;

import io.gds4j.internal.http.NativeHttp;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** The system's libcurl: version 7.77 or newer, with OpenSSL 1.1.1 or 3. */
public final class Curl implements NativeHttp {
    /** For the service loader. */
    public Curl() {
        // Links at the first use.
    }

    @Override
    public Optional<String> problem() {
        return CurlFunctions.problem();
    }

    @Override
    public String version() {
        return CurlFunctions.version();
    }

    @Override
    public Optional<byte[]> sha256(MemorySegment bytes) {
        return CurlDigest.sha256(bytes);
    }

    @Override
    public Wire open() {
        return new CurlWire();
    }
}
