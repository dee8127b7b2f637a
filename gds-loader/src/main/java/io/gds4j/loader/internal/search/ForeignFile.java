package io.gds4j.loader.internal.search;

import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.Recognition;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Names what stands in the place of weights, or holds weights in a form that no format reads. */
final class ForeignFile {
    private static final String OTHER_TOOL = "save the weights with safetensors";
    private static final String DOWNLOAD = "download the file again";
    private static final Pattern LFS = Pattern.compile(
            "version https://(?:git-lfs|hawser)\\.github\\.com/spec/.*?(?:\nsize (\\d{1,19})\n.*)?", Pattern.DOTALL);
    private static final Pattern ERROR_CODE = Pattern.compile("<Code>(\\w{1,40})</Code>");
    private static final byte[] HDF5 = {(byte) 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    private static final int TAR_MAGIC_OFFSET = 257;

    private ForeignFile() {
    }

    /**
     * Says what a file is that no format recognises: {@link Recognition.Unsupported} for what often stands in the place of weights, such as a
     * Git LFS pointer or a web page, and for known files of other programs, such as HDF5; else {@link Recognition#UNRECOGNIZED}.
     */
    static Recognition recognize(FileHead head) {
        if (head.size() == 0) {
            return Recognition.UNRECOGNIZED;
        }
        String first = StandardCharsets.ISO_8859_1.decode(head.first()).toString();
        Matcher lfs = LFS.matcher(first);
        if (lfs.matches()) {
            String size = lfs.group(1);
            return new Recognition.Unsupported(
                    "a Git LFS pointer" + (size == null ? "" : " to a file of %s bytes".formatted(size)),
                    "run git lfs pull");
        }
        if (first.startsWith("<", textStart(first))) {
            Matcher code = ERROR_CODE.matcher(first);
            boolean page = first.toLowerCase(Locale.ROOT).contains("<html");
            return new Recognition.Unsupported(
                    page
                            ? "a web page"
                            : "an XML text" + (code.find() ? " with the error " + code.group(1) : ""),
                    "the download got an answer other than the file; " + DOWNLOAD);
        }
        if (head.startsWith(HDF5)) {
            return new Recognition.Unsupported("an HDF5 file, as Keras writes", OTHER_TOOL);
        }
        if (head.startsWith((byte) 0x1f, (byte) 0x8b)) {
            return new Recognition.Unsupported("a file that gzip compressed", "unpack it");
        }
        if (first.startsWith("ustar", TAR_MAGIC_OFFSET)) {
            return new Recognition.Unsupported("a tar archive, such as a .nemo file",
                    "unpack it and load what it holds");
        }
        if (isOnnx(head)) {
            return new Recognition.Unsupported("an ONNX model", OTHER_TOOL);
        }
        if (isTextMap(head.first())) {
            return new Recognition.Unsupported("a msgpack file, as flax writes", OTHER_TOOL);
        }
        return Recognition.UNRECOGNIZED;
    }

    private static int textStart(String text) {
        int at = text.startsWith("\u00ef\u00bb\u00bf") ? 3 : 0;
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at;
    }

    /** Returns whether a file begins as a ModelProto: a small number of its version, then the name of its producer. */
    private static boolean isOnnx(FileHead head) {
        ByteBuffer first = head.first();
        return first.limit() > 5
                && first.get(0) == 0x08
                && first.get(1) >= 3
                && first.get(1) <= 32
                && first.get(2) == 0x12
                && first.get(3) > 0
                && isText(first, 4, first.get(3));
    }

    /** Returns whether a file begins as a map of msgpack whose first key is a text. */
    private static boolean isTextMap(ByteBuffer first) {
        if (first.limit() < 4) {
            return false;
        }
        int map = first.get(0) & 0xff;
        int key = switch (map) {
            case 0xde -> 3;
            case 0xdf -> 5;
            default -> map >= 0x81 && map <= 0x8f ? 1 : first.limit();
        };
        int text = key < first.limit() ? first.get(key) & 0xff : 0;
        return text > 0xa0 && text <= 0xbf && isText(first, key + 1, text & 0x1f);
    }

    private static boolean isText(ByteBuffer first, int from, int length) {
        for (int i = from; i < from + length; i++) {
            if (i >= first.limit() || first.get(i) < ' ' || first.get(i) == 0x7f) {
                return false;
            }
        }
        return true;
    }
}
