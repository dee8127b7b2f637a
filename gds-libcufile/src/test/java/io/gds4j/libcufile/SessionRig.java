package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cufile.FakeCuFile;
import io.gds4j.libcufile.guard.SessionBuffers;
import io.gds4j.libcufile.guard.Transfers;
import io.gds4j.libcufile.process.LibraryProcess.User;
import io.gds4j.libcufile.process.LibrarySettings;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An open session on the doubles, with a file of known content. After a test no rule is broken and nothing is open. */
public abstract class SessionRig {
    protected static final int SIZE = 1 << 20;

    @TempDir
    protected Path folder;

    protected final FakeMachine machine = machine();
    protected final FakeCuFile fake = machine.fake;
    protected final CuFileBackend backend = machine.backend();
    private final List<MemoryAllocation> allocations = new ArrayList<>();
    protected Path path;

    /** The machine of the session. */
    protected FakeMachine machine() {
        return new FakeMachine();
    }

    @BeforeEach
    protected final void open() throws IOException {
        byte[] content = new byte[SIZE];
        for (int i = 0; i < SIZE; i++) {
            content[i] = content(i);
        }
        path = Files.write(folder.resolve("file"), content);
        backend.driverOpen();
    }

    @AfterEach
    @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    protected final void nothingIsBrokenOrLeft() {
        while (backend.useCount() > 0) {
            backend.driverClose();
        }
        allocations.forEach(MemoryAllocation::close);
        assertThat(fake.violations()).isEmpty();
        assertThat(fake.driver().users()).as("users of the library").isZero();
        assertThat(fake.transfers().openFiles()).as("handles").isZero();
        assertThat(fake.transfers().registeredBuffers()).as("registered memory").isEmpty();
        assertThat(fake.batches().open()).as("batches").isZero();
        assertThat(machine.cuda.violations()).isEmpty();
        assertThat(machine.cuda.leaks()).as("CUDA objects left").isEmpty();
    }

    /** Returns the library of the open session, for a part of it that a test makes itself. */
    protected final OpenLibrary openLibrary() {
        User guest = new Guest();
        OpenLibrary open = machine.process.open(
                guest, LibrarySettings.of(CuFileConfig.defaults(), Map.of()), machine.cuda.available().contexts());
        machine.process.close(guest);
        return open;
    }

    private static final class Guest implements User {
        @Override
        public boolean isBusy() {
            return false;
        }

        @Override
        public void cancelBatches() {
            // has none
        }

        @Override
        public void releaseStreams() {
            // has none
        }

        @Override
        public void closeBatches() {
            // has none
        }
    }

    /** Returns what moves bytes by {@link #openLibrary}. */
    protected final Transfers transfers(OpenLibrary open) {
        CudaContexts contexts = machine.cuda.available().contexts();
        return new Transfers(open, contexts,
                new SessionBuffers(open.registrations(), StreamWaits.of(contexts), 1 << 20));
    }

    protected static byte content(long offset) {
        return (byte) (offset % 251);
    }

    protected final BackendFile file() {
        return backend.handleRegister(source(path));
    }

    protected static FileSource source(Path path) {
        return FileSource.Named.of(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    protected final MemoryAllocation allocate(MemoryKind kind, long size) {
        return allocate(kind, size, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE);
    }

    protected final MemoryAllocation allocate(MemoryKind kind, long size, int gpu) {
        MemoryAllocation memory = backend.allocator().allocate(kind, size, gpu);
        allocations.add(memory);
        return memory;
    }

    protected final byte[] bytes(MemoryAllocation memory, long offset, int length) {
        byte[] bytes = new byte[length];
        backend.allocator().copyToHost(memory.range().slice(offset, length), MemorySegment.ofArray(bytes));
        return bytes;
    }

    protected static byte[] expected(long fileOffset, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = content(fileOffset + i);
        }
        return bytes;
    }

    protected static CuFileException failure(ThrowingCallable call) {
        CuFileException failure = catchThrowableOfType(CuFileException.class, call);
        assertThat(failure).as("a failure").isNotNull();
        return failure;
    }

    protected static void expect(CuFileError error, ThrowingCallable call) {
        CuFileException failure = failure(call);
        assertThat(failure.error()).as("code of: %s", failure).isEqualTo(error);
    }

    /** Checks that an interrupt ends a wait for entries that never end, and that the flag stays set. */
    protected final void assertInterruptEndsTheWait(BackendBatch batch, int entries) throws InterruptedException {
        AtomicReference<CuFileException> failure = new AtomicReference<>();
        Thread waiter = Thread.ofPlatform().start(() -> {
            failure.set(failure(() -> backend.batchIoGetStatus(batch, entries, entries, Optional.empty())));
            if (!Thread.interrupted()) {
                fake.violated("the flag is lost");
            }
        });
        waiter.interrupt();
        waiter.join();
        assertThat(failure.get()).isInstanceOf(CuFileInterruptedException.class);
    }
}
