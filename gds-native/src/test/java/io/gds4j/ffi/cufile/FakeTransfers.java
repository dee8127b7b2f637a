package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAttributes;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/** The double's files, buffers and transfers, by POSIX calls on the descriptors and addresses that it is given. */
public final class FakeTransfers {
    private static final long PAGE = 4096;
    private static final byte STALE = 0x5a;
    /** Copies to a GPU from this size on are plain; smaller ones go through the queue of commands. */
    private static final long PLAIN_COPY = 64 << 10;
    /** CU_MEMORYTYPE_DEVICE. */
    private static final long MEMORY_OF_A_GPU = 2;
    private static final long ODD_LIMIT = 16L << 20;

    private final FakeCuFile fake;
    private final FakeCuda cuda;
    private final Posix posix = FfmPosix.instance();
    private final Map<Long, File> files = new HashMap<>();
    private final Set<Long> deadHandles = new HashSet<>();
    private final Map<Long, Long> buffers = new HashMap<>();
    private final Set<Long> streams = new HashSet<>();
    private final Queue<Planned> planned = new ConcurrentLinkedQueue<>();
    private final AtomicInteger vectors = new AtomicInteger();
    private final AtomicInteger inFlight = new AtomicInteger();
    private final AtomicLong moved = new AtomicLong();
    private long nextHandle = 0x7f0000001000L;
    private volatile boolean direct;
    private boolean closing;
    private int refuseFiles;
    private int refuseBuffers;
    private long room = Long.MAX_VALUE;
    private long noRoom;
    private volatile LongConsumer observer = base -> {
    };
    private volatile Runnable during = () -> {
    };

    private record File(int fd, int buffered, boolean direct) {
    }

    private record Planned(long result, int errno, long moveFirst) {
    }

    FakeTransfers(FakeCuFile fake, FakeCuda cuda) {
        this.fake = fake;
        this.cuda = cuda;
    }

    // ---- behaviour that tests choose

    /** Makes the next transfer without a planned result move nothing and return this. */
    public void answerNext(long result, int errno) {
        planned.add(new Planned(result, errno, 0));
    }

    /** Makes the next transfer move at most this number of bytes. */
    public void stopNextAfter(long bytes) {
        planned.add(new Planned(0, 0, bytes));
    }

    /** Makes every registration of a file answer this code from now on; 0 for none. */
    public synchronized void refuseFiles(int code) {
        refuseFiles = code;
    }

    /** GPU memory goes without slabs, and entries of whole blocks without threads of the library. */
    public void serveDirectly() {
        direct = true;
    }

    boolean servesDirectly() {
        return direct;
    }

    public synchronized void refuseBuffers(int code) {
        refuseBuffers = code;
    }

    /** Refuses registrations beyond this number of bytes with a status, which has a CUDA result in its upper half. */
    public synchronized void refuseBuffersBeyond(long bytes, long status) {
        room = bytes;
        noRoom = status;
    }

    /** Receives the base of every transfer from now on. */
    public void observe(LongConsumer bases) {
        observer = bases;
    }

    /** Runs inside every transfer. */
    public void during(Runnable action) {
        during = action;
    }

    public synchronized int openFiles() {
        return files.size();
    }

    public synchronized Map<Long, Long> registeredBuffers() {
        return Map.copyOf(buffers);
    }

    /** Returns the number of calls of readv and writev. */
    public int vectors() {
        return vectors.get();
    }

    public long movedBytes() {
        return moved.get();
    }

    synchronized void closed() {
        if (inFlight.get() != 0) {
            fake.violated("the driver is closed under " + inFlight.get() + " transfers");
        }
        closing = true;
        for (long handle : Set.copyOf(files.keySet())) {
            handleDeregister(handle);
        }
        closing = false;
        buffers.clear();
        streams.clear();
    }

    synchronized boolean isFile(long handle) {
        return files.containsKey(handle);
    }

    // ---- the library's functions

    synchronized long handleRegister(MemorySegment out, MemorySegment descriptor) {
        if (!fake.driver().isOpen()) {
            fake.violated("a file is registered without an explicit open");
        }
        if (out.address() == 0 || descriptor.address() == 0) {
            return 5022;
        }
        MemorySegment d = FakeCuFile.at(descriptor, 24);
        int fd = d.get(JAVA_INT, 8);
        if (d.get(JAVA_INT, 4) != 0 || d.get(JAVA_INT, 12) != 0 || d.get(JAVA_LONG, 16) != 0) {
            fake.violated("garbage in the descriptor");
        }
        fake.called("HandleRegister", d.get(JAVA_INT, 0));
        if (d.get(JAVA_INT, 0) != 1) {
            return 5008;
        }
        int flags = posix.fcntl(fd, PosixConstants.F_GETFL, 0);
        if (flags < 0) {
            return 5022;
        }
        if ((flags & (PosixConstants.O_APPEND | PosixConstants.O_NONBLOCK)) != 0) {
            return 5019;
        }
        if (refuseFiles != 0) {
            return refuseFiles;
        }
        if (files.values().stream().anyMatch(file -> file.fd == fd)) {
            return 5028;
        }
        boolean direct = (flags & PosixConstants.O_DIRECT) != 0;
        int buffered = posix.open("/proc/self/fd/" + fd, flags & ~PosixConstants.O_DIRECT, 0);
        long handle = nextHandle;
        nextHandle += 64;
        files.put(handle, new File(fd, buffered, direct));
        FakeCuFile.at(out, 8).set(JAVA_LONG, 0, handle);
        return 0;
    }

    synchronized void handleDeregister(long handle) {
        fake.called("HandleDeregister");
        if (!fake.driver().isOpen() && !closing) {
            fake.violated("a file is deregistered from a closed driver");
        }
        File file = files.remove(handle);
        if (file == null) {
            return;
        }
        if (posix.fcntl(file.fd, PosixConstants.F_GETFD, 0) < 0) {
            fake.violated("the descriptor of a handle was closed before the handle");
        }
        posix.close(file.buffered);
        deadHandles.add(handle);
    }

    synchronized long bufRegister(long base, long length, int flags) {
        fake.called("BufRegister", "0x" + Long.toHexString(base), length, flags);
        pins();
        if (!fake.driver().isOpen()) {
            fake.violated("memory is registered without an explicit open");
        }
        if (base == 0 || length == 0) {
            return 5022;
        }
        if (refuseBuffers != 0) {
            return refuseBuffers;
        }
        if (length > room - buffers.values().stream().mapToLong(Long::longValue).sum()) {
            return noRoom;
        }
        checkContext(base);
        return buffers.putIfAbsent(base, length) == null ? 0 : 5023;
    }

    /** Loses all registrations, as the library does with some beside unregistered transfers of the same memory. */
    public synchronized void loseBuffers() {
        buffers.clear();
    }

    synchronized long bufDeregister(long base) {
        fake.called("BufDeregister", "0x" + Long.toHexString(base));
        pins();
        if (!fake.driver().isOpen()) {
            fake.violated("memory is deregistered from a closed driver");
            return 5006;
        }
        return buffers.remove(base) == null ? 5024 : 0;
    }

    long read(long handle, long base, long size, long fileOffset, long bufferOffset) {
        return transfer(false, handle, base, size, fileOffset, bufferOffset);
    }

    long write(long handle, long base, long size, long fileOffset, long bufferOffset) {
        return transfer(true, handle, base, size, fileOffset, bufferOffset);
    }

    private long transfer(boolean write, long handle, long base, long size, long fileOffset, long bufferOffset) {
        inFlight.incrementAndGet();
        try {
            during.run();
            observer.accept(base);
            Planned plan = planned.poll();
            if (plan != null && plan.moveFirst == 0) {
                return failed(plan.result, plan.errno);
            }
            long limit = plan == null ? size : Math.min(size, plan.moveFirst);
            return checked(write, handle, base, size, limit, fileOffset, bufferOffset);
        } finally {
            inFlight.decrementAndGet();
        }
    }

    /** Pinning and unpinning wait for all streams with the driver's locks held. */
    private void pins() {
        if (cuda.waitingStreams() > 0) {
            fake.violated("memory is pinned or unpinned while a stream waits");
        }
    }

    private static long failed(long result, int errno) {
        FakeCuFile.setErrno(errno);
        return result;
    }

    private long checked(
            boolean write, long handle, long base, long size, long limit, long fileOffset, long bufferOffset) {
        File file;
        Long registered;
        synchronized (this) {
            file = files.get(handle);
            registered = buffers.get(base);
            if (file == null && deadHandles.contains(handle)) {
                fake.violated("a transfer on a dead handle");
                fake.driver().dropUse();
                return failed(-1, 5027);
            }
        }
        if (!fake.driver().isOpen()) {
            fake.violated("a transfer on a closed driver");
            return failed(-1, 5027);
        }
        if (file == null || base == 0) {
            fake.violated("a transfer without file or memory");
            return failed(-1, Errno.EINVAL);
        }
        if (fileOffset < 0 || bufferOffset < 0) {
            fake.violated("a negative offset");
            return failed(-1, fileOffset < 0 ? 5022 : Errno.EIO);
        }
        boolean gpu = cuda.pointerGetAttribute(new long[1], CudaAttributes.POINTER_CONTEXT, base) == Cuda.SUCCESS;
        if (!write && size < PLAIN_COPY && isOfAGpu(base)) {
            cuda.awaitChannel();
        }
        if (gpu && size >= ODD_LIMIT && ((fileOffset | size) & (PAGE - 1)) != 0) {
            return failed(-1, 5017);
        }
        if (gpu && !direct && size > largestSlab()) {
            return failed(-1, Errno.ENOMEM);
        }
        if (registered != null && bufferOffset + size > registered) {
            return failed(-1, 5017);
        }
        checkContext(base + bufferOffset);
        return move(file, write, base + bufferOffset, limit, fileOffset);
    }

    /** Bytes that a transfer through slabs may have; it is cut at the size of direct I/O only. */
    private long largestSlab() {
        CuFileConfig running = fake.driver().running();
        long kb = running.posixPoolSlabs().sizesKb().stream().mapToLong(Long::longValue).max().orElseThrow();
        return kb < running.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB) ? kb * 1024 : Long.MAX_VALUE;
    }

    /** GPU memory needs its context; host memory needs none. */
    private void checkContext(long address) {
        long[] owner = new long[1];
        long[] current = new long[1];
        if (cuda.pointerGetAttribute(owner, CudaAttributes.POINTER_CONTEXT, address) != Cuda.SUCCESS) {
            return;
        }
        cuda.ctxGetCurrent(current);
        if (current[0] == 0 || owner[0] != 0 && owner[0] != current[0]) {
            fake.violated("GPU memory without its context");
        }
    }

    /** Bytes, or -1 with the errno that the real library sets instead of the kernel's. */
    long move(File file, boolean write, long address, long size, long fileOffset) {
        // GPU memory goes through host slabs. What a direct read writes behind the end of the file stays in them.
        boolean host = isHost(address);
        // The library ignores the address here; the kernel does not.
        int fd = file.direct && host && ((size | fileOffset) & (PAGE - 1)) == 0 ? file.fd : file.buffered;
        long done = 0;
        while (done < size) {
            long count = Math.min(size - done, PosixConstants.MAX_RW_COUNT & -PAGE);
            long result = write
                    ? posix.pwrite(fd, address + done, count, fileOffset + done)
                    : posix.pread(fd, address + done, count, fileOffset + done);
            if (result == -Errno.EINTR) {
                continue;
            }
            if (result < 0) {
                return failed(-1, result == -Errno.EFBIG ? Errno.EPERM : Errno.EIO);
            }
            done += result;
            if (result < count) {
                break;
            }
        }
        moved.addAndGet(done);
        if (!host && !write && done < size) {
            // The whole slab is copied, with data of an earlier transfer.
            MemorySegment.ofAddress(address + done).reinterpret(size - done).fill(STALE);
        }
        return done;
    }

    private boolean isOfAGpu(long address) {
        long[] type = new long[1];
        return cuda.pointerGetAttribute(type, CudaAttributes.POINTER_MEMORY_TYPE, address) == Cuda.SUCCESS
                && type[0] == MEMORY_OF_A_GPU;
    }

    /** True for memory that the driver does not know. */
    boolean isHost(long address) {
        return cuda.pointerGetAttribute(new long[1], CudaAttributes.POINTER_CONTEXT, address) != Cuda.SUCCESS;
    }

    /** Moves the bytes of an entry of a batch. */
    long moveEntry(long handle, boolean write, long address, long size, long fileOffset) {
        File file;
        synchronized (this) {
            file = files.get(handle);
        }
        checkContext(address);
        long result = move(file, write, address, size, fileOffset);
        return result < 0 ? -Errno.EIO : result;
    }

    long readv(long handle, MemorySegment vector, long count, long fileOffset, int flags) {
        return vectored(false, handle, vector, count, fileOffset);
    }

    long writev(long handle, MemorySegment vector, long count, long fileOffset, int flags) {
        return vectored(true, handle, vector, count, fileOffset);
    }

    private long vectored(boolean write, long handle, MemorySegment vector, long count, long fileOffset) {
        vectors.incrementAndGet();
        if (count < 1 || count > 128) {
            return failed(-1, Errno.EINVAL);
        }
        if (count > 64) {
            fake.violated("a vector of more than 64 ranges: the close of version 1.20.0 never ends");
        }
        MemorySegment entries = FakeCuFile.at(vector, count * 16);
        long done = 0;
        for (long i = 0; i < count; i++) {
            long length = entries.getAtIndex(JAVA_LONG, 2 * i + 1);
            if (length == 0) {
                fake.violated("a vector with a range of 0 bytes: the library aborts the process");
            }
            long moved =
                    transfer(write, handle, entries.getAtIndex(JAVA_LONG, 2 * i), length, fileOffset + done, 0);
            if (moved < 0) {
                return moved;
            }
            done += moved;
            if (moved < length) {
                break;
            }
        }
        return done;
    }

    // ---- streams

    long readAsync(
            long handle,
            long base,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytes,
            long stream) {
        return queue(false, handle, base, size, fileOffset, bufferOffset, bytes, stream);
    }

    long writeAsync(
            long handle,
            long base,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytes,
            long stream) {
        return queue(true, handle, base, size, fileOffset, bufferOffset, bytes, stream);
    }

    private long queue(
            boolean write,
            long handle,
            long base,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytes,
            long stream) {
        fake.called(write ? "WriteAsync" : "ReadAsync", stream);
        if (size.address() == 0 || fileOffset.address() == 0 || bufferOffset.address() == 0 || bytes.address() == 0) {
            return 5022;
        }
        long buffer = value(bufferOffset);
        if (buffer < 0) {
            fake.violated("a negative buffer offset is taken for 0");
            buffer = 0;
        }
        if (!isFile(handle)) {
            return 5022;
        }
        boolean registered;
        synchronized (this) {
            registered = buffers.containsKey(base);
        }
        // Memory that is not registered is taken for as long as the size, from its base on.
        long moved = buffer > 0 && !registered
                ? -Errno.EIO
                : transfer(write, handle, base, value(size), value(fileOffset), buffer);
        FakeCuFile.at(bytes, 8).set(JAVA_LONG, 0, moved);
        return 0;
    }

    private static long value(MemorySegment cell) {
        return FakeCuFile.at(cell, 8).get(JAVA_LONG, 0);
    }

    synchronized long streamRegister(long stream, int flags) {
        fake.called("StreamRegister", stream, flags);
        return (flags & ~0xF) != 0 || !streams.add(stream) ? 5022 : 0;
    }

    synchronized long streamDeregister(long stream) {
        fake.called("StreamDeregister", stream);
        return streams.remove(stream) ? 0 : 5022;
    }
}
