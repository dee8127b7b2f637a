package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.internal.Workers;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.function.ObjIntConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Writes the content of the files of a plan: first the data, then the headers. */
final class FileWriter implements AutoCloseable {
    private static final int MAX_SYNCS = 8;

    private final SaveContent content;
    private final CuFileDriver driver;
    private final SaveControl control;
    private final SaveListener listener;
    private final boolean staged;
    private final OutputFiles outputs;
    private final TensorBytes tensors;
    private final Checksums checksums;
    private final long total;
    private long written;

    FileWriter(SaveContent content, CuFileDriver driver, Snapshot snapshot, SaveControl control,
            SaveListener listener) {
        this.content = content;
        this.driver = driver;
        this.control = control;
        this.listener = listener;
        this.staged = content.options().checksums() || readsTensors(content);
        this.outputs = new OutputFiles(driver, content.options().direct(), control.moved());
        this.tensors = new TensorBytes(content, driver, snapshot, control);
        this.checksums = new Checksums(content, driver.allocator());
        this.total = content.files().stream().mapToLong(SaveFile::size).sum();
    }

    private static boolean readsTensors(SaveContent content) {
        return content.files()
                .stream()
                .flatMap(file -> file.tensors().stream())
                .anyMatch(tensor -> !tensor.isReady());
    }

    /** Creates the temporary files, reserves their space, and writes them. */
    void write(Publication publication) {
        tensors.open();
        for (int i = 0; i < content.files().size(); i++) {
            control.checkStopped();
            outputs.create(publication.temporary(i), StandardOpenOption.CREATE_NEW);
            publication.protect(i, publication.temporary(i));
        }
        reserve();
        writeContent();
    }

    /** Writes the only file once more, under its final name: for file systems without renames. */
    void writeInPlace(Publication publication) {
        tensors.open();
        outputs.forget();
        publication.keepTemporary();
        publication.removeOld(0);
        outputs.create(publication.place(0), StandardOpenOption.CREATE_NEW);
        publication.protect(0, publication.place(0));
        written = 0;
        reserve();
        writeContent();
        sync();
        close();
        publication.delete(0);
        publication.finishFile();
    }

    /** Runs work for each number from 0, on threads that write with a writer of their own each. */
    private void eachRange(int count, ObjIntConsumer<RangeWriter> work) {
        int inFlight = content.options().writesInFlight();
        control.run(new Workers("gds-save-", inFlight, count, () -> new RangeWriter(work)));
    }

    private void reserve() {
        for (int i = 0; i < content.files().size(); i++) {
            control.checkStopped();
            long size = content.files().get(i).size();
            try (OutputFiles.Share share = outputs.borrow(i)) {
                share.file().reserve(size);
            }
        }
    }

    private void writeContent() {
        int inFlight = content.options().writesInFlight();
        List<WriteRange> pieces = WriteRange.of(content.files(), inFlight, staged);
        checksums.expect(pieces.size());
        tensors.expect(pieces);
        eachRange(pieces.size(), (writer, number) -> writer.write(number, pieces.get(number)));
        List<SaveFile> files = content.files();
        tensors.expect(IntStream.range(0, files.size())
                .mapToObj(number -> WriteRange.dataOfHead(number, files.get(number)))
                .toList());
        eachRange(files.size(), (writer, number) -> writer.writeHead(number, pieces));
        tensors.finish();
    }

    /** Forces the files to the disk. A failure is final: the kernel may have dropped what it could not write. */
    void sync() {
        control.run(new Workers("gds-save-", MAX_SYNCS, content.files().size(), () -> number -> {
            long size = content.files().get(number).size();
            try (OutputFiles.Share share = outputs.borrow(number)) {
                // direct I/O of some file systems ends on a block, past the last byte
                if (share.file().size() != size) {
                    share.file().truncate(size);
                }
            }
            outputs.force(number);
        }));
    }

    private synchronized void progress(long bytes) {
        written += bytes;
        listener.progress(written, total);
    }

    @Override
    public void close() {
        try (tensors) {
            outputs.close();
        }
    }

    /** Writes pieces on one thread; allocates the memory to put them together at first need. */
    private final class RangeWriter implements Workers.Worker {
        private final ObjIntConsumer<RangeWriter> work;
        private final Checksums.Calculator calculator = checksums.calculator();
        private @Nullable MemoryAllocation buffer;

        RangeWriter(ObjIntConsumer<RangeWriter> work) {
            this.work = work;
        }

        @Override
        public void work(int number) {
            work.accept(this, number);
        }

        void write(int number, WriteRange piece) {
            SaveFile file = content.files().get(piece.file());
            IoMemory whole = piece.tensor() == WriteRange.JOINED
                    ? null
                    : tensors.memory(piece.file(), piece.tensor()).orElse(null);
            if (whole != null && (!staged || checksums.canRead(whole))) {
                long offset = piece.begin() - file.begin(piece.tensor());
                calculator.add(number, piece.tensor(), whole.range().slice(offset, piece.length()));
                outputs.write(piece.file(), whole, piece.length(), piece.begin(), offset);
            } else {
                MemoryRange memory = buffer(Math.max(piece.length(), WriteRange.BUFFER));
                join(number, piece, memory);
                outputs.write(piece.file(), memory, piece.length(), piece.begin(), 0);
            }
            progress(piece.length());
        }

        /** Writes the header, whose last page may hold the first bytes of data. */
        void writeHead(int number, List<WriteRange> pieces) {
            SaveFile file = content.files().get(number);
            WriteRange head = WriteRange.head(number, file);
            MemoryRange memory = buffer(Math.max(head.length(), WriteRange.BUFFER));
            join(Checksums.HEAD, WriteRange.dataOfHead(number, file),
                    memory.slice(file.dataOffset(), memory.length() - file.dataOffset()));
            byte[] header = file.header(calculator.ofTensors(number, pieces));
            driver.allocator().copyFromHost(MemorySegment.ofArray(header), memory);
            outputs.write(number, memory, head.length(), 0, 0);
            progress(head.length());
        }

        private void join(int number, WriteRange piece, MemoryRange to) {
            tensors.copy(piece, to, (tensor, part) -> calculator.add(number, tensor, part));
        }

        private MemoryRange buffer(long bytes) {
            MemoryAllocation known = buffer;
            if (known == null || known.length() < bytes) {
                close();
                known = driver.allocator().allocate(bufferKind(), bytes, bufferDevice());
                buffer = known;
            }
            return known.range();
        }

        private MemoryKind bufferKind() {
            if (content.options().stagingDevice() != MemoryRange.NO_DEVICE) {
                return MemoryKind.CUDA_DEVICE;
            }
            return driver.allocator().supports(MemoryKind.HOST_PINNED) ? MemoryKind.HOST_PINNED : MemoryKind.HOST;
        }

        private int bufferDevice() {
            return content.options().stagingDevice();
        }

        @Override
        public void close() {
            if (buffer != null) {
                buffer.close();
                buffer = null;
            }
        }
    }
}
