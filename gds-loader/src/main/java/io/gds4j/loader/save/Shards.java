package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Splits tensors over files as Hugging Face does: in their order, a new file when the next tensor does not fit. */
final class Shards {
    /** The names of files have five digits. */
    private static final int MOST_FILES = 99_999;

    private Shards() {
    }

    /**
     * Returns the tensors of each file; one file without tensors if there are none.
     *
     * @param largest largest sum of tensor bytes in a file; a larger tensor has a file of its own
     */
    static List<List<SaveTensor>> of(Collection<SaveTensor> tensors, long largest) {
        List<List<SaveTensor>> shards = new ArrayList<>();
        List<SaveTensor> shard = new ArrayList<>();
        long bytes = 0;
        for (SaveTensor tensor : tensors) {
            if (tensor.bytes() > largest) {
                shards.add(List.of(tensor));
                continue;
            }
            if (tensor.bytes() > largest - bytes) {
                shards.add(shard);
                shard = new ArrayList<>();
                bytes = 0;
            }
            shard.add(tensor);
            bytes += tensor.bytes();
        }
        if (!shard.isEmpty() || shards.isEmpty()) {
            shards.add(shard);
        }
        if (shards.size() > MOST_FILES) {
            throw CuFileException.invalid(SaveFailure.FUNCTION,
                    "shards of %s bytes make %s files, at most %s are allowed"
                            .formatted(largest, shards.size(), MOST_FILES));
        }
        return shards;
    }
}
