package io.gds4j.dataset.source;

import io.gds4j.internal.text.InertText;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The checksum of a whole file, as its index has it.
 *
 * @param algorithm name of the algorithm in Python
 * @param expected the checksum in hexadecimal digits
 */
record Checksum(String algorithm, String expected) {
    private static final int STEP = 1 << 20;
    /** Algorithms by their names in Python, in the order of preference. */
    private static final Map<String, String> ALGORITHMS = new LinkedHashMap<>();

    static {
        for (String digits : List.of("1", "256", "512", "224", "384")) {
            ALGORITHMS.put("sha" + digits, "SHA-" + digits);
        }
        for (String digits : List.of("256", "512", "224", "384")) {
            ALGORITHMS.put("sha3_" + digits, "SHA3-" + digits);
        }
        ALGORITHMS.put("md5", "MD5");
    }

    /** Returns one of several checksums, if there are any: of an algorithm that Java has, if there is such a one. */
    static Optional<Checksum> of(Map<?, ?> checksums) {
        return ALGORITHMS.keySet().stream().filter(checksums::containsKey).findFirst()
                .or(() -> checksums.keySet().stream().map(String::valueOf).sorted().findFirst())
                .map(algorithm -> new Checksum(algorithm, String.valueOf(checksums.get(algorithm))));
    }

    /** Reads the file and compares. */
    void check(HeaderFile file) {
        MessageDigest digest = digest(file);
        ByteBuffer step = ByteBuffer.allocate((int) Math.min(STEP, file.size()));
        for (long done = 0; done < file.size(); done += step.limit()) {
            step.clear().limit((int) Math.min(step.capacity(), file.size() - done));
            file.read(step, done);
            digest.update(step.duplicate());
        }
        String found = HexFormat.of().formatHex(digest.digest());
        if (!found.equalsIgnoreCase(expected)) {
            throw RecordFormatException.malformed(file.path(), "is damaged: its %s is %s, its index says %s".formatted(
                    algorithm, found, InertText.quote(expected)));
        }
    }

    private MessageDigest digest(HeaderFile file) {
        try {
            return MessageDigest.getInstance(ALGORITHMS.getOrDefault(algorithm, algorithm));
        } catch (NoSuchAlgorithmException e) {
            throw RecordFormatException.malformed(file.path(),
                    "has a checksum by %s, allowed where checksums are verified: %s".formatted(
                            InertText.quote(algorithm), String.join(", ", ALGORITHMS.keySet())));
        }
    }
}
