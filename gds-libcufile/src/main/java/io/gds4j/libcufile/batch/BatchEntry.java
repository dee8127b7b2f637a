package io.gds4j.libcufile.batch;

import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.libcufile.process.SlabBudget;
import io.gds4j.spi.BatchRequest;

/**
 * One request of a batch. Its file is entered until its event is ready.
 *
 * @param size bytes to move; a read ends at the end of the file as it is at submission
 * @param done bytes already moved
 * @param slabClass class of {@link SlabBudget}
 * @param context CUDA context of its memory, or {@link CurrentContext#NONE}
 * @param submitted time of submission by {@link System#nanoTime}
 */
record BatchEntry(
        LibraryFile file,
        BatchRequest request,
        long size,
        long done,
        int slabClass,
        long context,
        long submitted) {
    /** Returns the rest of the entry after the library has moved these bytes. */
    BatchEntry after(long moved) {
        return new BatchEntry(file, request, size, moved, slabClass, context, submitted);
    }
}
