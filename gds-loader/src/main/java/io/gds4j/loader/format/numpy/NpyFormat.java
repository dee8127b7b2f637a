package io.gds4j.loader.format.numpy;

import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.Recognition;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Arrays of {@code numpy.save}, format version 1.0 to 3.0. The array has the name of its file without {@code .npy}. Where the
 * first dimension is the fastest in memory, metadata has the key {@code NAME.fortran_order} with the value true; the shape is the
 * one that NumPy reports.
 *
 * @since 0.1
 */
public final class NpyFormat implements CheckpointFormat {
    static final String SUFFIX = ".npy";

    /** Creates the format; {@link java.util.ServiceLoader} calls this. */
    public NpyFormat() {
        // without state
    }

    @Override
    public String id() {
        return "npy";
    }

    @Override
    public List<String> suffixes() {
        return List.of(SUFFIX);
    }

    @Override
    public Recognition recognize(FileHead head) {
        return head.startsWith(NpyHeader.magic()) ? Recognition.RECOGNIZED : Recognition.UNRECOGNIZED;
    }

    @Override
    public CheckpointFile read(FormatInput in) {
        NpyHeader header = NpyHeader.read(in, withoutSuffix(String.valueOf(in.path().getFileName())), 0, in.size());
        return file(in, List.of(header), List.of());
    }

    static String withoutSuffix(String name) {
        return name.endsWith(SUFFIX) && name.length() > SUFFIX.length()
                ? name.substring(0, name.length() - SUFFIX.length())
                : name;
    }

    /** Returns a file with these arrays. */
    static CheckpointFile file(FormatInput in, List<NpyHeader> headers, List<String> warnings) {
        Map<String, MetadataValue> metadata = new LinkedHashMap<>();
        long dataOffset = in.size();
        for (NpyHeader header : headers) {
            dataOffset = Math.min(dataOffset, header.tensor().fileOffset());
            if (header.fortranOrder()) {
                metadata.put(header.tensor().name() + ".fortran_order", new MetadataValue.Truth(true));
            }
        }
        return new CheckpointFile(
                in.path(),
                in.size(),
                dataOffset,
                headers.stream().map(NpyHeader::tensor).toList(),
                Metadata.of(metadata),
                warnings);
    }
}
