package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of invalid arguments: each causes its error and has no other effect.
 *
 * @since 0.1
 */
public abstract class MisuseContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int LENGTH = 2 * PAGE;
    private static final long LARGEST = 1L << 62;

    /** For subclasses. */
    protected MisuseContract() {
    }

    /**
     * Arguments of a read or write on memory of {@link #LENGTH} bytes, and the expected codes for plain and registered
     * memory.
     */
    record Call(long size, long fileOffset, long bufferOffset, CuFileError plain, CuFileError registered) {
        static Call invalid(long size, long fileOffset, long bufferOffset) {
            return new Call(
                    size, fileOffset, bufferOffset, CuFileError.INVALID_VALUE, CuFileError.INVALID_VALUE);
        }

        static Call outside(long size, long fileOffset, long bufferOffset) {
            return new Call(
                    size,
                    fileOffset,
                    bufferOffset,
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    CuFileError.INVALID_MAPPING_RANGE);
        }
    }

    final Stream<Call> badCalls() {
        return Stream.of(
                Call.invalid(-1, 0, 0),
                Call.invalid(Long.MIN_VALUE, 0, 0),
                Call.invalid(LARGEST + 1, 0, 0),
                Call.invalid(Long.MAX_VALUE, 0, 0),
                Call.invalid(1, -1, 0),
                Call.invalid(1, Long.MIN_VALUE, 0),
                Call.invalid(0, -1, 0),
                Call.invalid(1, 0, -1),
                Call.invalid(1, 0, Long.MIN_VALUE),
                Call.invalid(0, 0, -1),
                Call.invalid(1, Long.MAX_VALUE, 0),
                Call.invalid(PAGE, Long.MAX_VALUE - PAGE + 1, 0),
                Call.invalid(LARGEST, Long.MAX_VALUE - 1, 0),
                Call.outside(LARGEST, 0, 0),
                Call.outside(LENGTH + 1, 0, 0),
                Call.outside(LENGTH, 0, 1),
                Call.outside(1, 0, LENGTH),
                Call.outside(0, 0, LENGTH + 1),
                Call.outside(1, 0, Long.MAX_VALUE),
                Call.outside(LARGEST, 0, Long.MAX_VALUE));
    }

    @ParameterizedTest
    @MethodSource("badCalls")
    void badArgumentsHaveTheirCodeAndChangeNothing(Call call) {
        GuardedFile file = newFile(3 * PAGE);
        for (MemoryKind kind : backend().kinds()) {
            try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                    GuardedMemory memory = memory(kind, LENGTH);
                    CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
                check(call, call.plain, handle, memory.range());
                check(call, call.registered, handle, buffer);
                memory.verify();
                file.verify();

                assertThat(handle.read(buffer, LENGTH, 0, 0)).isEqualTo(LENGTH);
                memory.expect(0, file.expected(0, LENGTH));
                memory.verify();
            }
        }
        file.verify();
    }

    private static void check(Call call, CuFileError error, CuFileHandle handle, IoMemory memory) {
        CuFileException read = Failures.expect(
                error, () -> handle.read(memory, call.size, call.fileOffset, call.bufferOffset));
        CuFileException write = Failures.expect(
                error, () -> handle.write(memory, call.size, call.fileOffset, call.bufferOffset));
        assertThat(read.function()).isEqualTo("cuFileRead");
        assertThat(write.function()).isEqualTo("cuFileWrite");
        if (error == CuFileError.INVALID_VALUE) {
            assertThat(read.errno()).hasValue(Errno.EINVAL);
            assertThat(write.errno()).hasValue(Errno.EINVAL);
        }
        assertThat(read.bytesTransferred()).isZero();
        assertThat(write.bytesTransferred()).isZero();
    }

    @ParameterizedTest
    @MethodSource("badCalls")
    void backendItselfSurvivesBadArguments(Call call) {
        GuardedFile guarded = newFile(3 * PAGE);
        CuFileBackend backend = backend().createBackend(backend().config());
        backend.driverOpen();
        BackendFile file = backend.handleRegister(readWrite(guarded.path()));
        try (GuardedMemory memory = memory(MemoryKind.HOST, LENGTH)) {
            MemoryRange range = memory.range();
            Failures.expect(() -> backend.read(file, range, call.size, call.fileOffset, call.bufferOffset));
            Failures.expect(() -> backend.write(file, range, call.size, call.fileOffset, call.bufferOffset));
            memory.verify();
        } finally {
            backend.driverClose();
        }
        guarded.verify();
    }

    private static FileSource readWrite(Path path) {
        return FileSource.Named.of(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    @Test
    void filesOfAnotherBackendAreRefused() {
        GuardedFile guarded = newFile(PAGE);
        CuFileBackend ours = backend().createBackend(backend().config());
        CuFileBackend theirs = backend().createBackend(backend().config());
        ours.driverOpen();
        theirs.driverOpen();
        BackendFile file = theirs.handleRegister(readWrite(guarded.path()));
        try (GuardedMemory memory = memory(MemoryKind.HOST, PAGE)) {
            MemoryRange range = memory.range();
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> ours.read(file, range, PAGE, 0, 0));
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> ours.write(file, range, PAGE, 0, 0));
            ours.handleDeregister(file);
            assertThat(theirs.read(file, range, PAGE, 0, 0)).isEqualTo(PAGE);
        } finally {
            ours.driverClose();
            theirs.driverClose();
        }
    }

    @Test
    void deregisteredAndForeignFilesAreRefused() {
        GuardedFile guarded = newFile(PAGE);
        CuFileBackend backend = backend().createBackend(backend().config());
        backend.driverOpen();
        BackendFile file = backend.handleRegister(readWrite(guarded.path()));
        backend.handleDeregister(file);
        backend.handleDeregister(file);
        backend.handleDeregister(new InventedFile());
        try (GuardedMemory memory = memory(MemoryKind.HOST, PAGE)) {
            for (BackendFile unknown : new BackendFile[]{file, new InventedFile()}) {
                Failures.expect(
                        CuFileError.HANDLE_NOT_REGISTERED,
                        () -> backend.read(unknown, memory.range(), PAGE, 0, 0));
                Failures.expect(
                        CuFileError.HANDLE_NOT_REGISTERED,
                        () -> backend.write(unknown, memory.range(), PAGE, 0, 0));
            }
            memory.verify();
        } finally {
            backend.driverClose();
        }
        guarded.verify();
    }

    private static final class InventedFile implements BackendFile {
        @Override
        public Optional<Path> path() {
            return Optional.empty();
        }

        @Override
        public boolean isReadable() {
            return true;
        }

        @Override
        public boolean isWritable() {
            return true;
        }

        @Override
        public long size() {
            return PAGE;
        }

        @Override
        public IoPathReport ioPath() {
            return new IoPathReport(IoPath.COMPAT_BUFFERED, "invented");
        }

        @Override
        public void force(boolean metadata) {
            // nothing to force
        }

        @Override
        public void truncate(long size) {
            // nothing to truncate
        }
    }

    private static final class InventedBuffer implements RegisteredMemory {
        private final MemoryRange range;

        InventedBuffer(MemoryRange range) {
            this.range = range;
        }

        @Override
        public MemoryRange range() {
            return range;
        }

        @Override
        public boolean isOpen() {
            return true;
        }
    }

    @Test
    void foreignRegistrationsAreRefused() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, PAGE)) {
            IoMemory invented = new InventedBuffer(memory.range());
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> handle.read(invented, 0));
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> handle.write(invented, 0));
            memory.verify();
        }
        file.verify();
    }

    @Test
    @SuppressWarnings("NullAway")
    void nullIsANullPointerException() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            assertThatNullPointerException().isThrownBy(() -> handle.read((IoMemory) null, 0));
            assertThatNullPointerException().isThrownBy(() -> handle.read(null, 1, 0, 0));
            assertThatNullPointerException().isThrownBy(() -> handle.write((IoMemory) null, 0));
            assertThatNullPointerException().isThrownBy(() -> handle.write(null, 1, 0, 0));
            assertThatNullPointerException().isThrownBy(() -> driver().openFile(null));
            assertThatNullPointerException().isThrownBy(() -> driver().registerBuffer((MemoryRange) null));
            assertThat(handle.size()).isEqualTo(PAGE);
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void freedMemoryIsRefused(MemoryKind kind) {
        GuardedFile file = newFile(PAGE);
        MemoryAllocation memory = allocator().allocate(kind, PAGE);
        memory.close();
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(memory.range(), 0));
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.write(memory.range(), 0));
        }
        file.verify();
    }

    @Test
    void memoryOfAClosedArenaIsRefused() {
        GuardedFile file = newFile(PAGE);
        MemoryRange range;
        try (Arena arena = Arena.ofShared()) {
            range = MemoryRange.ofSegment(arena.allocate(PAGE));
        }
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(range, 0));
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.write(range, 0));
        }
        file.verify();
    }

    @Test
    void confinedMemoryServesOnlyItsThread() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                Arena arena = Arena.ofConfined()) {
            MemorySegment segment = arena.allocate(PAGE);
            MemoryRange range = MemoryRange.ofSegment(segment);
            Crowd.run(1, member -> {
                Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(range, 0));
                Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.write(range, 0));
            });
            assertThat(segment.mismatch(arena.allocate(PAGE))).isEqualTo(-1);

            assertThat(handle.read(range, 0)).isEqualTo(PAGE);
            assertThat(segment.mismatch(MemorySegment.ofArray(file.expected(0, PAGE)))).isEqualTo(-1);
            assertThat(handle.write(range, 0)).isEqualTo(PAGE);
        }
        file.verify();
    }

    @Test
    void javaArraysAreRefused() {
        Failures.expect(
                CuFileError.CUDA_MEMORY_TYPE_INVALID,
                () -> MemoryRange.ofSegment(MemorySegment.ofArray(new byte[PAGE])));
    }

    @Test
    void readOnlyMemoryServesOnlyWrites() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocate(PAGE).fill((byte) 7);
            MemoryRange range = MemoryRange.ofSegment(segment.asReadOnly());
            Failures.expect(CuFileError.PERMISSION_DENIED, () -> handle.read(range, 0));
            assertThat(handle.write(range, 10, 100, 0)).isEqualTo(10);
            file.expectWrite(100, segment.asSlice(0, 10).toArray(ValueLayout.JAVA_BYTE));
        }
        file.verify();
    }

    @Test
    void contradictoryOpenOptionsAreRefused() {
        GuardedFile file = newFile(PAGE);
        Failures.expect(
                CuFileError.INVALID_VALUE,
                () -> driver().openFile(file.path(), StandardOpenOption.TRUNCATE_EXISTING));
        Failures.expect(
                CuFileError.INVALID_VALUE,
                () -> driver().openFile(newPath(), StandardOpenOption.CREATE_NEW));
        Failures.expect(
                CuFileError.INVALID_FILE_OPEN_FLAG,
                () -> driver().openFile(
                        file.path(),
                        StandardOpenOption.WRITE,
                        StandardOpenOption.DELETE_ON_CLOSE));
        file.verify();
    }
}
