package io.gds4j.remote;

import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Signs requests with the key of a storage account (Shared Key), and names the version of the protocol. Thread-safe.
 *
 * @param account whose credentials these are; empty for those of any account
 * @param key in Base64; empty to sign nothing
 * @param tokens signs requests without a key
 */
record AzureSigner(String account, String key, Signer tokens) implements Signer {

    private static final String VERSION = "2021-12-02";
    private static final DateTimeFormatter TIME = DateTimeFormatter
            .ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH).withZone(ZoneOffset.UTC);

    /** Headers whose values are signed in this order, an empty line for each that is not sent. Date is sent as x-ms-date. */
    private static final List<String> SIGNED = List.of("Content-Encoding", "Content-Language", "Content-Length",
            "Content-MD5", "Content-Type", "Date", "If-Modified-Since", "If-Match", "If-None-Match",
            "If-Unmodified-Since", "Range");

    AzureSigner(String account, String key) {
        this(account, key, Signer.NONE);
    }

    @Override
    public boolean corrects(HttpResponse<?> refusal, String code) {
        return tokens.corrects(refusal, code);
    }

    @Override
    public Map<String, String> headers(String method, URI place, String bodySha256, Map<String, String> sent) {
        if (key.isEmpty()) {
            Map<String, String> headers = new TreeMap<>(tokens.headers(method, place, bodySha256, sent));
            headers.put("x-ms-version", VERSION);
            return headers;
        }
        String date = TIME.format(Instant.now());
        Map<String, String> all = new TreeMap<>(sent);
        all.putAll(Map.of("x-ms-version", VERSION, "x-ms-date", date));
        return Map.of("x-ms-version", VERSION, "x-ms-date", date, "Authorization",
                "SharedKey %s:%s".formatted(account, Base64.getEncoder().encodeToString(
                        S3Signer.mac(Base64.getDecoder().decode(key), text(method, place, all)))));
    }

    /** Returns the text to sign. */
    String text(String method, URI place, Map<String, String> sent) {
        Map<String, String> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        all.putAll(sent);
        List<String> lines = new ArrayList<>(List.of(method));
        for (String name : SIGNED) {
            String value = all.getOrDefault(name, "");
            lines.add(name.equals("Content-Length") && value.equals("0") ? "" : value.strip());
        }
        all.forEach((name, value) -> {
            if (name.toLowerCase(Locale.ROOT).startsWith("x-ms-")) {
                lines.add(name.toLowerCase(Locale.ROOT) + ":" + value.strip());
            }
        });
        lines.add("/" + account + (place.getRawPath().isEmpty() ? "/" : place.getRawPath()));
        Map<String, String> query = new TreeMap<>();
        if (place.getRawQuery() != null) {
            for (String each : place.getRawQuery().split("&")) {
                String[] both = each.split("=", 2);
                query.put(both[0].toLowerCase(Locale.ROOT),
                        both.length < 2 ? "" : ObjectName.unescaped(both[1]).orElse(both[1]));
            }
        }
        query.forEach((name, value) -> lines.add(name + ":" + value));
        return String.join("\n", lines);
    }

    /** Returns a text without the key. */
    @Override
    public String toString() {
        return "AzureSigner[%s]".formatted(account);
    }
}
