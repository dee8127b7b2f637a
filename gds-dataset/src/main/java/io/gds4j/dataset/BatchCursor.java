package io.gds4j.dataset;

import java.util.Iterator;
import java.util.Spliterator;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Goes from batch to batch and closes each before the next one. For one thread; it never splits, which would need several batches. */
final class BatchCursor implements Iterator<RecordBatch>, Spliterator<RecordBatch> {
    private final RecordLoader loader;
    private @Nullable RecordBatch open;

    BatchCursor(RecordLoader loader) {
        this.loader = loader;
    }

    @Override
    public boolean hasNext() {
        if (loader.hasNext()) {
            return true;
        }
        closeBatch();
        return false;
    }

    @Override
    public RecordBatch next() {
        closeBatch();
        RecordBatch batch = loader.next();
        open = batch;
        loader.lend(batch);
        return batch;
    }

    @Override
    public boolean tryAdvance(Consumer<? super RecordBatch> action) {
        if (!hasNext()) {
            return false;
        }
        action.accept(next());
        return true;
    }

    @Override
    public void forEachRemaining(Consumer<? super RecordBatch> action) {
        while (hasNext()) {
            action.accept(next());
        }
    }

    /** Closes the batch that is open, if any. */
    void closeBatch() {
        RecordBatch batch = open;
        open = null;
        if (batch != null) {
            loader.takeBack(batch);
        }
    }

    @Override
    public @Nullable Spliterator<RecordBatch> trySplit() {
        return null;
    }

    @Override
    public long estimateSize() {
        return Long.MAX_VALUE;
    }

    @Override
    public int characteristics() {
        return ORDERED | NONNULL;
    }
}
