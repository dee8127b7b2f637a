package io.gds4j.remote;

import java.net.URI;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** URLs of a bucket's objects, encoded as signatures want them: all but letters, digits, {@code - . _ ~}. */
record S3Names(String bucket, S3Options options) {
    /** Returns the URL of an object, or of the bucket if the key is empty. */
    URI url(String key, Map<String, String> query) {
        String suffix = options.region().startsWith("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
        URI server = options.endpoint().orElseGet(() -> URI.create("https://s3." + options.region() + suffix));
        // The certificates of AWS do not cover dots in the name of a bucket, and Java knows no host with an underscore.
        boolean inPath = options.pathStyle() || bucket.contains("_")
                || options.endpoint().isEmpty() && bucket.contains(".");
        String port = server.getPort() < 0 ? "" : ":" + server.getPort();
        String base = server.getRawPath() == null ? "" : server.getRawPath().replaceFirst("/+$", "");
        String text = "%s://%s%s%s%s/%s%s".formatted(
                server.getScheme(), inPath ? "" : bucket + ".", server.getHost(), port,
                base + (inPath ? "/" + bucket : ""), ObjectName.escaped(key), query(query));
        return URI.create(text);
    }

    /** Returns the URL as programs write it. */
    URI uri(String escapedKey) {
        return URI.create("s3://" + bucket + "/" + escapedKey);
    }

    /** Returns the key of such a URL. */
    static String key(URI uri) {
        return uri.getRawPath() == null || uri.getRawPath().isEmpty() ? ""
                : ObjectName.unescaped(uri.getRawPath().substring(1)).orElseThrow();
    }

    static String query(Map<String, String> query) {
        return query.isEmpty() ? ""
                : new TreeMap<>(query).entrySet().stream()
                        .map(entry -> entry.getKey() + "=" + ObjectName.escaped(entry.getValue()).replace("/", "%2F"))
                        .collect(Collectors.joining("&", "?", ""));
    }
}
