package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.internal.RowMajor;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Copies in row-major order of tensors that lie in another one. The first piece that needs a tensor makes its copy in host memory,
 * and the one that takes its last byte frees it: pieces come in the order of the files, so few copies exist at a time.
 */
final class ReorderedTensors implements AutoCloseable {
    /** Reads bytes of a tensor as they lie in its source. */
    @FunctionalInterface
    interface Reader {
        void read(int file, int tensor, long offset, MemoryRange to);
    }

    private record Key(int file, int tensor) {
    }

    /** A tensor that some pieces still need. */
    private final class Copy {
        /** Bytes that some pieces still need. */
        private long needed;
        private @Nullable MemoryAllocation memory;

        synchronized void copyTo(Key key, RowMajor moves, long offset, MemoryRange to) {
            MemoryAllocation made = memory;
            if (made == null) {
                made = make(key, moves);
                memory = made;
            }
            driver.allocator().copy(made.range().slice(offset, to.length()), to);
            needed -= to.length();
            if (needed == 0) {
                free();
            }
        }

        synchronized void free() {
            MemoryAllocation made = memory;
            memory = null;
            if (made != null) {
                made.close();
            }
        }
    }

    private final List<SaveFile> files;
    private final CuFileDriver driver;
    private final SaveControl control;
    private final Reader reader;
    private final Map<Key, Copy> copies = new HashMap<>();

    ReorderedTensors(SaveContent content, CuFileDriver driver, SaveControl control, Reader reader) {
        this.files = content.files();
        this.driver = driver;
        this.control = control;
        this.reader = reader;
    }

    /** Counts the bytes of each tensor that these ranges need, cut as they may be; those of before have been written. */
    void expect(List<WriteRange> pieces) {
        close();
        for (WriteRange piece : pieces) {
            SaveFile file = files.get(piece.file());
            long at = piece.begin();
            for (int i = file.tensorAt(at); at < piece.end(); i++) {
                if (file.end(i) > at && file.tensors().get(i).moves().isPresent()) {
                    copies.computeIfAbsent(new Key(piece.file(), i), key -> new Copy()).needed +=
                            Math.min(file.end(i), piece.end()) - at;
                }
                at = file.end(i);
            }
        }
    }

    /** Copies bytes of a tensor in row-major order, which were expected to be needed. */
    void copy(int file, int tensor, RowMajor moves, long offset, MemoryRange to) {
        Key key = new Key(file, tensor);
        Copy copy = copies.get(key);
        if (copy == null) {
            throw new IllegalStateException("no piece was expected to need tensor %s of file %s".formatted(tensor,
                    file));
        }
        copy.copyTo(key, moves, offset, to);
    }

    private MemoryAllocation make(Key key, RowMajor moves) {
        long bytes = files.get(key.file).tensors().get(key.tensor).bytes();
        MemoryAllocation made = driver.allocator().allocate(MemoryKind.HOST, bytes);
        Undo.ifFails(made::close, () -> fill(made, bytes, key, moves));
        return made;
    }

    private void fill(MemoryAllocation made, long bytes, Key key, RowMajor moves) {
        try (MemoryAllocation part = driver.allocator().allocate(MemoryKind.HOST, Math.min(bytes, WriteRange.BUFFER))) {
            MemorySegment to = made.segment();
            for (long at = 0; at < bytes; at += part.length()) {
                control.checkStopped();
                MemoryRange some = part.range().slice(0, Math.min(part.length(), bytes - at));
                reader.read(key.file, key.tensor, at, some);
                moves.move(part.segment().asSlice(0, some.length()), at, to);
            }
        }
    }

    @Override
    public void close() {
        List<Copy> left = new ArrayList<>(copies.values());
        copies.clear();
        Closing.all(left, Copy::free);
    }
}
