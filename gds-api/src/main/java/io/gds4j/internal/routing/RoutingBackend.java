package io.gds4j.internal.routing;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.DriverControls;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.StreamRequest;
import io.gds4j.spi.TransferArguments;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Two backends as one: the first backend serves each file that it takes, the second one serves the others.
 *
 * <p>
 * The second backend is made and opened when it is first needed. It serves all files if the first backend cannot be opened, and
 * files that the first one refuses with a code such as IO_NOT_SUPPORTED or HANDLE_NOT_REGISTERED. It continues valid transfers
 * from the byte at which they failed, and takes whole batches that hold one of its files. Parameters, limits, version and
 * statistics are those of the first backend, if it is open.
 */
public final class RoutingBackend implements CuFileBackend {
    private final BackendPair pair;
    private final DriverControls controls;
    private final RoutedFiles files;
    private final RoutedTransfers transfers;
    private final RoutedStreams streams = new RoutedStreams();

    /**
     * Routes between two backends whose drivers are closed.
     *
     * @param first the preferred backend
     * @param second makes the other backend when it is first needed
     */
    public RoutingBackend(CuFileBackend first, Supplier<CuFileBackend> second) {
        this(new BackendPair(Objects.requireNonNull(first, "first"), Objects.requireNonNull(second, "second")));
    }

    private RoutingBackend(BackendPair pair) {
        this.pair = pair;
        this.controls = new RoutedControls(pair);
        this.files = new RoutedFiles(pair);
        this.transfers = new RoutedTransfers(pair, files);
    }

    @Override
    public String name() {
        return pair.preferred().name();
    }

    @Override
    public MemoryAllocator allocator() {
        return pair.first().allocator();
    }

    @Override
    public DriverControls controls() {
        return controls;
    }

    // ---- driver

    @Override
    public void driverOpen() {
        pair.open();
    }

    @Override
    public void driverClose() {
        if (pair.users() == 1) {
            streams.clear();
        }
        pair.close();
    }

    @Override
    public long useCount() {
        return pair.users();
    }

    // ---- files

    @Override
    public BackendFile handleRegister(FileSource source) {
        return files.register(source);
    }

    @Override
    public void handleDeregister(BackendFile file) {
        files.deregister(file);
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfers.move("cuFileRead", CuFileBackend::read, file, base, size, fileOffset, bufferOffset);
    }

    /** The second backend moves what the first one has left of a request. */
    @Override
    public long transfer(BatchRequest request) {
        return transfers.move(
                request.operation().function(), request.file(), request.size(), request.fileOffset(),
                (backend, own, done) -> {
                    BatchRequest rest = request.rest(done);
                    if (rest.size() == request.size() - done) {
                        return backend.transfer(rest.at(own));
                    }
                    // No fragment is left: a backend that moves none does not tell where the file ends. So it moves all of them again.
                    return backend.transfer(request.at(own)) - done;
                });
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfers.move("cuFileWrite", CuFileBackend::write, file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return moveVector(
                "cuFileReadv", file, ranges, fileOffset,
                (backend, own, rest, offset) -> backend.readv(own, rest, offset, flags));
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return moveVector(
                "cuFileWritev", file, ranges, fileOffset,
                (backend, own, rest, offset) -> backend.writev(own, rest, offset, flags));
    }

    /** A vector of either backend. */
    private interface Vector {
        long run(CuFileBackend backend, BackendFile file, List<MemoryRange> ranges, long fileOffset);
    }

    private long moveVector(
            String function, BackendFile file, List<MemoryRange> ranges, long fileOffset, Vector vector) {
        long size = TransferArguments.total(ranges);
        return transfers.move(
                function, file, size, fileOffset,
                (backend, own, done) -> done > 0 && done == size
                        ? 0
                        : vector.run(backend, own, behind(ranges, done), fileOffset + done));
    }

    /** Returns the memory behind the first bytes of several ranges. */
    private static List<MemoryRange> behind(List<MemoryRange> ranges, long done) {
        List<MemoryRange> rest = new ArrayList<>(ranges);
        long left = done;
        while (left > 0 && !rest.isEmpty() && rest.getFirst().length() <= left) {
            left -= rest.removeFirst().length();
        }
        if (left > 0 && !rest.isEmpty()) {
            MemoryRange cut = rest.getFirst();
            rest.set(0, cut.slice(left, cut.length() - left));
        }
        return rest;
    }

    @Override
    public boolean waitsForDisk(BackendFile file, long fileOffset, long size) {
        RoutedFile routed = files.own("waitsForDisk", file);
        BackendFile first = routed.first();
        return first != null
                ? pair.first().waitsForDisk(first, fileOffset, size)
                : pair.second().waitsForDisk(files.atSecond(routed), fileOffset, size);
    }

    @Override
    public MemoryAllocation stage(MemoryRange destination, long bytes) {
        return pair.preferred().stage(destination, bytes);
    }

    // ---- buffers

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        pair.register(range, flags, CuFileBackend::bufRegister);
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int flags) {
        pair.register(range, flags, CuFileBackend::bufRegisterNow);
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        pair.deregister(range);
    }

    // ---- batches

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        pair.checkOpen("cuFileBatchIOSetUp");
        return new RoutedBatch(pair.preferred(), capacity);
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        RoutedBatch routed = own(batch, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, "cuFileBatchIOSubmit");
        List<RoutedFile> own =
                requests.stream().map(request -> files.own("cuFileBatchIOSubmit", request.file())).toList();
        boolean atFirst = pair.isFirstOpen() && own.stream().allMatch(file -> file.first() != null);
        List<BatchRequest> translated = IntStream.range(0, own.size())
                .mapToObj(i -> requests.get(i).at(
                        Objects.requireNonNull(atFirst ? own.get(i).first() : files.atSecond(own.get(i)))))
                .toList();
        routed.submit(atFirst ? pair.first() : pair.second(), translated, flags);
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(
            BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        if (minimum < 0 || maximum < minimum) {
            throw CuFileException.invalid("cuFileBatchIOGetStatus",
                    "minimum is %s, allowed: 0 to the maximum of %s".formatted(minimum, maximum));
        }
        return own(batch, CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, "cuFileBatchIOGetStatus")
                .await(minimum, maximum, timeout);
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        own(batch, CuFileError.INTERNAL_BATCH_CANCEL_ERROR, "cuFileBatchIOCancel").cancel();
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        if (batch instanceof RoutedBatch routed) {
            routed.destroy();
        }
    }

    private RoutedBatch own(BackendBatch batch, CuFileError error, String function) {
        pair.checkOpen(function);
        if (batch instanceof RoutedBatch routed) {
            return routed;
        }
        throw CuFileException.of(error, function, "not a batch of this driver session");
    }

    // ---- streams

    @Override
    public void readAsync(StreamRequest request) {
        queue("cuFileReadAsync", request, CuFileBackend::readAsync);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        queue("cuFileWriteAsync", request, CuFileBackend::writeAsync);
    }

    private void queue(String function, StreamRequest request, BiConsumer<CuFileBackend, StreamRequest> call) {
        RoutedFile routed = files.own(function, request.file());
        BackendFile preferred = routed.first();
        if (preferred != null && streams.isAtFirst(request.stream())) {
            call.accept(pair.first(), request.at(preferred));
            return;
        }
        BackendFile other = files.atSecond(routed);
        if (pair.isFirstOpen()) {
            streams.showToSecond(request.stream(), pair.second());
        }
        call.accept(pair.second(), request.at(other));
    }

    @Override
    public void streamRegister(long stream, int flags) {
        pair.checkOpen("cuFileStreamRegister");
        try {
            pair.preferred().streamRegister(stream, flags);
            streams.add(stream, flags, true);
        } catch (CuFileException e) {
            if (!pair.isFirstOpen() || e.error() != CuFileError.IO_NOT_SUPPORTED) {
                throw e;
            }
            // The first backend does not know this kind of stream, such as one without a GPU.
            pair.second().streamRegister(stream, flags);
            streams.add(stream, flags, false);
        }
    }

    @Override
    public void streamDeregister(long stream) {
        pair.checkOpen("cuFileStreamDeregister");
        RoutedStreams.Stream known = streams.remove(stream);
        CuFileBackend other = pair.secondIfOpen();
        try {
            if (known.atFirst()) {
                pair.preferred().streamDeregister(stream);
            }
        } finally {
            if (known.atSecond() && other != null) {
                other.streamDeregister(stream);
            }
        }
    }

    /**
     * Records which of two backends know a registered stream. A stream that the first backend knows is registered with the second
     * one when a file of that backend is first used on it.
     */
    private static final class RoutedStreams {
        private static final Stream UNREGISTERED = new Stream(0, true, false);

        private final Map<Long, Stream> streams = new HashMap<>();

        /** The flags of a registered stream, and which backends know it. */
        record Stream(int flags, boolean atFirst, boolean atSecond) {
        }

        /** Adds a stream that one backend has registered: the first, or else the second. */
        synchronized void add(long stream, int flags, boolean atFirst) {
            streams.put(stream, new Stream(flags, atFirst, !atFirst));
        }

        /** Whether the first backend can serve the stream; it serves unregistered streams, too. */
        synchronized boolean isAtFirst(long stream) {
            return streams.getOrDefault(stream, UNREGISTERED).atFirst();
        }

        /** Registers a registered stream with the second backend, too, unless that knows it already. */
        synchronized void showToSecond(long stream, CuFileBackend second) {
            Stream known = streams.get(stream);
            if (known != null && !known.atSecond()) {
                second.streamRegister(stream, known.flags());
                streams.put(stream, new Stream(known.flags(), true, true));
            }
        }

        synchronized Stream remove(long stream) {
            Stream known = streams.remove(stream);
            return known == null ? UNREGISTERED : known;
        }

        synchronized void clear() {
            streams.clear();
        }
    }
}
