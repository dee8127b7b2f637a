package io.gds4j.remote;

import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * AWS signature version 4. Signs host, time, digest of the body, session token and other headers of AWS. Paths and queries must be encoded already, as
 * {@link S3Names} does. Thread-safe.
 *
 * @param credentials asked for each request
 * @param clock tells the time of a request
 */
record S3Signer(String region, String service, Supplier<S3Credentials> credentials, ServerClock clock)
        implements
            Signer {

    private static final String ALGORITHM = "AWS4-HMAC-SHA256";
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final String DATE = "x-amz-date";
    private static final int DATE_LENGTH = 8;
    private static final int SLICE = 1 << 30;

    static S3Signer of(String region, Supplier<S3Credentials> credentials) {
        return new S3Signer(region, "s3", credentials, new ServerClock(InstantSource.system()));
    }

    @Override
    public Map<String, String> headers(String method, URI place, String bodySha256, Map<String, String> sent) {
        S3Credentials keys = credentials.get();
        if (keys.accessKey().isEmpty()) {
            return Map.of();
        }
        Map<String, String> signed = new TreeMap<>();
        sent.forEach((name, value) -> {
            if (name.toLowerCase(Locale.ROOT).startsWith("x-amz-")) {
                signed.put(name.toLowerCase(Locale.ROOT), value.strip());
            }
        });
        signed.put("x-amz-content-sha256", bodySha256);
        signed.put(DATE, TIME.format(clock.instant()));
        keys.sessionToken().ifPresent(token -> signed.put("x-amz-security-token", token));
        return sign(keys, method, place, bodySha256, signed);
    }

    @Override
    public boolean coversBody() {
        return true;
    }

    /** Adds the signature of these headers and the host; the headers must have {@code x-amz-date}. */
    Map<String, String> sign(
            S3Credentials keys, String method, URI place, String bodySha256, Map<String, String> signed) {
        TreeMap<String, String> headers = new TreeMap<>(signed);
        headers.put("host", ObjectName.host(place));
        String time = signed.getOrDefault(DATE, "");
        String date = time.substring(0, DATE_LENGTH);
        String names = String.join(";", headers.keySet());
        String lines = headers.entrySet().stream().map(header -> header.getKey() + ":" + header.getValue() + "\n")
                .collect(Collectors.joining());
        String path = place.getRawPath().isEmpty() ? "/" : place.getRawPath();
        String query = Optional.ofNullable(place.getRawQuery()).orElse("");
        String canonical = String.join("\n", method, path, query, lines, names, bodySha256);
        String scope = "%s/%s/%s/aws4_request".formatted(date, region, service);
        String text = String.join("\n", ALGORITHM, time, scope, sha256(bytes(canonical)));
        byte[] key = bytes("AWS4" + keys.secretKey());
        for (String part : new String[]{date, region, service, "aws4_request"}) {
            key = mac(key, part);
        }
        String signature = HexFormat.of().formatHex(mac(key, text));
        Map<String, String> all = new TreeMap<>(signed);
        all.put("Authorization", "%s Credential=%s/%s, SignedHeaders=%s, Signature=%s"
                .formatted(ALGORITHM, keys.accessKey(), scope, names, signature));
        return all;
    }

    /** Signs with the time of the server from now on, as the SDKs of AWS do, if the server refuses that of this machine. */
    @Override
    public boolean corrects(HttpResponse<?> refusal, String code) {
        boolean maybeForItsTime = switch (code) {
            case "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture", "SignatureDoesNotMatch",
                    "InvalidSignatureException", "AuthFailure" ->
                true;
            default -> code.isEmpty() && refusal.statusCode() == 403; // the answer to HEAD has no code
        };
        Optional<Instant> signed = signed(refusal.request());
        Optional<Instant> ofServer = AnswerHead.of(refusal).date();
        return maybeForItsTime && signed.isPresent() && ofServer.isPresent()
                && clock.corrects(signed.get(), ofServer.get());
    }

    /** Returns the time of a signature; empty if the program has set another one, or its year has more than 4 digits. */
    private static Optional<Instant> signed(HttpRequest request) {
        try {
            return request.headers().firstValue(DATE).map(text -> TIME.parse(text, Instant::from));
        } catch (DateTimeException e) {
            return Optional.empty();
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String sha256(byte[] bytes) {
        return sha256(MemorySegment.ofArray(bytes));
    }

    /** Computes the digest of native memory by the library of {@link NativeClient}, where there is one. */
    static String sha256(MemorySegment bytes) {
        Optional<byte[]> known = bytes.isNative() ? NativeClient.sha256(bytes) : Optional.empty();
        return HexFormat.of().formatHex(known.orElseGet(() -> sha256OfJdk(bytes)));
    }

    /** Returns the CRC-32C of native memory as S3 writes it. */
    static String crc32c(MemorySegment bytes) {
        CRC32C sum = new CRC32C();
        for (long at = 0; at < bytes.byteSize(); at += SLICE) {
            sum.update(bytes.asSlice(at, Math.min(SLICE, bytes.byteSize() - at)).asByteBuffer());
        }
        return Base64.getEncoder().encodeToString(
                ByteBuffer.allocate(Integer.BYTES).putInt((int) sum.getValue()).array());
    }

    private static byte[] sha256OfJdk(MemorySegment bytes) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(bytes.asByteBuffer());
            return digest.digest();
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    static byte[] mac(byte[] key, String text) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(bytes(text));
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public String toString() {
        return "S3Signer[%s]".formatted(region);
    }

    /** The clock of this machine, moved to that of a server that refuses its time. Thread-safe. */
    static final class ServerClock implements InstantSource {
        /** Servers take a quarter of an hour; the SDKs of AWS correct from 4 minutes on. */
        private static final Duration MIN_SKEW = Duration.ofMinutes(4);

        private final InstantSource machine;
        private volatile Duration offset = Duration.ZERO;

        ServerClock(InstantSource machine) {
            this.machine = machine;
        }

        @Override
        public Instant instant() {
            return machine.instant().plus(offset);
        }

        /**
         * Takes the time of a server that refused a signature.
         *
         * @param signed time of the signature
         * @return false if it was about the same
         */
        boolean corrects(Instant signed, Instant ofServer) {
            if (Duration.between(signed, ofServer).abs().compareTo(MIN_SKEW) < 0) {
                return false;
            }
            Duration known = offset;
            offset = Duration.between(machine.instant(), ofServer);
            if (known.minus(offset).abs().compareTo(MIN_SKEW) >= 0) { // else another request has told it
                System.getLogger("io.gds4j.remote").log(
                        System.Logger.Level.WARNING,
                        "the clock of the server differs from that of this machine by {0} s: signatures have its time",
                        Long.toString(offset.toSeconds()));
            }
            return true;
        }
    }
}
