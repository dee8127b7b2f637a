package io.gds4j.ffi.curl;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.gds4j.internal.http.NativeHttp;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.ProtocolException;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a request, as libcurl calls with it. Takes and refuses what the client of the JDK does, by exceptions whose text begins
 * as there. Lets no exception into C code, but keeps it. Used by one thread.
 */
final class CurlAnswer {
    /** Answers in progress by their handle: one function serves all connections, so that it is compiled once. */
    private static final ConcurrentMap<Long, CurlAnswer> IN_PROGRESS = new ConcurrentHashMap<>();

    private static final long MAX_HEAD = 384 << 10;
    /** Counted for each header beside its text. */
    private static final int LINE_BYTES = 32;
    private static final int MAX_INTERIM = 8;
    private static final int SWITCHING_PROTOCOLS = 101;
    private static final Pattern STATUS_LINE = Pattern.compile("HTTP/1\\.. ([1-9]\\d\\d)(?!\\d).*");
    private static final char DELETE = 0x7f;
    private static final Pattern NAME = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");

    private final NativeHttp.Request request;
    private final NativeHttp.Answer receiver;
    private Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    private @Nullable List<String> last;
    private int status;
    private int interim;
    private boolean inHead;
    private long headBytes;
    private boolean headIsWhole;
    private boolean wantsNoMore;
    private @Nullable Throwable thrown;

    private CurlAnswer(NativeHttp.Request request, NativeHttp.Answer receiver) {
        this.request = request;
        this.receiver = receiver;
    }

    /** Begins the answer to a request; {@link #forget} ends it. */
    static CurlAnswer begin(long easy, NativeHttp.Request request, NativeHttp.Answer receiver) {
        CurlAnswer answer = new CurlAnswer(request, receiver);
        IN_PROGRESS.put(easy, answer);
        return answer;
    }

    static void forget(long easy) {
        IN_PROGRESS.remove(easy);
    }

    /** Returns the answer to a request in progress; null if there is none. */
    static @Nullable CurlAnswer of(long easy) {
        return IN_PROGRESS.get(easy);
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
            headBytes += bytes.byteSize() + LINE_BYTES;
            if (headBytes > MAX_HEAD) {
                throw tooLong();
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

    private static ProtocolException tooLong() {
        return new ProtocolException("Header size too big: more than " + MAX_HEAD);
    }

    private void line(String raw) throws IOException {
        String line = raw.endsWith("\r\n") ? raw.substring(0, raw.length() - 2) : raw.replaceFirst("\n$", "");
        if (!inHead) {
            status = status(line);
            headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            last = null;
            inHead = true;
        } else if (line.isEmpty()) {
            inHead = false;
            if (status / 100 != 1) { // else the real answer follows
                headIsWhole = true;
                receiver.head(status, headers);
            }
        } else if (isBlank(line.charAt(0)) && last != null) {
            last.set(last.size() - 1, last.getLast() + " " + value(line));
        } else if (line.indexOf(':') > 0) {
            int colon = line.indexOf(':');
            String name = line.substring(0, colon);
            if (!NAME.matcher(name).matches()) {
                throw new ProtocolException("Invalid header name");
            }
            last = headers.computeIfAbsent(name, key -> new ArrayList<>());
            last.add(value(line.substring(colon + 1)));
        }
        // else the line has no name
    }

    private static String value(String text) throws ProtocolException {
        String value = text.trim();
        if (value.chars().anyMatch(c -> c < ' ' && c != '\t' || c == DELETE)) {
            throw new ProtocolException("Invalid header value");
        }
        return value;
    }

    private static boolean isBlank(char c) {
        return c == ' ' || c == '\t';
    }

    private int status(String line) throws IOException {
        Matcher matcher = STATUS_LINE.matcher(line);
        if (!matcher.matches()) {
            throw new ProtocolException("Invalid status line");
        }
        int told = Integer.parseInt(matcher.group(1));
        interim += told / 100 == 1 ? 1 : 0;
        if (told == SWITCHING_PROTOCOLS) {
            throw new ProtocolException("Unexpected 101 response");
        }
        if (interim > MAX_INTERIM) {
            throw new ProtocolException("Too many interim responses");
        }
        return told;
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

    /** Returns whether the request ended between the first and the last line of a head. */
    boolean isInHead() {
        return inHead;
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
