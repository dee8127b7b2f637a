package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.RegisteredMemory;
import io.gds4j.spi.Operation;
import io.gds4j.spi.TransferArguments;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Checks the arguments of a transfer, so that no invalid one reaches a backend. Its exceptions name function, file and range.
 *
 * @param function the C function
 * @param path the file, if its name is known
 * @param operation reads or writes the file
 */
record RequestCheck(
        String function, Optional<Path> path, Operation operation, long size, long fileOffset, long bufferOffset) {
    /** A request that its own C function serves. */
    RequestCheck(Operation operation, Optional<Path> path, long size, long fileOffset, long bufferOffset) {
        this(operation.function(), path, operation, size, fileOffset, bufferOffset);
    }

    /** Returns whether {@link #checkWithin} would pass. A valid request thus needs no instance and allocates nothing. */
    static boolean isWithin(IoMemory memory, Operation operation, long size, long fileOffset, long bufferOffset) {
        return TransferArguments.isFileRange(size, fileOffset)
                && TransferArguments.isWithin(memory.range().length(), size, bufferOffset)
                && MemoryUse.allows(memory, operation);
    }

    /** Checks that the numbers are valid and within the memory, and that the memory allows the request. */
    void checkWithin(IoMemory memory) {
        checkNumbers();
        long length = memory.range().length();
        if (!TransferArguments.isWithin(length, size, bufferOffset)) {
            boolean registered = memory instanceof RegisteredMemory;
            throw refused(memory,
                    registered ? CuFileError.INVALID_MAPPING_RANGE : CuFileError.CUDA_POINTER_RANGE_ERROR,
                    TransferArguments.pastMemory(length, size, bufferOffset));
        }
        checkAccess(memory);
    }

    /** Checks that the numbers are a range of a file. */
    void checkNumbers() {
        String invalid = TransferArguments.invalidNumber(size, fileOffset, bufferOffset);
        if (invalid != null) {
            throw invalid(invalid);
        }
    }

    /** Checks that the memory allows the request. */
    void checkAccess(IoMemory memory) {
        if (!MemoryUse.allows(memory, operation)) {
            throw memory instanceof RegisteredMemory
                    ? refused(memory, CuFileError.PERMISSION_DENIED,
                            "%s does not have the right %s".formatted(memory, BufferRight.of(operation)))
                    : readOnlySegment();
        }
    }

    /** Checks the numbers of a read into a segment over a Java array, and that it can be changed. */
    void checkHeap(MemorySegment heap) {
        checkNumbers();
        if (!operation.isWrite() && heap.isReadOnly()) {
            throw readOnlySegment();
        }
    }

    /** Returns the failure of a read into memory that can only be written to a file. */
    CuFileException readOnlySegment() {
        return failure(CuFileError.PERMISSION_DENIED).detail("the memory is a read-only segment").build();
    }

    /** Returns that the memory is closed, if it is: then a program must mend that first. Else the failure. */
    private CuFileException refused(IoMemory memory, CuFileError error, String detail) {
        boolean closed = memory instanceof RegisteredMemory registered && !registered.isOpen();
        return failure(closed ? CuFileError.MEMORY_NOT_REGISTERED : error)
                .detail(closed ? memory + " is no longer registered" : detail)
                .build();
    }

    CuFileException.Builder failure(CuFileError error) {
        return CuFileException.builder(function).error(error).path(path).range(fileOffset, size);
    }

    CuFileException invalid(String detail) {
        return failure(CuFileError.INVALID_VALUE).errno(Errno.EINVAL).detail(detail).build();
    }

    /** Returns the failure with function, file and range of this request. */
    CuFileException wrap(CuFileException e) {
        CuFileException.Builder builder = failure(e.error()).detail(e.detail()).cause(e);
        OptionalInt errno = e.errno();
        errno.ifPresent(builder::errno);
        return builder.build();
    }

    /**
     * Returns a failure that a backend threw with the file and the range of this request, if it names none: it may be one of a CUDA call
     * that only helps the request.
     */
    CuFileException named(CuFileException e) {
        if ((size < 0 || e.size().isPresent()) && (path.isEmpty() || e.path().isPresent())) {
            return e;
        }
        String why = e.detail().isEmpty() ? e.error().text() : e.detail();
        return told(e, e.function().equals(function) ? why : e.function() + ": " + why, e.bytesTransferred());
    }

    /** Returns the failure of a part of this request as one of the whole request, of which so many bytes were moved. */
    CuFileException ofPart(CuFileException e, long transferred) {
        return told(e, e.detail(), transferred);
    }

    private CuFileException told(CuFileException e, String detail, long transferred) {
        CuFileException.Builder told = failure(e.error()).errno(e.errno().orElse(0)).transferred(transferred)
                .detail(detail).cause(e);
        return e instanceof CuFileInterruptedException ? told.buildInterrupted() : told.build();
    }
}
