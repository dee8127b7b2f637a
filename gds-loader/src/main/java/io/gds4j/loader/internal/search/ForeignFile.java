package io.gds4j.loader.internal.search;

import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.Recognition;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A kind of file or folder that stands in the place of weights, or holds weights in a form that no format reads. Files are told by their
 * content, each byte a character; folders by an entry at their top.
 *
 * @param mark how a file of this kind begins; for a folder the name of an entry
 * @param what what the file or folder is; {@code %s} stands for the first group of the mark
 * @param remedy what the user can do
 */
record ForeignFile(String mark, String what, String remedy) {

    private static final String OTHER_TOOL = "save the weights with safetensors";
    private static final String PULL = "run git lfs pull";
    private static final String DOWNLOAD = "the download got an answer other than the file; download the file again";
    private static final String LFS = "version https://(?:git-lfs|hawser)\\.github\\.com/spec/";
    private static final String XML = "(?:\\xef\\xbb\\xbf)?\\p{javaWhitespace}*+(?=<)";
    /** A length, for msgpack plus {@link #SHORT_TEXT}, and printable characters, which must be as many. */
    private static final String TEXT = "([\\x01-\\x7f\\xa1-\\xbf])([ -~]*)";
    private static final int SHORT_TEXT = 0xa0;

    /** The first that fits counts. */
    private static final List<ForeignFile> FILES = List.of(
            new ForeignFile(LFS + ".*?\nsize (\\d{1,19})\n", "a Git LFS pointer to a file of %s bytes", PULL),
            new ForeignFile(LFS, "a Git LFS pointer", PULL),
            new ForeignFile(XML + ".*(?i:<html)", "a web page", DOWNLOAD),
            new ForeignFile(XML + ".*?<Code>(\\w{1,40})</Code>", "an XML text with the error %s", DOWNLOAD),
            new ForeignFile(XML, "an XML text", DOWNLOAD),
            new ForeignFile("\\x89HDF\r\n\\x1a\n", "an HDF5 file, as Keras writes", OTHER_TOOL),
            new ForeignFile("\\x1f\\x8b", "a file that gzip compressed", "unpack it"),
            new ForeignFile(".{257}ustar", "a tar archive, such as a .nemo file", "unpack it and load what it holds"),
            // a ModelProto: the number of its version, then the name of its producer
            new ForeignFile("(?=.{6})\\x08[\\x03-\\x20]\\x12(?=[\\x01-\\x7f])" + TEXT, "an ONNX model", OTHER_TOOL),
            // a map whose first key is a text
            new ForeignFile("(?=.{4})(?:[\\x81-\\x8f]|\\xde..|\\xdf.{4})(?=[\\xa1-\\xbf])" + TEXT,
                    "a msgpack file, as flax writes", OTHER_TOOL));

    private static final List<ForeignFile> FOLDERS = List.of(
            new ForeignFile("_CHECKPOINT_METADATA", "an orbax checkpoint", OTHER_TOOL),
            new ForeignFile("manifest.ocdbt", "an orbax checkpoint", OTHER_TOOL),
            new ForeignFile("zarr.json", "a zarr store", OTHER_TOOL),
            new ForeignFile(".zgroup", "a zarr store", OTHER_TOOL),
            new ForeignFile(".zarray", "a zarr store", OTHER_TOOL),
            new ForeignFile("saved_model.pb", "a SavedModel of TensorFlow", OTHER_TOOL));

    /** Says what a file is that no format recognises: {@link Recognition.Unsupported}, else {@link Recognition#UNRECOGNIZED}. */
    static Recognition recognize(FileHead head) {
        // most are indexes, which are JSON: their load does not wait for patterns
        if (head.size() == 0 || head.startsWith((byte) '{')) {
            return Recognition.UNRECOGNIZED;
        }
        String first = StandardCharsets.ISO_8859_1.decode(head.first()).toString();
        for (ForeignFile kind : FILES) {
            Matcher start = Pattern.compile(kind.mark, Pattern.DOTALL).matcher(first);
            if (start.lookingAt() && (start.groupCount() < 2
                    || start.group(2).length() >= start.group(1).charAt(0) % SHORT_TEXT)) {
                return new Recognition.Unsupported(
                        kind.what.formatted(start.groupCount() == 0 ? "" : start.group(1)), kind.remedy);
            }
        }
        return Recognition.UNRECOGNIZED;
    }

    /** Says what a folder is in which no format finds a file. */
    static Recognition recognize(Path folder) {
        for (ForeignFile kind : FOLDERS) {
            if (Files.exists(folder.resolve(kind.mark))) {
                return new Recognition.Unsupported(kind.what, kind.remedy);
            }
        }
        return Recognition.UNRECOGNIZED;
    }
}
