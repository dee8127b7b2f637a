package io.gds4j.loader;

import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.numpy.NpzFormat;
import io.gds4j.loader.internal.OpenFiles;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.loader.internal.zip.ZipArchive;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.source.FileVersion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Compares tensors in their target memory with their files. Reads the files by {@link FileChannel}, independently of the load.
 * Refuses a file that was replaced since it was loaded, and arrays of {@code .npz} whose CRC-32 differs.
 * Uses all cores, with a few MiB of memory for each.
 *
 * <pre>{@code
 * VerificationReport report = CheckpointVerifier.verify(tensors);
 * report.mismatches().forEach(System.err::println);
 * }</pre>
 *
 * @since 0.1
 */
public final class CheckpointVerifier {
    private static final String FUNCTION = "CheckpointVerifier.verify";
    /** Bytes that a thread compares at a time. */
    private static final long CHUNK = 4 << 20;

    /** A part of a tensor. */
    private record Part(int tensor, long offset, long length) {
    }

    private final LoadedTensors loaded;
    private final LongConsumer progress;
    private final List<LoadedTensor> tensors;
    /** For each tensor, the bytes of the file that it consists of. */
    private final List<TensorSlice> slices = new ArrayList<>();
    private final List<Part> parts = new ArrayList<>();
    /** Offsets of the tensors, by their files. */
    private final Map<Path, NavigableSet<Long>> offsets = new LinkedHashMap<>();
    private final List<Path> files;
    private final Sources sources = new Sources();
    private final @Nullable TensorMismatch[] mismatches;
    private long bytes;
    private @Nullable CheckpointException broken;

    private CheckpointVerifier(LoadedTensors loaded, LongConsumer progress) {
        this.loaded = loaded;
        this.progress = progress;
        this.tensors = loaded.tensors();
        this.mismatches = new TensorMismatch[tensors.size()];
        for (int i = 0; i < tensors.size(); i++) {
            long length = tensors.get(i).length();
            slices.add(loaded.slice(tensors.get(i).info().name()));
            for (long at = 0; at < length; at += CHUNK) {
                parts.add(new Part(i, at, Math.min(CHUNK, length - at)));
            }
            TensorInfo info = tensors.get(i).info();
            if (length > 0) {
                offsets.computeIfAbsent(info.file(), file -> new TreeSet<>()).add(info.fileOffset());
            }
        }
        this.files = List.copyOf(offsets.keySet());
    }

    /** Compares every tensor that was not taken; see {@link #verify(LoadedTensors, LongConsumer)}. */
    public static VerificationReport verify(LoadedTensors loaded) {
        return verify(loaded, done -> {
        });
    }

    /**
     * Compares every tensor that was not taken.
     *
     * @param progress receives the bytes compared so far, on threads of the verifier, one call at a time
     * @throws CheckpointException FILE_CHANGED if a file was replaced since its header was read, or written without a difference in
     *         the tensors; FILE_NOT_FOUND if it is gone; for an array of {@code .npz} whose bytes have another CRC-32
     * @throws io.gds4j.error.CuFileException IO_ERROR if a file cannot be read
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static VerificationReport verify(LoadedTensors loaded, LongConsumer progress) {
        return new CheckpointVerifier(loaded, progress).run();
    }

    private VerificationReport run() {
        long start = System.nanoTime();
        try (sources) {
            new Workers("gds-verify-", Workers.cores(), parts.size() + files.size(), Comparison::new).run(FUNCTION);
            sources.finish();
        }
        List<TensorMismatch> found = new ArrayList<>();
        for (TensorMismatch mismatch : mismatches) {
            if (mismatch != null) {
                found.add(mismatch);
            }
        }
        if (found.isEmpty()) {
            sources.throwIfChanged();
            if (broken != null) {
                throw broken;
            }
        }
        return VerificationReport.of(tensors.size(), bytes, (System.nanoTime() - start) / 1e9, found);
    }

    /**
     * The files that were loaded. One that was replaced proves nothing. One that was written meanwhile may differ, which is what a
     * verification tells; but it cannot prove that the tensors are right.
     */
    private final class Sources extends OpenFiles<OpenedFile> {
        private @Nullable CheckpointException changed;

        @Override
        protected OpenedFile openFile(Path path) {
            try {
                return OpenedFile.open(path);
            } catch (IOException e) {
                throw CheckpointException.of(path, e);
            }
        }

        @Override
        protected void finishFile(Path path, OpenedFile file) {
            try {
                FileVersion before = loaded.version(path);
                FileVersion now = file.version();
                if (!now.isSameFileAs(before)) {
                    throw CheckpointException.changed(path, before, now);
                }
                if (!now.isSameAs(before)) {
                    changed = CheckpointException.changed(path, before, now);
                }
            } catch (IOException e) {
                throw CheckpointException.of(path, e);
            }
        }

        @Override
        protected void closeFile(OpenedFile file) {
            file.close();
        }

        void throwIfChanged() {
            if (changed != null) {
                throw changed;
            }
        }
    }

    private synchronized void done(Part part, @Nullable TensorMismatch found) {
        bytes += part.length;
        TensorMismatch known = mismatches[part.tensor];
        if (found != null && (known == null || found.offset() < known.offset())) {
            mismatches[part.tensor] = found;
        }
        progress.accept(bytes);
    }

    private synchronized void broken(CheckpointException e) {
        broken = e;
    }

    /** Compares parts on one thread, in its own memory for the bytes of the file and of the target. */
    private final class Comparison implements Workers.Worker {
        private final Arena arena = Arena.ofConfined();
        private final MemorySegment expected = arena.allocate(CHUNK, Pages.SIZE);
        private final MemorySegment copy = arena.allocate(CHUNK, Pages.SIZE);

        @Override
        public void work(int number) throws IOException {
            if (number >= parts.size()) {
                checkArchive(files.get(number - parts.size()));
                return;
            }
            Part part = parts.get(number);
            LoadedTensor tensor = tensors.get(part.tensor);
            MemorySegment actual = inMemory(tensor, part);
            long read = read(part);
            long at = MemorySegment.mismatch(expected, 0, read, actual, 0, read);
            if (at >= 0) {
                done(part, new TensorMismatch(tensor.info(), part.offset + at, unsigned(expected, at),
                        unsigned(actual, at)));
            } else if (read < part.length) {
                done(part, new TensorMismatch(tensor.info(), part.offset + read, -1, -1));
            } else {
                done(part, null);
            }
        }

        /** Compares the arrays of an archive with its checksums. Those of PyTorch are optional: torch can leave them out. */
        private void checkArchive(Path file) {
            try (FormatInput in = FormatInput.open(file)) {
                if (new NpzFormat().recognize(in) instanceof Recognition.Recognized) {
                    ZipArchive.checkSums(in, offsets.get(file), expected.asByteBuffer());
                }
            } catch (CheckpointException e) {
                broken(e);
            }
        }

        private MemorySegment inMemory(LoadedTensor tensor, Part part) {
            Optional<MemorySegment> host = tensor.range().segment();
            if (host.isPresent()) {
                return host.get().asSlice(part.offset, part.length);
            }
            MemorySegment actual = copy.asSlice(0, part.length);
            tensor.copyToHost(part.offset, actual);
            return actual;
        }

        /** Returns how many bytes of the part the file still has. */
        private long read(Part part) throws IOException {
            long complete = part.length;
            for (StridedCopy copy : slices.get(part.tensor).copies()) {
                long pitch = copy.rows() == 1 ? copy.width() : copy.slicePitch();
                long first = Math.max(0, Math.floorDiv(part.offset - copy.sliceOffset() - copy.width(), pitch));
                for (long row = first; row < copy.rows(); row++) {
                    long begin = copy.sliceOffset() + row * pitch;
                    long from = Math.max(begin, part.offset);
                    long length = Math.min(begin + copy.width(), part.offset + part.length) - from;
                    if (begin >= part.offset + part.length) {
                        break;
                    }
                    if (length > 0) {
                        long position = copy.fileOffset() + row * copy.filePitch() + from - begin;
                        long read = read(slices.get(part.tensor).file(copy), position, from - part.offset, length);
                        complete = read < length ? Math.min(complete, from - part.offset + read) : complete;
                    }
                }
            }
            return complete;
        }

        private long read(Path path, long position, long offset, long length) throws IOException {
            ByteBuffer buffer = expected.asSlice(offset, length).asByteBuffer();
            try (Sources.Share share = sources.borrow(path)) {
                while (buffer.hasRemaining()) {
                    if (share.file().channel().read(buffer, position + buffer.position()) < 0) {
                        break;
                    }
                }
            }
            return buffer.position();
        }

        private static int unsigned(MemorySegment segment, long at) {
            return segment.get(ValueLayout.JAVA_BYTE, at) & 0xff;
        }

        @Override
        public void close() {
            arena.close();
        }
    }
}
