package io.gds4j.ffi.curl;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;

/** Results of libcurl as the exceptions that the client of the JDK throws in their place, so that one rule fits both. */
final class CurlErrors {
    private static final int UNSUPPORTED_PROTOCOL = 1;
    private static final int COULDNT_RESOLVE_PROXY = 5;
    private static final int COULDNT_RESOLVE_HOST = 6;
    private static final int COULDNT_CONNECT = 7;
    private static final int WEIRD_SERVER_REPLY = 8;
    private static final int OUT_OF_MEMORY = 27;
    private static final int OPERATION_TIMEDOUT = 28;
    private static final int SSL_CONNECT_ERROR = 35;
    private static final int SEND_ERROR = 55;
    private static final int RECV_ERROR = 56;
    private static final int PEER_FAILED_VERIFICATION = 60;
    private static final int TOO_LARGE = 100;
    private static final int FIRST_SUCCESS = 200;
    private static final int FIRST_REDIRECT = 300;

    /** What OpenSSL writes about an alert, such as {@code tlsv13 alert certificate required, errno 0}. */
    private static final Pattern ALERT = Pattern.compile("alert ([a-z ]+)");
    /** Alerts of a handshake that come behind it: TLS 1.3 ends it for the client before the server has looked at its certificate. */
    private static final Pattern REFUSED = Pattern.compile("alert (.*certificate|unknown ca|access denied)");

    private CurlErrors() {
    }

    /**
     * Returns the exception of a result.
     *
     * @param tunnel status of a proxy's answer to CONNECT; 0 if there was none
     * @param isInHead whether the head of the answer was not whole
     */
    static IOException of(int result, String text, long tunnel, boolean isInHead) {
        if (tunnel != 0 && (tunnel < FIRST_SUCCESS || tunnel >= FIRST_REDIRECT)) {
            return new IOException("Tunnel failed, got: " + tunnel);
        }
        if (isInHead && isTooLong(result, text)) {
            return new ProtocolException("Header size too big");
        }
        if ((result == RECV_ERROR || result == SEND_ERROR) && REFUSED.matcher(text).find()) {
            return handshake(text);
        }
        if (text.startsWith("SSL_write")) {
            // What OpenSSL says after that is about a second call of libcurl, not about the server.
            return new IOException(
                    "the server closed the connection while a request was sent; one that wants a client certificate does so (libcurl %s)"
                            .formatted(result));
        }
        return switch (result) {
            case COULDNT_RESOLVE_HOST -> new UnknownHostException(text);
            case COULDNT_RESOLVE_PROXY, COULDNT_CONNECT -> new ConnectException(text);
            case OPERATION_TIMEDOUT -> new SocketTimeoutException(text);
            case PEER_FAILED_VERIFICATION -> certificate(text);
            case SSL_CONNECT_ERROR -> handshake(text);
            case UNSUPPORTED_PROTOCOL -> new ProtocolException("Invalid status line");
            case WEIRD_SERVER_REPLY -> head(text);
            default -> new IOException("%s (libcurl %s)".formatted(text, result));
        };
    }

    private static IOException head(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        return new ProtocolException(
                lower.contains("content-length") ? "the Content-Length of the answer is wrong"
                        : lower.contains("version") ? "Invalid status line" : "Invalid header value");
    }

    /** Older versions have no memory for a long header, and newer ones no result of their own. */
    private static boolean isTooLong(int result, String text) {
        return result == OUT_OF_MEMORY || result == TOO_LARGE || text.contains("Too large response headers");
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
        Matcher alert = ALERT.matcher(lower);
        return new SSLHandshakeException(
                alert.find() ? "Received fatal alert: " + alert.group(1).strip().replace(' ', '_') : text);
    }
}
