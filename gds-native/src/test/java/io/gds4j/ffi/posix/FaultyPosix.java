package io.gds4j.ffi.posix;

import static io.gds4j.ffi.posix.PosixConstants.O_DIRECT;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;

/**
 * A double over a real {@link Posix}: injects faults ({@link #on}), remembers the calls, and counts what is open and mapped,
 * so that a test can see a leak. Thread-safe.
 */
public final class FaultyPosix implements Posix {
    private record Descriptor(String path, int flags) {
    }

    private static final Descriptor UNKNOWN = new Descriptor("", 0);

    private final Posix real;
    private final List<PosixFault> faults = new CopyOnWriteArrayList<>();
    private final Map<PosixCall, AtomicLong> calls = new EnumMap<>(PosixCall.class);
    private final Map<Integer, Descriptor> open = new ConcurrentHashMap<>();
    private final MappedRanges mapped = new MappedRanges();
    private final ConcurrentLinkedQueue<PosixRequest> io = new ConcurrentLinkedQueue<>();
    private volatile boolean remembers = true;

    /** Passes all calls to {@code real} until faults are armed. */
    public FaultyPosix(Posix real) {
        this.real = real;
        for (PosixCall call : PosixCall.values()) {
            calls.put(call, new AtomicLong());
        }
    }

    /** Begins a fault for this kind of call; the first armed one that matches a call wins. */
    public PosixFault on(PosixCall call) {
        return new PosixFault(this, call);
    }

    /** Ends all faults. */
    public void heal() {
        faults.clear();
    }

    /** Calls of this kind so far, failed ones included. */
    public long calls(PosixCall call) {
        return calls.get(call).get();
    }

    /** Reads and writes so far, in about the order in which they began. */
    public List<PosixRequest> io() {
        return List.copyOf(io);
    }

    /** Stops recording for {@link #io()}, for runs of minutes. */
    public void rememberNoIo() {
        remembers = false;
        io.clear();
    }

    /** Forgets {@link #io()}. */
    public void forgetIo() {
        io.clear();
    }

    /** Descriptors opened here and not closed. */
    public int openDescriptors() {
        return open.size();
    }

    /** Contiguous ranges mapped here and not unmapped. */
    public int mappings() {
        return mapped.count();
    }

    /** Bytes of {@link #mappings()}. */
    public long mappedBytes() {
        return mapped.bytes();
    }

    /** Open descriptors and mapped ranges, one line each. */
    public List<String> leaks() {
        List<String> leaks = new ArrayList<>();
        open.forEach((fd, descriptor) -> leaks.add("descriptor " + fd + " of " + descriptor.path()));
        if (mappings() > 0) {
            leaks.add(mappings() + " mappings of " + mappedBytes() + " bytes");
        }
        return leaks;
    }

    void arm(PosixFault fault) {
        faults.add(fault);
    }

    @Override
    public int open(String path, int flags, int mode) {
        return opened(
                new PosixRequest(PosixCall.OPEN, -1, path, flags, 0, 0, 0), () -> real.open(path, flags, mode));
    }

    @Override
    public int memfdCreate(String name, int flags) {
        return opened(
                new PosixRequest(PosixCall.MEMFD_CREATE, -1, name, 0, 0, 0, 0), () -> real.memfdCreate(name, flags));
    }

    @Override
    public int fcntl(int fd, int command, long argument) {
        PosixRequest request = onDescriptor(PosixCall.FCNTL, fd, 0, 0, 0);
        if (command == PosixConstants.F_DUPFD_CLOEXEC) {
            return opened(request, () -> real.fcntl(fd, command, argument));
        }
        return (int) call(request, () -> real.fcntl(fd, command, argument));
    }

    @Override
    public int close(int fd) {
        // Another open may get the number as soon as it is closed.
        PosixRequest request = onDescriptor(PosixCall.CLOSE, fd, 0, 0, 0);
        // Linux closes the descriptor, too, where close fails
        Descriptor descriptor = open.remove(fd);
        int result = real.close(fd);
        if (result < 0 && descriptor != null) {
            open.putIfAbsent(fd, descriptor);
        }
        return (int) call(request, () -> result);
    }

    @Override
    public long pread(int fd, long address, long count, long offset) {
        return move(
                onDescriptor(PosixCall.PREAD, fd, address, offset, count),
                bytes -> real.pread(fd, address, bytes, offset));
    }

    @Override
    public long pread(int fd, MemorySegment segment, long segmentOffset, long count, long offset) {
        return move(
                onDescriptor(PosixCall.PREAD, fd, segment.address() + segmentOffset, offset, count),
                bytes -> real.pread(fd, segment, segmentOffset, bytes, offset));
    }

    @Override
    public long pwrite(int fd, long address, long count, long offset) {
        return move(
                onDescriptor(PosixCall.PWRITE, fd, address, offset, count),
                bytes -> real.pwrite(fd, address, bytes, offset));
    }

    @Override
    public long pwrite(int fd, MemorySegment segment, long segmentOffset, long count, long offset) {
        return move(
                onDescriptor(PosixCall.PWRITE, fd, segment.address() + segmentOffset, offset, count),
                bytes -> real.pwrite(fd, segment, segmentOffset, bytes, offset));
    }

    @Override
    public long preadv2(int fd, long address, long count, long offset, int flags) {
        return move(
                onDescriptor(PosixCall.PREADV2, fd, address, offset, count),
                bytes -> real.preadv2(fd, address, bytes, offset, flags));
    }

    @Override
    public long cachedPages(int fd, long offset, long length) {
        return call(
                onDescriptor(PosixCall.CACHED_PAGES, fd, 0, offset, length),
                () -> real.cachedPages(fd, offset, length));
    }

    @Override
    public StatxResult statx(int fd) {
        StatxResult[] result = new StatxResult[1];
        long error = call(onDescriptor(PosixCall.STATX, fd, 0, 0, 0), () -> (result[0] = real.statx(fd)).error());
        return result[0] == null ? StatxResult.failed((int) error) : result[0];
    }

    @Override
    public StatxResult statx(String path) {
        StatxResult[] result = new StatxResult[1];
        PosixRequest request = new PosixRequest(PosixCall.STATX, -1, path, 0, 0, 0, 0);
        long error = call(request, () -> (result[0] = real.statx(path)).error());
        return result[0] == null ? StatxResult.failed((int) error) : result[0];
    }

    @Override
    public long fileSystemMagic(int fd) {
        return call(onDescriptor(PosixCall.FSTATFS, fd, 0, 0, 0), () -> real.fileSystemMagic(fd));
    }

    @Override
    public int fadvise(int fd, long offset, long length, int advice) {
        PosixRequest request = onDescriptor(PosixCall.FADVISE, fd, 0, offset, length);
        return (int) call(request, () -> real.fadvise(fd, offset, length, advice));
    }

    @Override
    public long mmap(long address, long length, int protection, int flags, int fd, long offset) {
        PosixRequest request = onDescriptor(PosixCall.MMAP, fd, address, offset, length);
        long result = call(request, () -> real.mmap(address, length, protection, flags, fd, offset));
        if (result > 0) {
            mapped.add(result, length);
        }
        return result;
    }

    @Override
    public int munmap(long address, long length) {
        PosixRequest request = new PosixRequest(PosixCall.MUNMAP, -1, "", 0, address, 0, length);
        return (int) call(request, () -> {
            mapped.remove(address, length); // before: another thread may map the range as soon as it is free
            return real.munmap(address, length);
        });
    }

    @Override
    public int madvise(long address, long length, int advice) {
        PosixRequest request = new PosixRequest(PosixCall.MADVISE, -1, "", 0, address, 0, length);
        return (int) call(request, () -> real.madvise(address, length, advice));
    }

    @Override
    public int ftruncate(int fd, long length) {
        return (int) call(onDescriptor(PosixCall.FTRUNCATE, fd, 0, length, 0), () -> real.ftruncate(fd, length));
    }

    @Override
    public int fallocate(int fd, int mode, long offset, long length) {
        PosixRequest request = onDescriptor(PosixCall.FALLOCATE, fd, 0, offset, length);
        return (int) call(request, () -> real.fallocate(fd, mode, offset, length));
    }

    @Override
    public int fsync(int fd) {
        return (int) call(onDescriptor(PosixCall.FSYNC, fd, 0, 0, 0), () -> real.fsync(fd));
    }

    @Override
    public int fdatasync(int fd) {
        return (int) call(onDescriptor(PosixCall.FDATASYNC, fd, 0, 0, 0), () -> real.fdatasync(fd));
    }

    @Override
    public int rename(String from, String to) {
        return (int) call(new PosixRequest(PosixCall.RENAME, -1, to, 0, 0, 0, 0), () -> real.rename(from, to));
    }

    @Override
    public int link(String existing, String name) {
        return (int) call(new PosixRequest(PosixCall.LINK, -1, name, 0, 0, 0, 0), () -> real.link(existing, name));
    }

    @Override
    public int unlink(String path) {
        return (int) call(new PosixRequest(PosixCall.UNLINK, -1, path, 0, 0, 0, 0), () -> real.unlink(path));
    }

    @Override
    public int rmdir(String path) {
        return (int) call(new PosixRequest(PosixCall.RMDIR, -1, path, 0, 0, 0, 0), () -> real.rmdir(path));
    }

    @Override
    public int mkdir(String path, int mode) {
        return (int) call(new PosixRequest(PosixCall.MKDIR, -1, path, 0, 0, 0, 0), () -> real.mkdir(path, mode));
    }

    @Override
    public int chmod(String path, int mode) {
        return (int) call(new PosixRequest(PosixCall.CHMOD, -1, path, 0, 0, 0, 0), () -> real.chmod(path, mode));
    }

    @Override
    public long blockDeviceSize(int fd) {
        return call(onDescriptor(PosixCall.BLOCK_DEVICE_SIZE, fd, 0, 0, 0), () -> real.blockDeviceSize(fd));
    }

    @Override
    public int ioUringSetup(int entries, MemorySegment parameters) {
        return opened(
                new PosixRequest(PosixCall.IO_URING_SETUP, -1, "io_uring", 0, 0, 0, 0),
                () -> real.ioUringSetup(entries, parameters));
    }

    @Override
    public int ioUringEnter(int fd, int submit, int wait, int flags) {
        PosixRequest request = onDescriptor(PosixCall.IO_URING_ENTER, fd, 0, 0, submit);
        return (int) call(request, () -> real.ioUringEnter(fd, submit, wait, flags));
    }

    @Override
    public int timerSlack() {
        return (int) call(new PosixRequest(PosixCall.TIMER_SLACK, -1, "", 0, 0, 0, 0), real::timerSlack);
    }

    @Override
    public int setTimerSlack(int nanos) {
        PosixRequest request = new PosixRequest(PosixCall.SET_TIMER_SLACK, -1, "", 0, 0, 0, 0);
        return (int) call(request, () -> real.setTimerSlack(nanos));
    }

    @Override
    public int affinity(BitSet processors) {
        PosixRequest request = new PosixRequest(PosixCall.AFFINITY, -1, "", 0, 0, 0, 0);
        return (int) call(request, () -> real.affinity(processors));
    }

    @Override
    public int setAffinity(BitSet processors) {
        PosixRequest request = new PosixRequest(PosixCall.SET_AFFINITY, -1, "", 0, 0, 0, 0);
        return (int) call(request, () -> real.setAffinity(processors));
    }

    @Override
    public int setenv(String name, String value, boolean overwrite) {
        PosixRequest request = new PosixRequest(PosixCall.SETENV, -1, name, 0, 0, 0, 0);
        return (int) call(request, () -> real.setenv(name, value, overwrite));
    }

    @Override
    public long lseek(int fd, long offset, int whence) {
        return real.lseek(fd, offset, whence);
    }

    @Override
    public boolean isatty(int fd) {
        return real.isatty(fd);
    }

    @Override
    public long pageSize() {
        return real.pageSize();
    }

    private PosixRequest onDescriptor(PosixCall call, int fd, long address, long offset, long count) {
        Descriptor descriptor = open.getOrDefault(fd, UNKNOWN);
        return new PosixRequest(call, fd, descriptor.path(), descriptor.flags(), address, offset, count);
    }

    private int opened(PosixRequest request, LongSupplier real) {
        int fd = (int) call(request, real);
        if (fd >= 0) {
            open.put(fd, new Descriptor(request.path(), request.flags()));
        }
        return fd;
    }

    private long call(PosixRequest request, LongSupplier real) {
        return move(request, count -> real.getAsLong());
    }

    private long move(PosixRequest request, LongUnaryOperator real) {
        calls.get(request.call()).incrementAndGet();
        if (remembers && request.call().isIo()) {
            io.add(request);
        }
        for (PosixFault fault : faults) {
            if (fault.hit(request)) {
                fault.before().run();
                if (fault.error() < 0) {
                    return fault.error();
                }
                if (request.isDirect()) {
                    // The kernel would refuse an odd count: it moves all, and the double reports a part.
                    return fault.shortened(real.applyAsLong(request.count()));
                }
                return real.applyAsLong(fault.shortened(request.count()));
            }
        }
        return real.applyAsLong(request.count());
    }

    /** True for an open descriptor with O_DIRECT. */
    public boolean isDirect(int fd) {
        return (open.getOrDefault(fd, UNKNOWN).flags() & O_DIRECT) != 0;
    }
}
