package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Sends a token with each request to the server itself; the program's own header wins. Thread-safe.
 *
 * @param tokens asked at each request
 */
record Bearer(Supplier<String> tokens) implements Signer {
    private static final String HEADER = "Authorization";
    private static final Pattern TOKEN = Pattern.compile("[!-~]{1,16384}");

    /** A token that stays the same. */
    private record Fixed(String token) implements Supplier<String> {
        @Override
        public String get() {
            return token;
        }

        /** Returns a text without the token. */
        @Override
        public String toString() {
            return "hidden";
        }
    }

    /** Credentials that nothing here can read. */
    private record Unread(String why) implements Supplier<String> {
        @Override
        public String get() {
            throw failure(why);
        }
    }

    static Bearer of(String token) {
        return new Bearer(new Fixed(token));
    }

    /**
     * Returns the tokens that a cloud's own library gets.
     *
     * @param scheme scheme of the URLs that they are for
     * @param variables environment variables, which name credentials
     * @param what what names them, for messages
     */
    static Bearer of(String scheme, Map<String, String> variables, String what, String artifact) {
        return new Bearer(ServiceLoader
                .load(AccessTokenProvider.class, AccessTokenProvider.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get).filter(provider -> provider.scheme().equals(scheme)).findFirst()
                .map(provider -> provider.open(variables))
                .orElseGet(
                        () -> new Unread("%s names credentials, which need the artifact io.gds4j:%s on the class path"
                                .formatted(what, artifact))));
    }

    static boolean isToken(String text) {
        return TOKEN.matcher(text).matches();
    }

    private static CuFileException failure(String why) {
        return CuFileException.of(CuFileError.IO_ERROR, Errno.EACCES, "AccessTokenProvider", why);
    }

    private String value() {
        String token = tokens.get();
        if (!isToken(token)) {
            throw failure("a token has spaces or characters outside ASCII, or no character");
        }
        return "Bearer " + token;
    }

    @Override
    public Map<String, String> headers(String method, URI place, String bodySha256, Map<String, String> sent) {
        return sent.keySet().stream().anyMatch(HEADER::equalsIgnoreCase) ? Map.of() : Map.of(HEADER, value());
    }

    /** A token that has expired is followed by another. */
    @Override
    public boolean corrects(HttpResponse<?> refusal, String code) {
        return refusal.statusCode() == 401
                && refusal.request().headers().firstValue(HEADER).filter(sent -> !sent.equals(value())).isPresent();
    }

    /** Returns a text without the token. */
    @Override
    public String toString() {
        return "Bearer";
    }
}
