package io.gds4j.ffi.cufile;

import io.gds4j.spi.BatchRequest;

/**
 * One request of a batch; its file is entered until its event is ready.
 *
 * @param size bytes that the library is asked for: a read stops at the end of the file as it is at submission
 * @param done bytes that are moved already
 * @param slabClass of {@link SlabBudget}
 * @param context the CUDA context of its memory, or {@link CurrentContext#NONE}
 * @param submitted when, by {@link System#nanoTime}
 */
record BatchEntry(
        LibraryFile file,
        BatchRequest request,
        long size,
        long done,
        int slabClass,
        long context,
        long submitted) {
    BatchEntry after(long moved) {
        return new BatchEntry(file, request, size, moved, slabClass, context, submitted);
    }
}
