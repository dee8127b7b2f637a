package io.gds4j.ffi.curl;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import java.util.Locale;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;

/** Results of libcurl as the exceptions that the client of the JDK throws in their place, so that one rule fits both. */
final class CurlErrors {
    private static final int COULDNT_RESOLVE_PROXY = 5;
    private static final int COULDNT_RESOLVE_HOST = 6;
    private static final int COULDNT_CONNECT = 7;
    private static final int OPERATION_TIMEDOUT = 28;
    private static final int SSL_CONNECT_ERROR = 35;
    private static final int PEER_FAILED_VERIFICATION = 60;
    private static final int FIRST_SUCCESS = 200;
    private static final int FIRST_REDIRECT = 300;

    private CurlErrors() {
    }

    /**
     * Returns the exception of a result.
     *
     * @param tunnel status of a proxy's answer to CONNECT; 0 if there was none
     */
    static IOException of(int result, String text, long tunnel) {
        if (tunnel != 0 && (tunnel < FIRST_SUCCESS || tunnel >= FIRST_REDIRECT)) {
            return new IOException("Tunnel failed, got: " + tunnel);
        }
        return switch (result) {
            case COULDNT_RESOLVE_HOST -> new UnknownHostException(text);
            case COULDNT_RESOLVE_PROXY, COULDNT_CONNECT -> new ConnectException(text);
            case OPERATION_TIMEDOUT -> new SocketTimeoutException(text);
            case PEER_FAILED_VERIFICATION -> certificate(text);
            case SSL_CONNECT_ERROR -> handshake(text);
            default -> new IOException("%s (libcurl %s)".formatted(text, result));
        };
    }

    private static IOException certificate(String text) {
        SSLHandshakeException refused = new SSLHandshakeException(text);
        refused.initCause(new CertificateException(text));
        return refused;
    }

    private static IOException handshake(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        if (lower.contains("wrong version number") || lower.contains("packet length too long")
                || lower.contains("http request")) {
            return new SSLException("Unrecognized SSL message, plaintext connection? " + text);
        }
        return new SSLHandshakeException(lower.contains("alert") ? "Received fatal alert: " + text : text);
    }
}
