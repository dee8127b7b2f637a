package io.gds4j.internal.http;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Sends HTTP requests by a library of the system. gds-native has one by libcurl; gds-remote finds it by
 * {@link java.util.ServiceLoader}. Thread-safe.
 */
public interface NativeHttp {
    /** {@return why the library cannot be used; empty if it can} */
    Optional<String> problem();

    /** {@return the library and its version; valid only without a {@link #problem}} */
    String version();

    /** {@return a connection, which opens with its first request} */
    Wire open();

    /**
     * Computes the digest that signs a body, from where it lies: the JDK's digest copies native memory first.
     *
     * @param bytes native memory
     * @return the 32 bytes of SHA-256; empty if the library has no such function
     */
    Optional<byte[]> sha256(MemorySegment bytes);

    /**
     * A request. Redirects are not followed, and nothing but these headers and those of HTTP itself is sent.
     *
     * @param headers name and value
     * @param body native memory to send; empty for a request without a body
     * @param tls how https is protected; empty refuses https
     * @param addresses the only addresses to connect to. Without a proxy the library resolves no name itself; with one they are not used
     * @param connectTimeout longest time until a server takes the connection
     * @param proxy a proxy of HTTP, which tunnels https; its name is resolved by the library
     * @param proxyHeaders headers for the proxy of a tunnel
     * @param isOnce whether the library must not repeat the request by itself if a connection that it kept ends without an answer
     */
    record Request(
            String method,
            URI uri,
            Map<String, List<String>> headers,
            Optional<MemorySegment> body,
            Optional<Tls> tls,
            List<InetAddress> addresses,
            Duration connectTimeout,
            Optional<InetSocketAddress> proxy,
            Map<String, List<String>> proxyHeaders,
            boolean isOnce) {

        /**
         * Returns a copy with a body.
         *
         * @param bytes native memory, which stays valid while the request is sent
         * @return the copy
         */
        public Request withBody(MemorySegment bytes) {
            return new Request(
                    method, uri, headers, Optional.of(bytes), tls, addresses, connectTimeout, proxy,
                    proxyHeaders, isOnce);
        }
    }

    /**
     * What a connection may agree upon, in the names of OpenSSL. Environment and files of the library may narrow this, but not widen it.
     *
     * @param least oldest version, such as 0x0303 for TLS 1.2
     * @param most newest version
     * @param suites cipher suites of TLS 1.2
     * @param suites13 cipher suites of TLS 1.3
     * @param groups groups of the key exchange
     * @param signatures schemes of the server's signature
     * @param judge decides about the server's certificates; the library compares the name of the host, too
     */
    record Tls(
            int least, int most, List<String> suites, List<String> suites13, List<String> groups,
            List<String> signatures, Judge judge) {
    }

    /** Decides whether a server is the one that its certificates name. Thread-safe. */
    @FunctionalInterface
    interface Judge {
        /**
         * Returns if the certificates are those of the host.
         *
         * @param chain in DER, that of the server first
         * @throws CertificateException if they are not
         */
        void check(String host, List<byte[]> chain) throws CertificateException;
    }

    /** Receives the answer, on the thread that sends. What it throws ends the request. */
    interface Answer {
        /** {@return whether nobody waits for the answer any more} */
        boolean isAbandoned();

        /** Takes the number of bytes of the body that were sent so far. */
        void sent(long bytes);

        /** Takes status and headers, before the body. */
        void head(int status, Map<String, List<String>> headers);

        /**
         * Takes the next bytes of the body.
         *
         * @param bytes valid during the call
         * @return false to end the request, which counts as an answer
         */
        boolean body(MemorySegment bytes);
    }

    /** One connection to one server at a time; keeps it open between requests. One thread sends; any thread may wake it. */
    interface Wire extends AutoCloseable {
        /**
         * Sends a request and returns when the answer has ended, or was abandoned.
         *
         * @throws IOException if there is no whole answer
         */
        void send(Request request, Answer answer) throws IOException;

        /** Lets a request in progress look at {@link Answer#isAbandoned}. Does nothing after {@link #close}. */
        void wake();

        /** Closes the connection. Idempotent. */
        @Override
        void close();
    }
}
