package io.gds4j.dataset;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** The open files of a data set and the memory that its batches share. */
final class RecordMemory implements AutoCloseable {
    /** Copies at a time: as many keep a link busy, and threads that wait in the CUDA driver hinder each other. */
    private static final int MAX_COPIES = 4;

    /** Bytes that move at a time where records move by less than their length. */
    private static final int MOVED_BYTES = 4 << 20;

    private final Semaphore copies = new Semaphore(MAX_COPIES);
    private final CuFileDriver driver;
    private final List<CuFileHandle> files = new ArrayList<>();
    private final MemoryAllocation memory;
    private boolean staged;
    private @Nullable CuFileBuffer registered;
    private Runnable closing = () -> {};

    RecordMemory(
            CuFileDriver driver, RecordSource source, MemoryKind kind, int device, long bytes, OpenOption... options) {
        this.driver = driver;
        this.memory = driver.allocator().allocate(kind, bytes, device);
        Undo.ifFails(this::close, () -> {
            for (Path path : source.files()) {
                files.add(driver.openFile(path, options));
            }
            register();
            staged = kind.isCuda() && files.stream().noneMatch(file -> file.ioPath().path().isDirect());
        });
    }

    /** Registers the memory, which serves every read. Reads work without it, so a refusal costs only speed. */
    private void register() {
        try {
            registered = driver.registerBuffer(memory);
        } catch (CuFileException e) {
            System.getLogger("io.gds4j.dataset").log(
                    System.Logger.Level.DEBUG, "the memory of the batches is not registered", e);
        }
    }

    /** Has this memory close something else with it. */
    void closesToo(Runnable other) {
        closing = other;
    }

    CuFileDriver driver() {
        return driver;
    }

    CuFileHandle file(int index) {
        return files.get(index);
    }

    /** The memory as a target of reads. */
    IoMemory target() {
        CuFileBuffer buffer = registered;
        return buffer == null ? memory.range() : buffer;
    }

    MemoryRange slice(long offset, long bytes) {
        return memory.range().slice(offset, bytes);
    }

    long bytes() {
        return memory.length();
    }

    /** Tells whether bytes come through host memory anyway, so that the loader may stage them itself. */
    boolean isStaged() {
        return staged;
    }

    /** Copies staged records into the memory of the ring. */
    void copyIn(MemoryRange from, long offset) {
        copies.acquireUninterruptibly();
        try {
            driver.allocator().copy(from, slice(offset, from.length()));
        } finally {
            copies.release();
        }
    }

    /** Returns the CRC-32C of bytes, which come to the host in pieces if they lie in GPU memory. */
    long crc32c(long offset, long length) {
        CRC32C crc = new CRC32C();
        Optional<MemorySegment> host = memory.range().segment();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stage = arena.allocate(host.isPresent() ? 0 : Math.min(length, MOVED_BYTES));
            for (long done = 0; done < length; done += MOVED_BYTES) {
                long size = Math.min(length - done, MOVED_BYTES);
                MemorySegment part = host.isPresent()
                        ? host.get().asSlice(offset + done, size)
                        : stage.asSlice(0, size);
                if (host.isEmpty()) {
                    driver.allocator().copyToHost(slice(offset + done, size), part);
                }
                crc.update(part.asByteBuffer());
            }
        }
        return crc.getValue();
    }

    /** Copies the first bytes of a record, which are fewer if it is shorter. */
    ByteBuffer head(MemoryRange record, int bytes) {
        ByteBuffer head = ByteBuffer.allocate((int) Math.min(bytes, record.length())).order(ByteOrder.LITTLE_ENDIAN);
        if (head.hasRemaining()) {
            driver.allocator().copyToHost(record.slice(0, head.capacity()), MemorySegment.ofBuffer(head));
        }
        return head;
    }

    MemoryKind kind() {
        return memory.range().kind();
    }

    /** Moves the good records of a batch together, in their order. */
    void leaveOutBad(BatchBuffer buffer) {
        if (!buffer.anyBad) {
            return;
        }
        int kept = 0;
        long at = 0;
        // First byte of the good records that have not moved yet, and where they belong.
        long from = 0;
        long to = 0;
        for (int i = 0; i < buffer.count; i++) {
            long end = buffer.offsets[i + 1];
            if (buffer.bad[i]) {
                move(buffer.base + from, buffer.base + to, buffer.offsets[i] - from);
                from = end;
                to = at;
            } else {
                long length = end - buffer.offsets[i];
                buffer.records[kept] = buffer.records[i];
                buffer.offsets[kept] = at;
                kept++;
                at += length;
            }
        }
        move(buffer.base + from, buffer.base + to, at - to);
        buffer.offsets[kept] = at;
        buffer.skipped = buffer.count - kept;
        buffer.bytes = at;
    }

    /** Moves bytes towards the begin of the memory. The ranges may overlap, which those of a copy must not. */
    private void move(long from, long to, long length) {
        long distance = from - to;
        if (distance == 0 || length == 0) {
            return;
        }
        Optional<MemorySegment> host = memory.range().segment();
        if (host.isPresent()) {
            MemorySegment.copy(host.get(), from, host.get(), to, length);
        } else if (distance >= Math.min(length, MOVED_BYTES)) {
            for (long done = 0; done < length; done += distance) {
                long part = Math.min(distance, length - done);
                driver.allocator().copy(slice(from + done, part), slice(to + done, part));
            }
        } else {
            moveThroughHost(from, to, length);
        }
    }

    private void moveThroughHost(long from, long to, long length) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stage = arena.allocate(Math.min(length, MOVED_BYTES));
            for (long done = 0; done < length; done += stage.byteSize()) {
                MemorySegment part = stage.asSlice(0, Math.min(stage.byteSize(), length - done));
                driver.allocator().copyToHost(slice(from + done, part.byteSize()), part);
                driver.allocator().copyFromHost(part, slice(to + done, part.byteSize()));
            }
        }
    }

    @Override
    public void close() {
        List<Runnable> all = new ArrayList<>();
        files.forEach(file -> all.add(file::close));
        CuFileBuffer buffer = registered;
        if (buffer != null) {
            all.add(buffer::close);
        }
        all.add(closing);
        all.add(memory::close);
        Closing.all(all, Runnable::run);
    }
}
