package io.gds4j.loader.format.numpy;

import io.gds4j.internal.text.NpyGrammar;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.TensorInfo;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Arrays of {@code numpy.save}, format version 1.0 to 3.0. The array has the name of its file without {@code .npy}, and the shape
 * that NumPy reports. An array in Fortran order is column-major ({@link TensorInfo#order}); metadata then has the key
 * {@code NAME.fortran_order} with the value true.
 *
 * @since 0.1
 */
public final class NpyFormat implements CheckpointFormat {
    static final String SUFFIX = ".npy";
    static final String FORTRAN_ORDER = ".fortran_order";

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
        return head.startsWith(NpyGrammar.magic()) ? Recognition.RECOGNIZED : Recognition.UNRECOGNIZED;
    }

    @Override
    public CheckpointFile read(FormatInput in) {
        TensorInfo array = NpyHeader.read(in, withoutSuffix(String.valueOf(in.path().getFileName())), 0, in.size());
        return file(in, List.of(array), List.of());
    }

    /** An array that is copied is in the order of the copy. */
    @Override
    public boolean describesFiles(String key) {
        return key.endsWith(FORTRAN_ORDER);
    }

    static String withoutSuffix(String name) {
        return name.endsWith(SUFFIX) && name.length() > SUFFIX.length()
                ? name.substring(0, name.length() - SUFFIX.length())
                : name;
    }

    /** Returns a file with these arrays. */
    static CheckpointFile file(FormatInput in, List<TensorInfo> arrays, List<String> warnings) {
        Map<String, MetadataValue> metadata = new LinkedHashMap<>();
        long dataOffset = in.size();
        for (TensorInfo array : arrays) {
            dataOffset = Math.min(dataOffset, array.fileOffset());
            if (!array.order().isRowMajor()) {
                metadata.put(array.name() + FORTRAN_ORDER, new MetadataValue.Truth(true));
            }
        }
        return CheckpointFile.of(in.path(), in.size(), dataOffset, arrays, Metadata.of(metadata), warnings);
    }
}
