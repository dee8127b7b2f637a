package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.internal.SafetensorsText;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One file of a plan: its tensors in order, their offsets, and its header. Immutable. */
final class SaveFile {
    static final String CHECKSUMS = SafetensorsText.CHECKSUMS;
    static final int CHECKSUM_DIGITS = 8;

    private final List<SaveTensor> tensors;
    private final Map<String, String> metadata;
    private final SaveOptions options;
    private final long[] ends;
    private final long dataOffset;

    SaveFile(List<SaveTensor> tensors, Map<String, String> metadata, SaveOptions options) {
        this.tensors = List.copyOf(tensors);
        this.metadata = metadata;
        this.options = options;
        this.ends = new long[tensors.size()];
        // the digits of checksums have a fixed length, so the size of the header is known before the data
        this.dataOffset = header(new int[tensors.size()]).length;
        long end = dataOffset;
        for (int i = 0; i < ends.length; i++) {
            end += tensors.get(i).bytes();
            if (end < 0) {
                throw CuFileException.invalid(SaveFailure.FUNCTION, "the tensors of a file exceed 2^63-1 bytes");
            }
            ends[i] = end;
        }
    }

    /** Returns the entries of {@code __metadata__} without the checksums. */
    Map<String, String> metadata() {
        return Map.copyOf(metadata);
    }

    List<SaveTensor> tensors() {
        return tensors;
    }

    /** Returns the offset of the first byte of data. */
    long dataOffset() {
        return dataOffset;
    }

    /** Returns the size of the file in bytes. */
    long size() {
        return ends.length == 0 ? dataOffset : ends[ends.length - 1];
    }

    long begin(int tensor) {
        return ends[tensor] - tensors.get(tensor).bytes();
    }

    long end(int tensor) {
        return ends[tensor];
    }

    /** Returns the first tensor that ends behind this byte of the data, so it contains the byte. */
    int tensorAt(long offset) {
        int found = Arrays.binarySearch(ends, offset);
        int at = found < 0 ? -found - 1 : found + 1;
        // tensors without bytes share their end with the one before them
        while (at < ends.length && ends[at] <= offset) {
            at++;
        }
        return at;
    }

    /** Returns the tensors that begin at a multiple of a page or of the alignment, whichever is larger. */
    int alignedTensors() {
        long unit = Math.max(Pages.SIZE, options.align());
        int aligned = 0;
        for (int i = 0; i < ends.length; i++) {
            aligned += begin(i) % unit == 0 ? 1 : 0;
        }
        return aligned;
    }

    /**
     * Returns the header.
     *
     * @param checksums CRC32C of each tensor; ignored unless the options ask for checksums
     */
    byte[] header(int[] checksums) {
        Map<String, String> entries = metadata;
        if (options.checksums()) {
            entries = new LinkedHashMap<>(metadata);
            entries.put(CHECKSUMS, digits(checksums));
        }
        SafetensorsText text = new SafetensorsText(SaveFailure.FUNCTION, tensors.size(), entries);
        long offset = 0;
        for (SaveTensor tensor : tensors) {
            long begin = offset;
            offset += tensor.bytes();
            text.add(tensor.name(), tensor.dtype().id(), tensor.shape(), begin, offset);
        }
        byte[] json = text.json();
        return text.header(json, (int) (-(Long.BYTES + (long) json.length) & (options.align() - 1)));
    }

    private String digits(int[] checksums) {
        StringBuilder digits = new StringBuilder(CHECKSUM_DIGITS * checksums.length);
        for (int i = 0; i < checksums.length; i++) {
            if (tensors.get(i).bytes() > 0) {
                digits.append("%08x".formatted(checksums[i]));
            }
        }
        return digits.toString();
    }
}
