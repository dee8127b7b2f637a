package io.gds4j.ffi.curl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.CString;
import io.gds4j.ffi.Linkage;
import io.gds4j.ffi.NativeSegments;
import io.gds4j.internal.http.NativeHttp;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A connection of libcurl: a multi handle, which keeps it and can be woken, and a handle for each request, one at a time. A share keeps
 * what resumes a session of TLS: some servers close the connection after each answer.
 */
final class CurlWire implements NativeHttp.Wire {
    private static final FunctionDescriptor CALLBACK =
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MemorySegment ON_HEADER = upcall("onHeader");
    private static final MemorySegment ON_BODY = upcall("onBody");

    private static final int ERROR_BYTES = 256;
    /** Longer reads of the socket leave the processor's cache. */
    private static final long BUFFER_BYTES = 256 << 10;
    private static final int MAX_POLL_MILLIS = 1000;
    private static final int KEPT_CONNECTIONS = 2;
    private static final int MULTI_MAXCONNECTS = 6;
    private static final int SHARE_DATA = 1;
    private static final int TLS_SESSIONS = 4;
    private static final int INFO_RESPONSE_TO_CONNECT = 0x200000 + 22;
    private static final int INFO_SIZE_UPLOAD = 0x600000 + 7;
    /** Where a CURLMsg has its result. */
    private static final long MESSAGE_RESULT = 16;
    private static final int NO_RESULT = -1;
    private static final int HTTP_PORT = 80;
    private static final int HTTPS_PORT = 443;

    /** The text of an error, and an out-parameter. */
    private final MemorySegment error;
    private final MemorySegment out;

    private final long share;
    private long multi;

    CurlWire() {
        Arena arena = Arena.ofAuto();
        error = arena.allocate(ERROR_BYTES);
        out = arena.allocate(JAVA_LONG);
        share = some(Linkage.call(CurlFunctions.SHARE_INIT, 0));
        check((int) Linkage.call(CurlFunctions.SHARE_SETOPT, share, SHARE_DATA, TLS_SESSIONS));
        multi = some(Linkage.call(CurlFunctions.MULTI_INIT, 0));
        check((int) Linkage.call(CurlFunctions.MULTI_SETOPT, multi, MULTI_MAXCONNECTS, KEPT_CONNECTIONS));
    }

    @Override
    public void send(NativeHttp.Request request, NativeHttp.Answer receiver) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            long easy = some(Linkage.call(CurlFunctions.EASY_INIT, 0));
            CurlAnswer answer = CurlAnswer.begin(easy, request, receiver);
            try {
                error.set(JAVA_BYTE, 0, (byte) 0);
                configure(easy, request, arena);
                int result = run(easy, request, receiver);
                if (!answer.end() && result != 0 && result != NO_RESULT) {
                    throw CurlErrors.of(result, text(result), tunnelStatus(easy), answer.isInHead());
                }
            } finally {
                CurlAnswer.forget(easy);
                Linkage.call(CurlFunctions.EASY_CLEANUP, easy);
            }
        }
    }

    private int run(long easy, NativeHttp.Request request, NativeHttp.Answer receiver) throws IOException {
        check((int) Linkage.call(CurlFunctions.MULTI_ADD, multi, easy, 0));
        try {
            return drive(easy, request, receiver);
        } finally {
            check((int) Linkage.call(CurlFunctions.MULTI_REMOVE, multi, easy, 0));
        }
    }

    /** Runs the request until it ends or is abandoned. */
    private int drive(long easy, NativeHttp.Request request, NativeHttp.Answer receiver) throws IOException {
        boolean sends = request.body().isPresent();
        boolean isTls = request.tls().isPresent();
        while (true) {
            check((int) Linkage.call(CurlFunctions.MULTI_PERFORM, multi, out.address(), 0));
            boolean runs = out.get(JAVA_INT, 0) != 0;
            if (sends && (int) Linkage.call(CurlFunctions.EASY_GETINFO, easy, INFO_SIZE_UPLOAD, out.address()) == 0) {
                receiver.sent(out.get(JAVA_LONG, 0));
            }
            if (!runs) {
                long message = Linkage.call(CurlFunctions.MULTI_INFO_READ, multi, out.address(), 0);
                return NativeSegments.of(message, MESSAGE_RESULT + Integer.BYTES).get(JAVA_INT, MESSAGE_RESULT);
            }
            if (receiver.isAbandoned()) {
                return NO_RESULT;
            }
            if (!isTls || !CurlReadAhead.resumes(easy, out)) {
                check((int) Linkage.call(CurlFunctions.MULTI_POLL, multi, 0, 0, MAX_POLL_MILLIS, 0, 0));
            }
        }
    }

    private void configure(long easy, NativeHttp.Request request, Arena arena) throws IOException {
        set(easy, Option.NOSIGNAL, 1);
        set(easy, Option.SHARE, share);
        set(easy, Option.ERRORBUFFER, error.address());
        set(easy, Option.URL, arena.allocateFrom(request.uri().toASCIIString()).address());
        set(easy, Option.PROTOCOLS, Option.HTTP_AND_HTTPS);
        set(easy, Option.HTTP_VERSION, Option.HTTP_1_1);
        set(easy, Option.PATH_AS_IS, 1);
        set(easy, Option.HTTP_CONTENT_DECODING, 0);
        set(easy, Option.SUPPRESS_CONNECT_HEADERS, 1);
        set(easy, Option.BUFFERSIZE, BUFFER_BYTES);
        set(easy, Option.CONNECTTIMEOUT_MS, request.connectTimeout().toMillis());
        set(easy, Option.SSLVERSION, Option.TLS_1_2);
        // libcurl itself trusts no certificate: CurlTls asks who decides.
        set(easy, Option.CAPATH, arena.allocateFrom("/dev/null").address());
        set(easy, Option.CAINFO, 0);
        set(easy, Option.SSL_CTX_FUNCTION, CurlTls.PREPARE.address());
        set(easy, Option.SSL_CTX_DATA, easy);
        if (request.proxy().isEmpty()) {
            set(easy, Option.RESOLVE, node(pinned(request), 0, arena));
        }
        // The library must not look at variables of proxies: the program names one, or none.
        set(easy, Option.NOPROXY, arena.allocateFrom("").address());
        set(easy, Option.PROXY, arena.allocateFrom(request.proxy().map(CurlWire::url).orElse("")).address());
        set(easy, Option.HTTPHEADER, lines(request.headers(), arena));
        set(easy, Option.PROXYHEADER, lines(request.proxyHeaders(), arena));
        set(easy, Option.HEADERFUNCTION, ON_HEADER.address());
        set(easy, Option.HEADERDATA, easy);
        set(easy, Option.WRITEFUNCTION, ON_BODY.address());
        set(easy, Option.WRITEDATA, easy);
        if (request.body().isPresent()) {
            MemorySegment body = request.body().get();
            set(easy, Option.UPLOAD_BUFFERSIZE, BUFFER_BYTES);
            set(easy, Option.POSTFIELDSIZE_LARGE, body.byteSize());
            set(easy, Option.POSTFIELDS, body.byteSize() == 0 ? arena.allocateFrom("").address() : body.address());
        } else if (request.method().equals("HEAD")) {
            set(easy, Option.NOBODY, 1);
        }
        // libcurl repeats a request whose kept connection ends without an answer, and does not say so.
        set(easy, Option.FRESH_CONNECT, request.isOnce() ? 1 : 0);
        set(easy, Option.CUSTOMREQUEST, arena.allocateFrom(request.method()).address());
    }

    /** Returns the addresses as those of every host: libcurl must not look up a name again, whose addresses may have changed. */
    private static String pinned(NativeHttp.Request request) throws UnknownHostException {
        if (request.addresses().isEmpty()) {
            throw new UnknownHostException(request.uri().getHost());
        }
        URI uri = request.uri();
        int usual = uri.getScheme().equalsIgnoreCase("https") ? HTTPS_PORT : HTTP_PORT;
        return "*:%s:%s".formatted(uri.getPort() < 0 ? usual : uri.getPort(), request.addresses().stream()
                .map(address -> address instanceof Inet6Address ? "[" + address.getHostAddress() + "]"
                        : address.getHostAddress())
                .collect(Collectors.joining(",")));
    }

    private static void set(long easy, int option, long value) {
        check((int) Linkage.call(CurlFunctions.EASY_SETOPT, easy, option, value));
    }

    private static long some(long handle) {
        if (handle == 0) {
            throw new OutOfMemoryError("libcurl has no memory for a connection");
        }
        return handle;
    }

    private static void check(int result) {
        if (result != 0) {
            throw new IllegalStateException("libcurl refuses a call: " + result);
        }
    }

    private static String url(InetSocketAddress proxy) {
        String host = proxy.getHostString();
        return "http://%s:%s".formatted(host.indexOf(':') < 0 ? host : "[" + host + "]", proxy.getPort());
    }

    /** Makes a list of headers, a struct curl_slist for each. Those that libcurl would add are left out. */
    private static long lines(Map<String, List<String>> headers, Arena arena) {
        long next = 0;
        for (String unasked : new String[]{"Accept:", "Content-Type:", "Expect:"}) {
            if (!headers.containsKey(unasked.substring(0, unasked.length() - 1))) {
                next = node(unasked, next, arena);
            }
        }
        for (Map.Entry<String, List<String>> header : headers.entrySet()) {
            for (String value : header.getValue()) {
                // A semicolon stands for an empty value; a colon would leave the header out.
                next = node(header.getKey() + (value.isBlank() ? ";" : ": " + value), next, arena);
            }
        }
        return next;
    }

    private static long node(String line, long next, Arena arena) {
        MemorySegment node = arena.allocate(2L * Long.BYTES, Long.BYTES);
        node.set(ADDRESS, 0, arena.allocateFrom(line));
        node.set(JAVA_LONG, Long.BYTES, next);
        return node.address();
    }

    private String text(int result) {
        String own = CString.at(error.address(), ERROR_BYTES);
        // Of a connection that is gone by then: the request tells more.
        return own.isEmpty() || own.startsWith("getpeername")
                ? CString.at(Linkage.call(CurlFunctions.EASY_STRERROR, result), ERROR_BYTES)
                : own;
    }

    private long tunnelStatus(long easy) {
        int got = (int) Linkage.call(CurlFunctions.EASY_GETINFO, easy, INFO_RESPONSE_TO_CONNECT, out.address());
        return got == 0 ? out.get(JAVA_LONG, 0) : 0;
    }

    private static MemorySegment upcall(String name) {
        try {
            return Linker.nativeLinker().upcallStub(
                    MethodHandles.lookup().findStatic(CurlWire.class, name, CALLBACK.toMethodType()), CALLBACK,
                    Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Takes a line of the head. An answer other than the number of bytes ends the request. */
    private static long onHeader(long data, long size, long count, long id) {
        try {
            CurlAnswer answer = CurlAnswer.of(id);
            return answer != null && answer.header(NativeSegments.of(data, size * count)) ? size * count : 0;
        } catch (Throwable t) { // a class that cannot be loaded for want of a descriptor would end the program
            return 0;
        }
    }

    private static long onBody(long data, long size, long count, long id) {
        try {
            CurlAnswer answer = CurlAnswer.of(id);
            return answer != null && answer.body(NativeSegments.of(data, size * count)) ? size * count : 0;
        } catch (Throwable t) {
            return 0;
        }
    }

    @Override
    public synchronized void wake() {
        if (multi != 0) {
            check((int) Linkage.call(CurlFunctions.MULTI_WAKEUP, multi));
        }
    }

    @Override
    public synchronized void close() {
        if (multi == 0) {
            return;
        }
        try {
            check((int) Linkage.call(CurlFunctions.MULTI_CLEANUP, multi));
            check((int) Linkage.call(CurlFunctions.SHARE_CLEANUP, share));
        } finally {
            multi = 0;
        }
    }

    /** Options of curl.h and their values. */
    private static final class Option {
        static final int SSLVERSION = 32;
        static final int NOBODY = 44;
        static final int FRESH_CONNECT = 74;
        static final int HTTP_VERSION = 84;
        static final int BUFFERSIZE = 98;
        static final int NOSIGNAL = 99;
        static final int CONNECTTIMEOUT_MS = 156;
        static final int HTTP_CONTENT_DECODING = 158;
        /** Newer versions have a text in its place, and keep this one. */
        static final int PROTOCOLS = 181;
        static final int PATH_AS_IS = 234;
        static final int SUPPRESS_CONNECT_HEADERS = 265;
        static final int UPLOAD_BUFFERSIZE = 280;
        static final int WRITEDATA = 10001;
        static final int URL = 10002;
        static final int PROXY = 10004;
        static final int ERRORBUFFER = 10010;
        static final int POSTFIELDS = 10015;
        static final int HTTPHEADER = 10023;
        static final int HEADERDATA = 10029;
        static final int CUSTOMREQUEST = 10036;
        static final int CAINFO = 10065;
        static final int CAPATH = 10097;
        static final int SHARE = 10100;
        static final int SSL_CTX_DATA = 10109;
        static final int NOPROXY = 10177;
        static final int RESOLVE = 10203;
        static final int PROXYHEADER = 10228;
        static final int WRITEFUNCTION = 20011;
        static final int HEADERFUNCTION = 20079;
        static final int SSL_CTX_FUNCTION = 20108;
        static final int POSTFIELDSIZE_LARGE = 30120;

        static final long HTTP_AND_HTTPS = 3;
        static final long HTTP_1_1 = 2;
        static final long TLS_1_2 = 6;
    }
}
