package io.gds4j.dataset;

import java.util.NoSuchElementException;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A queue of at most as many buffers as the ring has. It allocates nothing. */
final class BufferQueue {
    private final @Nullable BatchBuffer[] items;
    private int head;
    private int size;

    BufferQueue(int capacity) {
        this.items = new BatchBuffer[capacity];
    }

    int size() {
        return size;
    }

    boolean isEmpty() {
        return size == 0;
    }

    BatchBuffer get(int index) {
        BatchBuffer item = items[(head + index) % items.length];
        if (index >= size || item == null) {
            throw new NoSuchElementException();
        }
        return item;
    }

    /** Returns the first buffer that a condition holds for. */
    @Nullable
    BatchBuffer first(Predicate<BatchBuffer> condition) {
        for (int i = 0; i < size; i++) {
            BatchBuffer item = get(i);
            if (condition.test(item)) {
                return item;
            }
        }
        return null;
    }

    void add(BatchBuffer buffer) {
        items[(head + size) % items.length] = buffer;
        size++;
    }

    /** Removes the buffer that was added last. */
    BatchBuffer removeLast() {
        BatchBuffer last = get(size - 1);
        size--;
        items[(head + size) % items.length] = null;
        return last;
    }

    BatchBuffer remove() {
        BatchBuffer first = get(0);
        items[head] = null;
        head = (head + 1) % items.length;
        size--;
        return first;
    }
}
