package io.gds4j.loader.save;

import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.safetensors.SafetensorsFormat;
import io.gds4j.loader.internal.MovedBytes;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.memory.MemoryAllocation;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * The CRC32C of tensors: those that a file records, those of bytes in a file, and those of joined parts. For verifications that
 * several processes share; {@link ChecksumVerifier} is one of a single process.
 *
 * <pre>{@code
 * Map<String, Integer> recorded = TensorChecksums.recorded(file);
 * int crc = TensorChecksums.combine(ofFirstPart, ofSecondPart, secondLength);
 * boolean equal = recorded.get("lm_head.weight") == crc;
 * }</pre>
 *
 * @since 0.1
 */
public final class TensorChecksums {
    private static final String FUNCTION = "TensorChecksums";

    private TensorChecksums() {
    }

    /**
     * Returns the checksums in the header of a file ({@link SaveOptions#checksums}). Reads the header again if an index names only
     * some tensors of the file.
     *
     * @return CRC32C by the name of the tensor, without tensors of 0 bytes; empty if the file records none
     * @throws CuFileException INVALID_VALUE if the checksums are malformed; as {@link io.gds4j.loader.Checkpoint#open} where the header is read again
     */
    public static Map<String, Integer> recorded(CheckpointFile file) {
        String digits = file.metadata().get(SaveFile.CHECKSUMS);
        if (digits == null) {
            return Map.of();
        }
        Map<String, String> metadata = file.metadata();
        List<TensorInfo> withBytes = withBytes(file);
        if (digits.length() != checksumDigits(withBytes)) {
            // an index may name only some tensors of a file
            withBytes = withBytes(header(file));
        }
        if (digits.length() != checksumDigits(withBytes) || !digits.matches("[0-9a-f]*")) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, file.path(),
                    "metadata %s must be %s hexadecimal digits for each of %s tensors with bytes, it is %s"
                            .formatted(SaveFile.CHECKSUMS, SaveFile.CHECKSUM_DIGITS, withBytes.size(),
                                    InertText.quote(digits)));
        }
        Map<String, Integer> recorded = HashMap.newHashMap(withBytes.size());
        for (int i = 0; i < withBytes.size(); i++) {
            int at = i * SaveFile.CHECKSUM_DIGITS;
            recorded.put(
                    withBytes.get(i).name(),
                    Integer.parseUnsignedInt(digits, at, at + SaveFile.CHECKSUM_DIGITS, 16));
        }
        for (TensorInfo tensor : file.tensors()) {
            Integer same = recorded.get(metadata.get(SafetensorsText.ALIAS + tensor.name()));
            if (same != null) {
                recorded.put(tensor.name(), same);
            }
        }
        return recorded;
    }

    /** Returns the tensors whose checksums the header has; aliases are not in the header. */
    private static List<TensorInfo> withBytes(CheckpointFile file) {
        Map<String, String> metadata = file.metadata();
        return file.tensors().stream()
                .filter(tensor -> tensor.length() > 0 && !metadata.containsKey(SafetensorsText.ALIAS + tensor.name()))
                .toList();
    }

    private static long checksumDigits(List<TensorInfo> tensors) {
        return (long) tensors.size() * SaveFile.CHECKSUM_DIGITS;
    }

    /** Returns the file with all tensors of its header. */
    private static CheckpointFile header(CheckpointFile file) {
        try (FormatInput in = FormatInput.open(file.path())) {
            if (!in.version().isSameAs(file.version())) {
                throw CheckpointException.changed(file.path(), file.version(), in.version());
            }
            return new SafetensorsFormat().read(in);
        }
    }

    /**
     * Reads bytes of a file and returns their CRC32C. Reads the rest of their pages, too: only whole pages bypass the page cache.
     *
     * @param fileOffset offset of the first byte
     * @param length bytes, 0 or more
     * @param buffer host memory of 4 KiB or more that the reads pass through; its whole pages are the size of a read
     * @throws CuFileException INVALID_VALUE for a number out of range; as {@link CuFileHandle#readFully(io.gds4j.memory.IoMemory, long)}
     */
    public static int of(CuFileHandle file, long fileOffset, long length, MemoryAllocation buffer) {
        return of(file, fileOffset, length, buffer, new MovedBytes());
    }

    /** @param moved counts the bytes */
    static int of(CuFileHandle file, long fileOffset, long length, MemoryAllocation buffer, MovedBytes moved) {
        CRC32C crc = new CRC32C();
        long most = Pages.down(buffer.range().length());
        if (most == 0 || fileOffset < 0 || length < 0 || fileOffset > Long.MAX_VALUE - Pages.SIZE - length) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, file.path(),
                    "%s bytes at %s by a buffer of %s bytes; allowed are ranges within 2^63 bytes, buffers of %s and more"
                            .formatted(length, fileOffset, buffer.range().length(), Pages.SIZE));
        }
        long end = fileOffset + length;
        long size = file.size();
        for (long at = fileOffset; at < end;) {
            long begin = Pages.down(at);
            long to = Math.min(end, begin + most);
            long read = Math.max(to, Math.min(size, Pages.up(to))) - begin;
            moved.readFully(file, buffer.range().slice(0, read), begin);
            crc.update(buffer.segment().asSlice(at - begin, to - at).asByteBuffer());
            at = to;
        }
        return (int) crc.getValue();
    }

    /**
     * Returns the CRC32C of two parts, one after the other.
     *
     * @param first CRC32C of the first part; 0 if it has no bytes
     * @param second CRC32C of the second part
     * @param length bytes of the second part, 0 or more
     */
    public static int combine(int first, int second, long length) {
        return Crc32c.combine(first, second, length);
    }
}
