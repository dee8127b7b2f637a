package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.internal.CheckedFiles;
import io.gds4j.loader.internal.RowMajor;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.FileVersion;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The bytes of the tensors of a plan as its files hold them, from memory, snapshots and files of checkpoints. Several threads may read
 * at a time.
 */
final class TensorBytes implements AutoCloseable {
    /** Receives each part of a tensor that was copied, in the order of the file. */
    @FunctionalInterface
    interface Copied {
        /** Ignores all parts. */
        Copied IGNORED = (tensor, part) -> {
        };

        void part(int tensor, MemoryRange part);
    }

    private final SaveContent content;
    private final CuFileDriver driver;
    private final Snapshot snapshot;
    private final SaveControl control;
    private final CheckedFiles originals;
    private final ReorderedTensors reordered;

    TensorBytes(SaveContent content, CuFileDriver driver, Snapshot snapshot, SaveControl control) {
        this.content = content;
        this.driver = driver;
        this.snapshot = snapshot;
        this.control = control;
        this.originals = new CheckedFiles(driver, originals(content));
        this.reordered = new ReorderedTensors(content, driver, control, this::readSource);
    }

    /** Returns the files that the plan copies from, with the versions that their headers describe. */
    private static Map<Path, FileVersion> originals(SaveContent content) {
        Map<Path, FileVersion> versions = new LinkedHashMap<>();
        for (SaveFile file : content.files()) {
            for (SaveTensor tensor : file.tensors()) {
                if (tensor.source() instanceof SaveTensor.InFiles original) {
                    List<TensorBox> boxes = original.whole().tensor().boxes();
                    for (int i = 0; i < boxes.size(); i++) {
                        Path path = boxes.get(i).file();
                        FileVersion known = versions.putIfAbsent(path, original.versions().get(i));
                        if (known != null) {
                            CheckedFiles.check(path, known, original.versions().get(i));
                        }
                    }
                }
            }
        }
        return versions;
    }

    /** Opens the files of checkpoints: one that changed is noticed before any is used. */
    void open() {
        originals.openAll(List.copyOf(originals.versions().keySet()), control::checkStopped);
    }

    /** Says which ranges will be copied, each once; those of before have been. */
    void expect(List<WriteRange> pieces) {
        reordered.expect(pieces);
    }

    /** Returns the memory that holds a tensor as its file does; empty if there is none. */
    Optional<IoMemory> memory(int file, int tensor) {
        boolean ready = moves(file, tensor).isEmpty();
        return ready && snapshot.source(file, tensor) instanceof SaveTensor.InMemory inMemory && !inMemory.isMapped()
                ? Optional.of(inMemory.memory())
                : Optional.empty();
    }

    /** Copies the bytes of a range behind the header. */
    void copy(WriteRange piece, MemoryRange to, Copied copied) {
        SaveFile file = content.files().get(piece.file());
        long at = piece.begin();
        for (int i = file.tensorAt(at); at < piece.end(); i++) {
            long length = Math.min(file.end(i), piece.end()) - at;
            if (length > 0) {
                MemoryRange part = to.slice(at - piece.begin(), length);
                copy(piece.file(), i, at - file.begin(i), part);
                copied.part(i, part);
                at += length;
            }
        }
    }

    private void copy(int file, int tensor, long offset, MemoryRange to) {
        Optional<RowMajor> moves = moves(file, tensor);
        if (moves.isPresent()) {
            reordered.copy(file, tensor, moves.get(), offset, to);
        } else {
            readSource(file, tensor, offset, to);
        }
    }

    private Optional<RowMajor> moves(int file, int tensor) {
        return content.files().get(file).tensors().get(tensor).moves();
    }

    /** Copies bytes of a tensor as they lie in its source. */
    private void readSource(int file, int tensor, long offset, MemoryRange to) {
        switch (snapshot.source(file, tensor)) {
            case SaveTensor.InMemory memory when memory.isMapped() -> fill(to, made -> made.copyFrom(
                    memory.memory().range().segment().orElseThrow().asSlice(offset, to.length())));
            case SaveTensor.InMemory memory ->
                driver.allocator().copy(memory.memory().range().slice(offset, to.length()), to);
            case SaveTensor.Generated generated -> {
                String name = content.files().get(file).tensors().get(tensor).name();
                fill(to, made -> generated.content().fill(name, offset, made));
            }
            case SaveTensor.InFiles original -> readFiles(original.whole(), offset, to);
        }
    }

    /** Lets Java code make bytes, on the heap if they belong into memory of a GPU. */
    private void fill(MemoryRange to, Consumer<MemorySegment> maker) {
        MemorySegment made = to.segment().orElseGet(() -> MemorySegment.ofArray(new byte[(int) to.length()]));
        try {
            maker.accept(made);
        } catch (InternalError e) {
            throw content.cut(e);
        }
        if (to.segment().isEmpty()) {
            driver.allocator().copyFromHost(made, to);
        }
    }

    /** Reads bytes of a tensor from its places. */
    private void readFiles(TensorSlice whole, long offset, MemoryRange to) {
        for (StridedCopy all : whole.copies()) {
            for (StridedCopy rows : all.within(offset, offset + to.length())) {
                Path path = whole.file(rows);
                try (CheckedFiles.Share share = originals.borrow(path)) {
                    try {
                        read(share.file(), rows, to, rows.sliceOffset() - offset);
                    } catch (CuFileException e) {
                        originals.checkAfter(e, path, share.file());
                        throw e;
                    }
                }
            }
        }
    }

    private void read(CuFileHandle handle, StridedCopy rows, MemoryRange to, long offset) {
        if (rows.rows() == 1) {
            control.moved().readFully(handle, to.slice(offset, rows.width()), rows.fileOffset());
            return;
        }
        long length = rows.fileEnd() - rows.fileOffset();
        ScatterCopy copy = new ScatterCopy(
                0, rows.filePitch(), rows.width(), rows.rows(), to, offset, rows.slicePitch());
        long read = control.moved().readScattered(handle, rows.fileOffset(), length, List.of(copy));
        if (read < length) {
            throw CheckedFiles.changed(handle.path().orElseThrow(), "the file ends at %s, within a tensor"
                    .formatted(rows.fileOffset() + read));
        }
    }

    /** Checks that no file of a checkpoint changed meanwhile. */
    void finish() {
        originals.finish();
    }

    @Override
    public void close() {
        try (reordered) {
            originals.close();
        }
    }
}
