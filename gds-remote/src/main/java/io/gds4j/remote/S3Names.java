package io.gds4j.remote;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** URLs of a bucket's objects, encoded as signatures want them: all but letters, digits, {@code - . _ ~}. */
record S3Names(String bucket, S3Options options) {
    /** Returns the URL of an object, or of the bucket if the key is empty. */
    URI url(String key, Map<String, String> query) {
        String suffix = options.region().startsWith("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
        URI server = options.endpoint().orElseGet(() -> URI.create("https://s3." + options.region() + suffix));
        // The certificates of AWS do not cover dots in the name of a bucket.
        boolean inPath = options.pathStyle() || options.endpoint().isEmpty() && bucket.contains(".");
        String port = server.getPort() < 0 ? "" : ":" + server.getPort();
        String base = server.getRawPath() == null ? "" : server.getRawPath().replaceFirst("/+$", "");
        String text = "%s://%s%s%s%s/%s%s".formatted(
                server.getScheme(), inPath ? "" : bucket + ".", server.getHost(), port,
                base + (inPath ? "/" + bucket : ""), encoded(key, true), query(query));
        return URI.create(text);
    }

    /** Returns the URL as programs write it. */
    URI uri(String key) {
        return URI.create("s3://" + bucket + "/" + encoded(key, true));
    }

    private static String query(Map<String, String> query) {
        return query.isEmpty() ? ""
                : new TreeMap<>(query).entrySet().stream()
                        .map(entry -> encoded(entry.getKey(), false) + "=" + encoded(entry.getValue(), false))
                        .collect(Collectors.joining("&", "?", ""));
    }

    private static String encoded(String text, boolean keepsSlashes) {
        StringBuilder out = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xff);
            boolean plain = c < 0x80 && Character.isLetterOrDigit(c) || "-._~".indexOf(c) >= 0;
            if (plain || c == '/' && keepsSlashes) {
                out.append(c);
            } else {
                out.append("%%%02X".formatted((int) c));
            }
        }
        return out.toString();
    }
}
