package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.loader.internal.Workers;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Writes the content of the files of a plan: first the data, then the headers. */
final class FileWriter implements AutoCloseable {
    private static final int MOST_SYNCS = 8;

    private final SaveContent plan;
    private final CuFileDriver driver;
    private final Snapshot snapshot;
    private final SaveJob job;
    private final SaveListener listener;
    private final boolean staged;
    private final List<CuFileHandle> handles = new ArrayList<>();
    private final Map<Path, CuFileHandle> originals = new HashMap<>();
    private final Checksums checksums;
    private final long total;
    private long written;

    FileWriter(SaveContent plan, CuFileDriver driver, Snapshot snapshot, SaveJob job, SaveListener listener) {
        this.plan = plan;
        this.driver = driver;
        this.snapshot = snapshot;
        this.job = job;
        this.listener = listener;
        this.staged = plan.options().checksums() || hasFiles(plan);
        this.checksums = new Checksums(plan, driver.allocator());
        this.total = plan.files().stream().mapToLong(SaveFile::size).sum();
    }

    private static boolean hasFiles(SaveContent plan) {
        return plan.files()
                .stream()
                .flatMap(file -> file.tensors().stream())
                .anyMatch(tensor -> tensor.source() instanceof SaveTensor.InFile);
    }

    /** Creates the temporary files, reserves their space, and writes them. */
    void write(Publication publication) {
        openOriginals();
        for (int i = 0; i < plan.files().size(); i++) {
            job.checkStopped();
            handles.add(open(publication.temporary(i), StandardOpenOption.CREATE_NEW));
            publication.copyPermissions(i);
        }
        reserve();
        writeContent();
    }

    /** Writes the only file once more, under its final name: for file systems without renames. */
    void writeInPlace(Publication publication) {
        openOriginals();
        CuFileHandle handle = open(publication.place(0), StandardOpenOption.CREATE);
        handles.add(handle);
        written = 0;
        handle.truncate(0);
        reserve();
        writeContent();
        sync();
        close();
        publication.delete(0);
        publication.finishFile();
    }

    private CuFileHandle open(Path path, OpenOption creation) {
        Set<OpenOption> options = new HashSet<>(Set.of(creation, StandardOpenOption.WRITE));
        if (plan.options().direct()) {
            options.add(CuFileOpenOption.DIRECT);
        }
        return driver.openFile(path, options.toArray(OpenOption[]::new));
    }

    private void openOriginals() {
        for (SaveFile file : plan.files()) {
            for (SaveTensor tensor : file.tensors()) {
                if (tensor.source() instanceof SaveTensor.InFile original) {
                    job.checkStopped();
                    originals.computeIfAbsent(original.tensor().file(), driver::openFile);
                }
            }
        }
    }

    private void reserve() {
        for (int i = 0; i < handles.size(); i++) {
            job.checkStopped();
            handles.get(i).reserve(plan.files().get(i).size());
        }
    }

    private void writeContent() {
        int inFlight = plan.options().writesInFlight();
        List<Piece> pieces = Piece.of(plan.files(), inFlight, staged);
        checksums.expect(pieces.size());
        job.run(new Workers("gds-save-", inFlight, pieces.size(), () -> new PieceWriter() {
            @Override
            public void work(int number) {
                write(number, pieces.get(number));
            }
        }));
        List<SaveFile> files = plan.files();
        job.run(new Workers("gds-save-", inFlight, files.size(), () -> new PieceWriter() {
            @Override
            public void work(int number) {
                writeHead(number, pieces);
            }
        }));
    }

    /** Forces the files to the disk. A failure is final: the kernel may have dropped what it could not write. */
    void sync() {
        Workers syncs = new Workers(
                "gds-save-", MOST_SYNCS, handles.size(), () -> number -> handles.get(number).force(false));
        job.run(syncs);
    }

    private synchronized void progress(long bytes) {
        written += bytes;
        listener.progress(written, total);
    }

    @Override
    public void close() {
        List<CuFileHandle> open = new ArrayList<>(handles);
        open.addAll(originals.values());
        handles.clear();
        originals.clear();
        closeAll(open);
    }

    /** Closes all files, even if one reports a failure. */
    private static void closeAll(List<CuFileHandle> open) {
        for (int i = 0; i < open.size(); i++) {
            boolean closed = false;
            try {
                open.get(i).close();
                closed = true;
            } finally {
                if (!closed) {
                    closeAll(open.subList(i + 1, open.size()));
                }
            }
        }
    }

    /** Writes pieces on one thread; allocates the memory to put them together at first need. */
    private abstract class PieceWriter implements Workers.Worker {
        private final Checksums.Calculator calculator = checksums.calculator();
        private @Nullable MemoryAllocation slab;

        void write(int number, Piece piece) {
            SaveFile file = plan.files().get(piece.file());
            IoMemory whole = piece.tensor() == Piece.GATHERED ? null : memory(piece.file(), piece.tensor());
            if (whole != null && (!staged || checksums.canRead(whole))) {
                long offset = piece.begin() - file.begin(piece.tensor());
                calculator.add(number, piece.tensor(), whole.range(), offset, piece.length());
                handles.get(piece.file()).write(whole, piece.length(), piece.begin(), offset);
            } else {
                MemoryRange memory = slab(Math.max(piece.length(), Piece.SLAB));
                gather(number, piece, memory);
                handles.get(piece.file()).write(memory, piece.length(), piece.begin(), 0);
            }
            progress(piece.length());
        }

        /** Writes the header, whose last page may hold the first bytes of data. */
        void writeHead(int number, List<Piece> pieces) {
            SaveFile file = plan.files().get(number);
            Piece head = Piece.head(number, file);
            MemoryRange memory = slab(Math.max(head.length(), Piece.SLAB));
            gather(Checksums.HEAD, new Piece(number, file.dataOffset(), head.end(), Piece.GATHERED),
                    memory.slice(file.dataOffset(), memory.length() - file.dataOffset()));
            byte[] header = file.header(calculator.ofTensors(number, pieces));
            driver.allocator().copyFromHost(MemorySegment.ofArray(header), memory);
            handles.get(number).write(memory, head.length(), 0, 0);
            progress(head.length());
        }

        private @Nullable IoMemory memory(int file, int tensor) {
            return snapshot.source(file, tensor) instanceof SaveTensor.InMemory inMemory ? inMemory.memory() : null;
        }

        private void gather(int number, Piece piece, MemoryRange to) {
            SaveFile file = plan.files().get(piece.file());
            long at = piece.begin();
            for (int i = file.tensorAt(at); at < piece.end(); i++) {
                long length = Math.min(file.end(i), piece.end()) - at;
                if (length > 0) {
                    MemoryRange part = to.slice(at - piece.begin(), length);
                    copy(piece.file(), i, at - file.begin(i), part);
                    calculator.add(number, i, part, 0, length);
                    at += length;
                }
            }
        }

        private void copy(int file, int tensor, long offset, MemoryRange to) {
            switch (snapshot.source(file, tensor)) {
                case SaveTensor.InMemory memory ->
                    driver.allocator().copy(memory.memory().range().slice(offset, to.length()), to);
                case SaveTensor.InFile original ->
                    originals.get(original.tensor().file())
                            .readFully(to, original.tensor().fileOffset() + offset);
            }
        }

        private MemoryRange slab(long bytes) {
            MemoryAllocation known = slab;
            if (known == null || known.length() < bytes) {
                close();
                known = driver.allocator().allocate(slabKind(), bytes, slabDevice());
                slab = known;
            }
            return known.range();
        }

        private MemoryKind slabKind() {
            if (plan.options().stagingDevice() != MemoryRange.NO_DEVICE) {
                return MemoryKind.CUDA_DEVICE;
            }
            return driver.allocator().supports(MemoryKind.HOST_PINNED) ? MemoryKind.HOST_PINNED : MemoryKind.HOST;
        }

        private int slabDevice() {
            return plan.options().stagingDevice();
        }

        @Override
        public void close() {
            if (slab != null) {
                slab.close();
                slab = null;
            }
        }
    }
}
