package io.gds4j.internal.routing;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import java.lang.System.Logger.Level;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** Moves bytes with the first of two backends; with the second if the first one does not know the file, or fails. */
final class RoutedTransfers {
    /** Codes of failures that the second backend would repeat: it is not tried. */
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
    private final RoutedFiles files;
    private final AtomicBoolean warned = new AtomicBoolean();

    RoutedTransfers(BackendPair pair, RoutedFiles files) {
        this.pair = pair;
        this.files = files;
    }

    /** A read or write of either backend. */
    interface Transfer {
        long run(
                CuFileBackend backend,
                BackendFile file,
                MemoryRange base,
                long size,
                long fileOffset,
                long bufferOffset);
    }

    long move(
            String function,
            Transfer transfer,
            BackendFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        RoutedFile routed = files.own(function, file);
        BackendFile preferred = routed.first();
        if (preferred == null) {
            return transfer.run(pair.second(), files.atSecond(routed), base, size, fileOffset, bufferOffset);
        }
        try {
            return transfer.run(pair.first(), preferred, base, size, fileOffset, bufferOffset);
        } catch (CuFileException e) {
            return moveRest(
                    (backend, own, done) -> transfer.run(
                            backend, own, base, size - done, fileOffset + done, bufferOffset + done),
                    e, routed, size, fileOffset);
        }
    }

    /** A transfer of either backend without its first bytes. */
    interface Rest {
        /**
         * @param done bytes that were moved before
         * @return bytes that were moved behind them
         */
        long run(CuFileBackend backend, BackendFile file, long done);
    }

    /** Moves a request with several memories, or with a report. */
    long move(String function, BackendFile file, long size, long fileOffset, Rest transfer) {
        RoutedFile routed = files.own(function, file);
        BackendFile preferred = routed.first();
        if (preferred == null) {
            return transfer.run(pair.second(), files.atSecond(routed), 0);
        }
        try {
            return transfer.run(pair.first(), preferred, 0);
        } catch (CuFileException e) {
            return moveRest(transfer, e, routed, size, fileOffset);
        }
    }

    /** Moves the rest with the second backend, after the first one failed. */
    private long moveRest(Rest transfer, CuFileException failure, RoutedFile file, long size, long fileOffset) {
        long done = Math.max(0, failure.bytesTransferred());
        BackendFile other = takeOver(file, failure);
        try {
            return done + transfer.run(pair.second(), other, done);
        } catch (CuFileException e) {
            CuFileException.Builder whole = CuFileException.builder(e.function())
                    .error(e.error())
                    .path(file.path())
                    .range(fileOffset, size)
                    .transferred(done + Math.max(0, e.bytesTransferred()))
                    .detail(e.detail())
                    .cause(e);
            e.errno().ifPresent(whole::errno);
            CuFileException combined =
                    e instanceof CuFileInterruptedException ? whole.buildInterrupted() : whole.build();
            combined.addSuppressed(failure);
            throw combined;
        }
    }

    /** Returns the file at the second backend; throws the failure if the second backend cannot repeat the transfer. */
    private BackendFile takeOver(RoutedFile file, CuFileException failure) {
        if (FINAL.contains(failure.error()) || failure instanceof CuFileInterruptedException) {
            throw failure;
        }
        boolean known = file.second() != null;
        BackendFile other = attempt(failure, () -> files.lookUpAtSecond(file)).orElseThrow(() -> failure);
        if (!known) {
            BackendPair.LOG.log(
                    warned.getAndSet(true) ? Level.DEBUG : Level.WARNING,
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
}
