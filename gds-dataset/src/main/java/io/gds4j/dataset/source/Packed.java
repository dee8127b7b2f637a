package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;

/** What compressed files begin with, and what unpacks them. */
enum Packed {
    GZIP("\u001f\u008b", "gzip -dk"),
    ZSTD("\u0028\u00b5\u002f\u00fd", "zstd -d"),
    BZIP2("BZh", "bzip2 -dk"),
    XZ("\u00fd7zXZ\0", "xz -dk"),
    LZ4("\u0004\"M\u0018", "lz4 -d"),
    ZLIB("\u0078\u009c", "zlib-flate -uncompress <");

    private static final int LONGEST_MAGIC = 6;

    private final String magic;
    private final String command;

    Packed(String magic, String command) {
        this.magic = magic;
        this.command = command;
    }

    /** Refuses a compressed file, whose records no range of the file has. */
    static void refuse(HeaderFile file, String allowed) {
        ByteBuffer first = file.read(0, (int) Math.min(LONGEST_MAGIC, file.size()), "its first bytes");
        String text = StandardCharsets.ISO_8859_1.decode(first).toString();
        for (Packed packed : values()) {
            if (text.startsWith(packed.magic)) {
                throw RecordFormatException.malformed(file.path(), 0, packed.refusal(file.path(), allowed));
            }
        }
    }

    String refusal(Path path, String allowed) {
        return "is compressed by %s, allowed: a plain %s; unpack it once: %s %s".formatted(
                name().toLowerCase(Locale.ROOT), allowed, command, path.getFileName());
    }
}
