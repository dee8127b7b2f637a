package io.gds4j.ffi.curl;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.gds4j.internal.http.NativeHttp;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/** The answer to a request, as libcurl calls with it. Lets no exception into C code, but keeps it. Used by one thread. */
final class CurlAnswer {
    /** As the client of the JDK. */
    private static final long MAX_HEAD = 384 << 10;
    private static final int STATUS_AT = 9;
    private static final int STATUS_END = 12;

    private final NativeHttp.Request request;
    private final NativeHttp.Answer receiver;
    private Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    private @Nullable List<String> last;
    private int status;
    private long headBytes;
    private boolean headIsWhole;
    private boolean wantsNoMore;
    private @Nullable Throwable thrown;

    CurlAnswer(NativeHttp.Request request, NativeHttp.Answer receiver) {
        this.request = request;
        this.receiver = receiver;
    }

    /** Returns what the connection may agree upon. */
    NativeHttp.Tls tls() {
        return request.tls().orElseThrow();
    }

    /** Returns whether the server's certificates, in DER, are those of the host. */
    boolean trusts(List<byte[]> chain) {
        try {
            tls().judge().check(request.uri().getHost(), chain);
            return true;
        } catch (CertificateException e) {
            thrown = new SSLHandshakeException(e.getMessage(), e);
        } catch (Throwable t) {
            thrown = t;
        }
        return false;
    }

    /** Takes a line of the head; false ends the request. */
    boolean header(MemorySegment bytes) {
        try {
            headBytes += bytes.byteSize();
            if (headBytes > MAX_HEAD) {
                throw new IOException("the headers are longer than %s bytes".formatted(MAX_HEAD));
            }
            if (!headIsWhole) { // else a trailer
                line(new String(bytes.toArray(JAVA_BYTE), StandardCharsets.ISO_8859_1));
            }
            return true;
        } catch (Throwable t) {
            thrown = t;
            return false;
        }
    }

    private void line(String raw) throws IOException {
        String line = raw.strip();
        int colon = line.indexOf(':');
        if (raw.startsWith("HTTP/")) {
            headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            last = null;
            status = status(line);
        } else if (line.isEmpty()) {
            if (status / 100 != 1) { // else the real answer follows
                headIsWhole = true;
                receiver.head(status, headers);
            }
        } else if (Character.isWhitespace(raw.charAt(0)) && last != null) {
            last.set(last.size() - 1, last.getLast() + " " + line);
        } else if (colon > 0) {
            last = headers.computeIfAbsent(line.substring(0, colon).strip(), name -> new ArrayList<>());
            last.add(line.substring(colon + 1).strip());
        } else {
            throw new IOException("a header of the answer has no name");
        }
    }

    private static int status(String line) throws IOException {
        try {
            return Integer.parseInt(line.substring(STATUS_AT, STATUS_END));
        } catch (IndexOutOfBoundsException | NumberFormatException e) {
            throw new IOException("the answer has no status", e);
        }
    }

    /** Takes bytes of the body; false ends the request. */
    boolean body(MemorySegment bytes) {
        try {
            wantsNoMore = receiver.isAbandoned() || !receiver.body(bytes);
            return !wantsNoMore;
        } catch (Throwable t) {
            thrown = t;
            return false;
        }
    }

    /**
     * Ends the answer.
     *
     * @return true if the receiver wanted no more of it
     * @throws IOException what a call threw
     */
    boolean end() throws IOException {
        switch (thrown) {
            case null -> {
                return wantsNoMore;
            }
            case IOException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            default -> throw new IOException(thrown);
        }
    }
}
