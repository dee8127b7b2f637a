package io.gds4j.spi;

import io.gds4j.config.DriverProperties;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * Two backends as one: each file is served by the first of them if it takes the file, else by the second.
 *
 * <p>
 * The second one is made and opened when it is first needed: when the first one cannot be opened; when it refuses a file
 * with IO_NOT_SUPPORTED, HANDLE_NOT_REGISTERED, INTERNAL_ERROR, IO_DISABLED and their like; when a transfer fails there
 * although its arguments are right, which is then repeated from the byte on at which it failed; and for a batch that holds a
 * file of the second one, which is served there as a whole. Parameters, limits, version and statistics are those of the first
 * one, if it is open.
 *
 * @since 0.1
 */
public final class RoutingBackend extends DriverFunctions {
    static final Logger LOG = System.getLogger("io.gds4j");

    /** Codes by which a backend says that it cannot serve a file, not that something is wrong with it. */
    private static final Set<CuFileError> NOT_HERE = EnumSet.of(
            CuFileError.DRIVER_NOT_INITIALIZED,
            CuFileError.PLATFORM_NOT_SUPPORTED,
            CuFileError.IO_NOT_SUPPORTED,
            CuFileError.DEVICE_NOT_SUPPORTED,
            CuFileError.DIO_NOT_SET,
            CuFileError.HANDLE_NOT_REGISTERED,
            CuFileError.INTERNAL_ERROR,
            CuFileError.GETNEWFD_FAILED,
            CuFileError.IO_DISABLED);

    /** Codes of a failed transfer that another backend would answer as well. */
    private static final Set<CuFileError> FINAL = EnumSet.of(
            CuFileError.DRIVER_NOT_INITIALIZED,
            CuFileError.DRIVER_CLOSING,
            CuFileError.INVALID_VALUE,
            CuFileError.INVALID_FILE_OPEN_FLAG,
            CuFileError.CUDA_POINTER_INVALID,
            CuFileError.CUDA_POINTER_RANGE_ERROR,
            CuFileError.INVALID_MAPPING_RANGE,
            CuFileError.HANDLE_NOT_REGISTERED);

    private final BackendPair pair;
    private final RoutedStreams streams = new RoutedStreams();
    private final AtomicBoolean told = new AtomicBoolean();

    /**
     * Over two backends whose drivers are closed.
     *
     * @param first serves what it can
     * @param second makes the one that serves the rest
     */
    public RoutingBackend(CuFileBackend first, Supplier<CuFileBackend> second) {
        this.pair = new BackendPair(Objects.requireNonNull(first, "first"), Objects.requireNonNull(second, "second"));
    }

    /** The first one's name, or the second one's once it turned out that the first one cannot be opened. */
    @Override
    public String name() {
        return speaker().name();
    }

    @Override
    CuFileBackend speaker() {
        return pair.speaker();
    }

    @Override
    public MemoryAllocator allocator() {
        return pair.first().allocator();
    }

    @Override
    public Map<IoPath, Long> bytesByPath() {
        Map<IoPath, Long> all = new HashMap<>(pair.first().bytesByPath());
        CuFileBackend other = pair.secondIfMade();
        if (other != null) {
            other.bytesByPath().forEach((path, bytes) -> all.merge(path, bytes, Long::sum));
        }
        return all;
    }

    @Override
    public long peakStagingBytes() {
        CuFileBackend other = pair.secondIfMade();
        return pair.first().peakStagingBytes() + (other == null ? 0 : other.peakStagingBytes());
    }

    @Override
    public EngineStatistics engineStatistics() {
        EngineStatistics one = pair.first().engineStatistics();
        CuFileBackend second = pair.secondIfMade();
        if (second == null) {
            return one;
        }
        EngineStatistics other = second.engineStatistics();
        return new EngineStatistics(
                bytesByPath(),
                one.bouncePoolBytes() + other.bouncePoolBytes(),
                one.bouncePoolPeakBytes() + other.bouncePoolPeakBytes(),
                one.queueDepth() + other.queueDepth(),
                one.retries() + other.retries(),
                one.ioUring().equals("off") ? other.ioUring() : one.ioUring());
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
        pair.openImplicitly();
        long session = pair.session();
        if (!pair.isFirstOpen()) {
            return new RoutedFile(this, session, pair.second().handleRegister(source), pair.whyNotFirst());
        }
        try {
            return new RoutedFile(this, session, pair.first().handleRegister(source));
        } catch (CuFileException e) {
            if (!NOT_HERE.contains(e.error()) || e.errno().isPresent()) {
                throw e;
            }
            String refusal = pair.first().name() + ": " + e.detail();
            LOG.log(Level.DEBUG, "{0}: {1}", e.path().map(Path::toString).orElse("descriptor"), refusal);
            return new RoutedFile(this, session, pair.second().handleRegister(made(source)), refusal);
        }
    }

    /** A file that had to be made stands there now. */
    private static FileSource made(FileSource source) {
        return source instanceof FileSource.Named named && named.createNew()
                ? new FileSource.Named(
                        named.path(),
                        named.read(),
                        named.write(),
                        true,
                        false,
                        named.truncate(),
                        named.direct(),
                        named.sync(),
                        named.dsync())
                : source;
    }

    @Override
    public void handleDeregister(BackendFile file) {
        if (file instanceof RoutedFile routed && routed.owner() == this && routed.end()) {
            BackendFile other = routed.second();
            BackendFile preferred = routed.first();
            CuFileBackend open = pair.secondIfOpen();
            if (other != null && open != null) {
                open.handleDeregister(other);
            }
            if (preferred != null) {
                pair.first().handleDeregister(preferred);
            }
        }
    }

    private RoutedFile own(String function, BackendFile file) {
        pair.checkOpen(function);
        if (file instanceof RoutedFile routed && routed.owner() == this && routed.isRegistered()) {
            return routed;
        }
        throw CuFileException.of(CuFileError.HANDLE_NOT_REGISTERED, function, "the file is not registered: " + file);
    }

    /** The file as the second backend knows it, which registers it now if it has to. */
    private BackendFile atSecond(RoutedFile file) {
        return lookUpAtSecond(file)
                .orElseThrow(() -> CuFileException.builder("cuFileHandleRegister")
                        .error(CuFileError.GETNEWFD_FAILED)
                        .path(file.path())
                        .detail("%s gives no descriptor to %s".formatted(pair.first().name(), pair.second().name()))
                        .build());
    }

    /** The same; empty if the first backend gives no descriptor to register. */
    private Optional<BackendFile> lookUpAtSecond(RoutedFile file) {
        BackendFile known = file.second();
        if (known != null) {
            return Optional.of(known);
        }
        // Afterwards the number may stand for another file.
        return pair.duringSession(file.session(), "cuFileHandleRegister", () -> {
            OptionalInt descriptor = file.ownDescriptor();
            if (descriptor.isEmpty()) {
                return Optional.empty();
            }
            CuFileBackend other = pair.second();
            return Optional.of(
                    file.second(() -> other.handleRegister(new FileSource.Descriptor(descriptor.getAsInt()))));
        });
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        RoutedFile routed = own("cuFileRead", file);
        BackendFile preferred = routed.first();
        if (preferred == null) {
            return pair.second().read(atSecond(routed), base, size, fileOffset, bufferOffset);
        }
        try {
            return pair.first().read(preferred, base, size, fileOffset, bufferOffset);
        } catch (CuFileException e) {
            return repeat(CuFileBackend::read, e, routed, base, size, fileOffset, bufferOffset);
        }
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        RoutedFile routed = own("cuFileWrite", file);
        BackendFile preferred = routed.first();
        if (preferred == null) {
            return pair.second().write(atSecond(routed), base, size, fileOffset, bufferOffset);
        }
        try {
            return pair.first().write(preferred, base, size, fileOffset, bufferOffset);
        } catch (CuFileException e) {
            return repeat(CuFileBackend::write, e, routed, base, size, fileOffset, bufferOffset);
        }
    }

    private interface Transfer {
        long run(
                CuFileBackend backend,
                BackendFile file,
                MemoryRange base,
                long size,
                long fileOffset,
                long bufferOffset);
    }

    /** Lets the second backend go on where the first one failed. */
    private long repeat(
            Transfer transfer,
            CuFileException failure,
            RoutedFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        long done = failure.bytesTransferred();
        BackendFile other = stepIn(file, failure);
        try {
            return done
                    + transfer.run(
                            pair.second(), other, base, size - done, fileOffset + done, bufferOffset + done);
        } catch (CuFileException e) {
            CuFileException.Builder whole = CuFileException.builder(e.function())
                    .error(e.error())
                    .path(file.path())
                    .range(fileOffset, size)
                    .transferred(done + e.bytesTransferred())
                    .detail(e.detail())
                    .cause(e);
            e.errno().ifPresent(whole::errno);
            CuFileException combined =
                    e instanceof CuFileInterruptedException ? whole.buildInterrupted() : whole.build();
            combined.addSuppressed(failure);
            throw combined;
        }
    }

    /** The file at the second backend, if that is to repeat what failed at the first; else the failure. */
    private BackendFile stepIn(RoutedFile file, CuFileException failure) {
        if (FINAL.contains(failure.error()) || failure instanceof CuFileInterruptedException) {
            throw failure;
        }
        boolean known = file.second() != null;
        BackendFile other = attempt(failure, () -> lookUpAtSecond(file)).orElseThrow(() -> failure);
        if (!known) {
            LOG.log(
                    told.getAndSet(true) ? Level.DEBUG : Level.WARNING,
                    "{0}; {1} repeats what {2} fails to do",
                    failure.getMessage(),
                    pair.second().name(),
                    pair.first().name());
        }
        return other;
    }

    private static <T> T attempt(CuFileException earlier, Supplier<T> repetition) {
        try {
            return repetition.get();
        } catch (CuFileException e) {
            e.addSuppressed(earlier);
            throw e;
        }
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return vectored("cuFileReadv", file, (backend, at) -> backend.readv(at, ranges, fileOffset, flags));
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return vectored("cuFileWritev", file, (backend, at) -> backend.writev(at, ranges, fileOffset, flags));
    }

    private interface Vectored {
        long run(CuFileBackend backend, BackendFile file);
    }

    private long vectored(String function, BackendFile file, Vectored call) {
        RoutedFile routed = own(function, file);
        BackendFile preferred = routed.first();
        if (preferred == null) {
            return call.run(pair.second(), atSecond(routed));
        }
        try {
            return call.run(pair.first(), preferred);
        } catch (CuFileException e) {
            BackendFile other = stepIn(routed, e);
            return attempt(e, () -> call.run(pair.second(), other));
        }
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
        return new RoutedBatch(speaker(), capacity);
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        RoutedBatch routed = own(batch, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, "cuFileBatchIOSubmit");
        List<RoutedFile> files =
                requests.stream().map(request -> own("cuFileBatchIOSubmit", request.file())).toList();
        boolean atFirst = pair.isFirstOpen() && files.stream().allMatch(file -> file.first() != null);
        List<BatchRequest> translated = requests.stream()
                .map(request -> at(request, atFirst ? preferred(request) : atSecond(own("", request.file()))))
                .toList();
        if (atFirst || !pair.isFirstOpen()) {
            routed.submitToFirst(translated, flags);
        } else {
            routed.submitToSecond(pair.second(), translated, flags);
        }
    }

    private static BackendFile preferred(BatchRequest request) {
        return Objects.requireNonNull(((RoutedFile) request.file()).first());
    }

    private static BatchRequest at(BatchRequest request, BackendFile file) {
        return new BatchRequest(
                file,
                request.write(),
                request.memory(),
                request.size(),
                request.fileOffset(),
                request.bufferOffset(),
                request.cookie());
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(
            BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        if (minimum < 0 || maximum < minimum) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    "cuFileBatchIOGetStatus",
                    "minimum is %d, allowed: 0 to the maximum of %d".formatted(minimum, maximum));
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

    private interface Queued {
        void run(CuFileBackend backend, StreamRequest request);
    }

    private void queue(String function, StreamRequest request, Queued call) {
        RoutedFile routed = own(function, request.file());
        BackendFile preferred = routed.first();
        if (preferred != null && !streams.isForSecondAlone(request.stream())) {
            call.run(pair.first(), at(request, preferred));
            return;
        }
        BackendFile other = atSecond(routed);
        if (pair.isFirstOpen()) {
            streams.showToSecond(request.stream(), pair.second());
        }
        call.run(pair.second(), at(request, other));
    }

    private static StreamRequest at(StreamRequest request, BackendFile file) {
        return new StreamRequest(
                file,
                request.memory(),
                request.size(),
                request.fileOffset(),
                request.bufferOffset(),
                request.bytesDone(),
                request.stream());
    }

    @Override
    public void streamRegister(long stream, int flags) {
        pair.checkOpen("cuFileStreamRegister");
        try {
            speaker().streamRegister(stream, flags);
            streams.add(stream, flags, false);
        } catch (CuFileException e) {
            if (!pair.isFirstOpen() || e.error() != CuFileError.IO_NOT_SUPPORTED) {
                throw e;
            }
            // A kind of stream that the first one does not know, such as one without a GPU.
            pair.second().streamRegister(stream, flags);
            streams.add(stream, flags, true);
        }
    }

    @Override
    public void streamDeregister(long stream) {
        pair.checkOpen("cuFileStreamDeregister");
        RoutedStreams.Stream known = streams.remove(stream);
        CuFileBackend other = pair.secondIfOpen();
        try {
            if (known == null || !known.forSecondAlone()) {
                speaker().streamDeregister(stream);
            }
        } finally {
            if (known != null && known.isAtSecond() && other != null) {
                other.streamDeregister(stream);
            }
        }
    }

    // ---- what concerns no file

    @Override
    public DriverProperties driverGetProperties() {
        pair.openImplicitly();
        return speaker().driverGetProperties();
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        limit(backend -> backend.driverSetPollMode(poll, pollThresholdKb));
    }

    @Override
    public void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        limit(backend -> backend.driverSetMaxDirectIoSize(maxDirectIoSizeKb));
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        limit(backend -> backend.driverSetMaxCacheSize(maxCacheSizeKb));
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        limit(backend -> backend.driverSetMaxPinnedMemSize(maxPinnedSizeKb));
    }

    private interface Limit {
        void set(CuFileBackend backend);
    }

    private void limit(Limit limit) {
        limit.set(speaker());
        CuFileBackend other = pair.secondIfOpen();
        if (other != null && other != speaker()) {
            limit.set(other);
        }
    }
}
