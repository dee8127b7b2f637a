package io.gds4j.tools.io;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.tools.io.IoJob.TransferType;
import io.gds4j.tools.io.IoRun.Arguments;
import io.gds4j.tools.io.IoRun.CacheState;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.terminal.CommandFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Resources of a job for one request size: open files, memory, registrations. Closes them in reverse order. */
final class JobRig implements AutoCloseable {
    private static final byte FILLING = (byte) 0xab;

    private final IoJob job;
    private final Arguments arguments;
    private final CuFileDriver driver;
    private final Target target;
    private final long size;
    private final Posix posix = FfmPosix.instance();
    private final Deque<Runnable> open = new ArrayDeque<>();
    private final Map<Path, CuFileHandle> handles = new HashMap<>();
    private final List<Worker> workers = new ArrayList<>();
    private final WrittenFiles written;
    private final List<MemoryRange> hostMemory = new ArrayList<>();

    private JobRig(
            IoJob job, Arguments arguments, CuFileDriver driver, Target target, long size, WrittenFiles written) {
        this.written = written;
        this.job = job;
        this.arguments = arguments;
        this.driver = driver;
        this.target = target;
        this.size = size;
    }

    /**
     * Opens all resources.
     *
     * @param size request size, bytes
     * @param written files that the run writes
     * @param number number of the job, which makes its random content differ from that of other jobs
     */
    static JobRig of(
            IoJob job, Arguments arguments, CuFileDriver driver, Targets target, long size, int number,
            WrittenFiles written)
            throws IOException {
        JobRig rig = new JobRig(job, arguments, driver, target.target(), size, written);
        Undo.ifFails(rig::close, () -> {
            for (int thread = 0; thread < job.threads(); thread++) {
                rig.workers.add(rig.worker(thread, arguments.seed() + ((long) number << 32)));
            }
        });
        return rig;
    }

    List<Worker> workers() {
        return workers;
    }

    /** Bytes that one pass over the job's files covers. */
    static long dataSet(IoJob job) throws IOException {
        long bytes = 0;
        for (int thread = 0; thread < (job.filePerThread() ? job.threads() : 1); thread++) {
            bytes += length(job, job.file(thread));
        }
        return bytes;
    }

    private static long length(IoJob job, Path file) throws IOException {
        Long asked = job.size();
        if (!job.reads() && asked != null) {
            return asked;
        }
        long there = sizeOf(file);
        long length = asked == null ? there - job.offset() : asked;
        if (length < 1 || job.reads() && there < job.offset() + length) {
            throw CommandFailure.badInput(
                    file.toString(),
                    "%s: has %s bytes, but the job reads %s; gds io -I 1 -f %s -s SIZE creates it"
                            .formatted(file, there, job.offset() + Math.max(1, length), file));
        }
        return length;
    }

    /** Size of a file or block device. */
    private static long sizeOf(Path file) throws IOException {
        if (Files.isDirectory(file)) {
            throw CommandFailure.badInput(file.toString(), file + ": is a folder; use -D for a folder");
        }
        try (FoundFile found = FoundFile.at(file)) {
            if (!found.status().isRegularFile() && !found.status().isBlockDevice()) {
                // opening a pipe would wait for a writer
                throw CommandFailure.badInput(file.toString(), file + ": is neither a regular file nor a block device");
            }
            try (FileChannel channel = found.channel()) {
                return channel.size();
            }
        } catch (NoSuchFileException e) {
            throw CommandFailure.badInput(
                    file.toString(),
                    "%s: no such file; gds io -I 1 -f %s -s SIZE creates it".formatted(file, file));
        }
    }

    private Worker worker(int thread, long contentSeed) throws IOException {
        Path file = job.file(thread);
        long length = length(job, file);
        if (size > length) {
            throw CommandFailure.usage(
                    "-i %s: a request is larger than the %s bytes of %s to use".formatted(size, length, file));
        }
        int shares = job.filePerThread() ? 1 : job.threads();
        if (Math.ceilDiv(length, size) < shares) {
            throw CommandFailure.usage(
                    "-w %s: threads share %s requests of %s bytes; use fewer threads, smaller requests or a larger -s"
                            .formatted(job.threads(), Math.ceilDiv(length, size), size));
        }
        OffsetSequence offsets = new OffsetSequence(
                job, job.offset(), length, size, job.filePerThread() ? 0 : thread, shares,
                arguments.seed() + (job.filePerThread() ? thread : 0));
        Path place = job.writes() ? written.claim(file) : file;
        Mover mover;
        try {
            mover = mover(place);
        } catch (CuFileException e) {
            throw explained(e);
        }
        open.push(mover::close);
        TestPattern pattern = arguments.verify() ? new TestPattern(arguments.seed()) : null;
        return new Worker(
                job, file, mover, requests(), offsets, driver.allocator(), pattern, contentSeed + thread);
    }

    private Mover mover(Path file) {
        return switch (job.transfer()) {
            case GPU_DIRECT -> job.fragments() == 1
                    ? new ApiMover(handle(file))
                    : new FragmentMover(handle(file), job.fragments());
            case CPU_ONLY -> new PlainMover(plain(file, job.direct()));
            case CPU_GPU -> new CopyMover(plain(file, job.direct()), driver.allocator(), size);
            case CPU_CACHED_GPU -> new CopyMover(plain(file, false), driver.allocator(), size);
            case CPU_ASYNC_GPU -> target.isGpu()
                    ? new AsyncCopyMover(plain(file, job.direct()), driver.allocator(), target.device(), size)
                    : new CopyMover(plain(file, job.direct()), driver.allocator(), size);
            case GPU_BATCH -> new BatchMover(driver, handle(file), job.depth());
            case GPU_DIRECT_ASYNC, GPU_BATCH_STREAM -> {
                if (!target.isGpu()) {
                    throw CommandFailure.device(
                            "NO_GPU",
                            "-x %s (%s) needs a GPU with a stream that orders the operations"
                                    .formatted(job.transfer().ordinal(), job.transfer().meaning()));
                }
                yield new StreamMover(driver, handle(file), target.device(), job.depth());
            }
        };
    }

    /** Names the function that a backend does not implement. */
    private RuntimeException explained(CuFileException failure) {
        boolean lacking = failure.error() == CuFileError.IO_NOT_SUPPORTED && failure.errno().isEmpty();
        if (!lacking || job.transfer() == TransferType.GPU_DIRECT) {
            return failure;
        }
        return CommandFailure.device(
                failure.error().cName(),
                "-x %s needs %s, which backend %s does not implement (%s, %s)".formatted(
                        job.transfer().ordinal(),
                        job.transfer().meaning(),
                        driver.backendName(),
                        failure.error().cName(),
                        failure.error().code()));
    }

    private PlainFile plain(Path file, boolean direct) {
        return PlainFile.open(posix, file, job.writes(), direct);
    }

    /** Returns the handle of a file, which all its threads share. */
    private CuFileHandle handle(Path file) {
        return handles.computeIfAbsent(file, path -> {
            List<OpenOption> options = new ArrayList<>(List.of(StandardOpenOption.READ));
            if (job.writes()) {
                options.add(StandardOpenOption.WRITE);
                options.add(StandardOpenOption.CREATE);
            }
            if (job.direct()) {
                options.add(CuFileOpenOption.DIRECT);
            }
            if (job.drop()) {
                options.add(CuFileOpenOption.DROP);
            }
            CuFileHandle handle = driver.openFile(path, options.toArray(OpenOption[]::new));
            open.push(handle::close);
            return handle;
        });
    }

    private IoRequest[] requests() {
        long stride = Pages.up(size);
        int depth = job.depth();
        MemoryRange range = memory(Math.multiplyExact(stride, depth));
        IoMemory memory = registered(range);
        IoRequest[] requests = new IoRequest[depth];
        for (int i = 0; i < depth; i++) {
            requests[i] = new IoRequest(memory, i * stride, size, job.report());
        }
        return requests;
    }

    private MemoryRange memory(long bytes) {
        boolean onHost = job.transfer() == TransferType.CPU_ONLY;
        if (job.mallocated() && !onHost) {
            Arena arena = Arena.ofShared();
            open.push(arena::close);
            // 16 bytes after a page boundary, like large blocks of malloc.
            MemorySegment block = arena.allocate(bytes + Pages.SIZE, Pages.SIZE).asSlice(16, bytes);
            block.fill(FILLING);
            return MemoryRange.ofSegment(block);
        }
        MemoryKind kind = onHost ? MemoryKind.HOST : job.kind(target);
        MemoryAllocation allocation = driver.allocator()
                .allocate(kind, bytes, target.isGpu() ? target.device() : MemoryRange.NO_DEVICE);
        open.push(allocation::close);
        if (kind == MemoryKind.HOST) {
            hostMemory.add(allocation.range());
        }
        // Touch the memory before the measurement: the first touch costs more than a read.
        driver.allocator().fill(allocation.range(), FILLING);
        return allocation.range();
    }

    private IoMemory registered(MemoryRange range) {
        if (!job.register() || !job.transfer().usesApi()) {
            return range;
        }
        CuFileBuffer buffer = driver.registerBuffer(range);
        open.push(buffer::close);
        return buffer;
    }

    /** Releases the pages of host memory if requested. */
    void prepareMemory() {
        if (arguments.fresh()) {
            for (MemoryRange range : hostMemory) {
                int given = posix.madvise(range.address(), range.length(), PosixConstants.MADV_DONTNEED);
                PosixErrors.check("madvise", "madvise", given, Optional.empty());
            }
        }
    }

    /** Puts the page cache into the requested state. */
    void prepareCache() {
        for (int thread = 0; thread < (job.filePerThread() ? job.threads() : 1); thread++) {
            Path file = job.file(thread);
            if (arguments.cache() == CacheState.AS_IS || !Files.exists(file)) {
                continue;
            }
            try (PlainFile plain = PlainFile.open(posix, file, false, false)) {
                if (arguments.cache() == CacheState.COLD) {
                    plain.dropPages();
                } else {
                    long length = length(job, file);
                    plain.readOnce(job.offset(), length);
                    if (arguments.cache() == CacheState.MIXED) {
                        plain.dropPages(job.offset() + length / 2, length - length / 2);
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public void close() {
        List<Runnable> all = new ArrayList<>(open);
        open.clear();
        Closing.all(all, Runnable::run);
    }
}
