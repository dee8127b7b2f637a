package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.CopySlots;
import io.gds4j.engine.staging.CopySlots.CopyBy;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.engine.staging.ManyContexts;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Moves pieces between the file and slabs, and their rows between slabs and fragments of memory, of the host and of several GPUs. Of a read
 * that is gathered, one kernel copies all fragments, which are of one GPU. A straight read needs no slabs.
 */
public final class ScatterTransfer extends StagedTransfer {
    /** In {@link #targets}: a thread copies the segment of the same index. */
    private static final int HOST = -1;

    /** In {@link #segments}: a thread copies, by address. */
    private static final MemorySegment BY_ADDRESS = HostMemoryViews.everywhere();

    private static final int[] ALONE = {};

    /** Fewest bytes of a fragment, on average, that are worth a pread of their own: to copy as many from a slab takes longer. */
    private static final long MIN_STRAIGHT = 64 << 10;

    private final @Nullable Thread worker;
    private final List<PreparedGpu> gpus = new ArrayList<>();
    private final List<@Nullable MemorySegment> segments = new ArrayList<>();
    private List<ScatterCopy> copies = List.of();
    private int[] targets = new int[8];
    private boolean managed;

    /** For each copy, the copies that bring the same bytes to other GPUs, itself included; empty for copies on their own. */
    private final List<int[]> groups = new ArrayList<>();

    /** @param worker one of the workers that may help; null if there is none */
    public ScatterTransfer(TransferRequest request, @Nullable Thread worker) {
        super(request);
        this.worker = worker;
    }

    /** Begins to describe a request. */
    public void target(List<ScatterCopy> ofRequest) {
        copies = ofRequest;
        gpus.clear();
        segments.clear();
        groups.clear();
        managed = false;
        if (targets.length < ofRequest.size()) {
            targets = new int[ofRequest.size()];
        }
    }

    /** Adds the next copy, whose memory a thread reads or writes. */
    public void addHost(MemoryRange memory) {
        targets[segments.size()] = HOST;
        segments.add(reachable(memory));
    }

    /** Adds the next copy, whose memory belongs to a context. */
    public void addGpu(PreparedGpu context, MemoryKind kind) {
        int known = gpus.indexOf(context);
        if (known < 0) {
            known = gpus.size();
            gpus.add(context);
        }
        managed |= kind == MemoryKind.CUDA_MANAGED;
        targets[segments.size()] = known;
        segments.add(null);
    }

    /** Adds the next copy, whose memory is that of the one before. */
    public void addSame() {
        targets[segments.size()] = targets[segments.size() - 1];
        segments.add(segments.getLast());
    }

    /** Returns the context of a copy's memory; null if a thread copies. */
    @Nullable
    PreparedGpu gpuOf(int copy) {
        return targets[copy] == HOST ? null : gpus.get(targets[copy]);
    }

    /** Returns the context of all fragments if they are whole parts of the file in memory of one GPU that kernels may copy to; else null. */
    @Nullable
    public PreparedGpu onlyGpu() {
        if (gpus.size() != 1 || managed) {
            return null;
        }
        for (int i = 0; i < copies.size(); i++) {
            if (targets[i] == HOST || copies.get(i).rows() > 1) {
                return null;
            }
        }
        return gpus.getFirst();
    }

    /** Returns whether a read can fill the fragments one after the other: single rows of host memory in the order of the file. */
    public boolean fitsStraight() {
        long end = 0;
        long bytes = 0;
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            if (copy.rows() > 1 || copy.sourceOffset() < end || !copy.destination().range().kind().isHost()) {
                return false;
            }
            end = copy.sourceEnd();
            bytes += copy.width();
        }
        return bytes / copies.size() >= MIN_STRAIGHT;
    }

    /** Returns the number of GPUs that have fragments. */
    public int gpus() {
        return gpus.size();
    }

    /** Returns whether a copy is one of a GPU's, and has bytes of a part of the range. */
    private boolean takesPart(int copy, int gpu, long from, long length) {
        return targets[copy] == gpu && overlaps(copies.get(copy), from, length);
    }

    private static boolean overlaps(ScatterCopy copy, long from, long length) {
        return copy.sourceOffset() < from + length && copy.sourceEnd() > from;
    }

    /** Returns where the bytes of a copy that has one row begin in a part of the range, from the start of the row. */
    private static long beginIn(ScatterCopy copy, long from) {
        return Math.max(0, from - copy.sourceOffset());
    }

    /** Returns the bytes of a copy that has one row in a part of the range. */
    private static long widthIn(ScatterCopy copy, long from, long length) {
        return Math.min(copy.width(), from + length - copy.sourceOffset()) - beginIn(copy, from);
    }

    /**
     * Returns a segment that all threads of the request may use. Workers cannot use one that is confined to the caller; but then
     * only the caller, who waits, can close its arena.
     */
    private MemorySegment reachable(MemoryRange memory) {
        MemorySegment segment = memory.segment().orElse(null);
        if (segment != null && segment.isAccessibleBy(worker == null ? Thread.currentThread() : worker)) {
            return segment;
        }
        return BY_ADDRESS;
    }

    @Override
    boolean runStraight(ThreadContext thread) {
        if (!request().isStraight()) {
            return false;
        }
        for (long piece = claim(thread); piece >= 0; piece = claim(thread)) {
            try {
                readStraight(thread, piece);
            } catch (RuntimeException | Error e) {
                fail(piece, e);
            }
        }
        return true;
    }

    /** Reads what fragments have of a piece to its places. The bytes between them are not read, but they count. */
    private void readStraight(ThreadContext thread, long piece) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        long from = start - plan().offset();
        long done = start;
        for (int i = 0; i < copies.size() && done < end; i++) {
            ScatterCopy copy = copies.get(i);
            if (!overlaps(copy, from, end - start)) {
                continue;
            }
            long begin = beginIn(copy, from);
            long width = widthIn(copy, from, end - start);
            long position = plan().offset() + copy.sourceOffset() + begin;
            long at = copy.destinationOffset() + begin;
            MemorySegment memory = segments.get(i);
            long read = thread.io().move(request().file(), plan(), position, position + width,
                    copy.destination().range().address() + at, memory == BY_ADDRESS ? null : memory, at,
                    cancellation(piece));
            if (read < width) {
                int errno = thread.io().errno();
                stop(piece, (read > 0 || errno != 0 ? position + read : endBetween(done, position)) - start, errno);
                return;
            }
            done = position + width;
        }
        if (done < end && endBetween(done, end) < end) {
            stop(piece, endBetween(done, end) - start, 0);
        }
    }

    /** Returns where the file ends within bytes that are not read; {@code to} if it ends behind them. */
    private long endBetween(long from, long to) {
        return Math.clamp(request().file().descriptors().size(), from, to);
    }

    @Override
    public void open(ThreadContext thread) {
        super.open(thread);
        PreparedGpu gpu = plan().isGathered() ? onlyGpu() : null;
        if (gpu != null) {
            gather(thread, gpu, places());
        }
    }

    /** Returns the number of parts of fragments that pieces have, all together. */
    private long places() {
        long places = 0;
        for (int i = 0; i < copies.size(); i++) {
            long begin = plan().offset() + copies.get(i).sourceOffset();
            long last = begin + copies.get(i).width() - 1;
            places += last / plan().pieceSize() - begin / plan().pieceSize() + 1;
        }
        return places;
    }

    /** Tells the kernel of each part of a fragment in a piece. The kernel waits for all of them, so a part that was not read counts, too. */
    @Override
    void arrived(GatherCopy gather, long piece, long host, long read) {
        long from = plan().pieceStart(piece) - plan().offset();
        long length = plan().pieceEnd(piece) - plan().pieceStart(piece);
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            if (overlaps(copy, from, length)) {
                long begin = beginIn(copy, from);
                long inPiece = copy.sourceOffset() + begin - from;
                long bytes = Math.clamp(read - inPiece, 0, widthIn(copy, from, length));
                gather.arrived(piece, host + inPiece,
                        copy.destination().range().address() + copy.destinationOffset() + begin, bytes);
            }
        }
    }

    /**
     * Has copies of the same bytes exchange them: for each piece, one GPU receives it from the host and passes it on to the others,
     * and the GPUs take turns. Their links to the host then carry each byte once.
     *
     * @param ofCopies for each copy, its group or an empty array
     */
    public void exchange(List<int[]> ofCopies) {
        groups.addAll(ofCopies);
    }

    /** Returns the copies that a copy passes a piece on to; null if another one of its group does that. */
    private int @Nullable [] peersOf(int copy, long piece) {
        int[] group = groups.isEmpty() ? ALONE : groups.get(copy);
        if (group.length == 0) {
            return ALONE;
        }
        return group[(int) (piece % group.length)] == copy ? group : null;
    }

    @Override
    public void end() {
        super.end();
        copies = List.of();
        gpus.clear();
        segments.clear();
        groups.clear();
    }

    @Override
    boolean enter(ThreadContext thread, long bytes) {
        boolean many = !plan().isWrite() && gpus.size() >= TransferCosts.MANY_GPUS;
        return thread.many().enter(
                this, gpus, bytes, many ? 1 : CopySlots.DEPTH, managed ? CopyBy.ENGINE : CopyBy.KERNEL);
    }

    @Override
    void copy(ThreadContext thread, CopySlots.Slot slot, long piece, long host, long bytes) {
        long from = plan().pieceStart(piece) - plan().offset();
        for (int gpu = 0; gpu < gpus.size(); gpu++) {
            copyWithGpu(thread.many(), slot, gpu, piece, host, from, bytes);
        }
        copyHostRows(host, from, bytes);
    }

    private void copyWithGpu(
            ManyContexts contexts, CopySlots.Slot slot, int gpu, long piece, long host, long from,
            long length) {
        boolean begun = false;
        boolean passesOn = false;
        try {
            for (int i = 0; i < copies.size(); i++) {
                if (!takesPart(i, gpu, from, length)) {
                    continue;
                }
                int[] peers = peersOf(i, piece);
                if (peers == null) {
                    continue;
                }
                if (!begun) {
                    contexts.begin(gpu, slot, !plan().isWrite());
                    begun = true;
                }
                if (peers.length > 0 && !passesOn) {
                    passesOn = true;
                    contexts.copyByEngine();
                }
                copyRows(contexts, copies.get(i), host, from, length);
            }
        } finally {
            if (begun) {
                try {
                    contexts.endOfSlot(slot, piece);
                    if (passesOn) {
                        passOn(contexts, gpu, piece, from, length);
                    }
                } finally {
                    contexts.end();
                }
            }
        }
    }

    /** Copies what a GPU has received of a piece to the other GPUs that need it; streams keep the order. */
    private void passOn(ManyContexts contexts, int gpu, long piece, long from, long length) {
        for (int i = 0; i < copies.size(); i++) {
            if (!takesPart(i, gpu, from, length)) {
                continue;
            }
            ScatterCopy copy = copies.get(i);
            int[] peers = peersOf(i, piece);
            for (int j = 0; peers != null && j < peers.length; j++) {
                int peer = peers[j];
                if (peer == i) {
                    continue;
                }
                long source = copy.destination().range().address() + copy.destinationOffset();
                ScatterCopy other = copies.get(peer);
                long target = other.destination().range().address() + other.destinationOffset();
                long begin = beginIn(copy, from);
                contexts.copyToPeer(
                        source + begin, targets[peer], target + begin, widthIn(copy, from, length), piece);
            }
        }
    }

    /** Copies the rows of one copy between a slab and a GPU, whose context is current. */
    private void copyRows(ManyContexts contexts, ScatterCopy copy, long host, long from, long length) {
        boolean toGpu = !plan().isWrite();
        long base = copy.destination().range().address();
        if (copy.rows() == 1) {
            // Without a lambda, which each of many fragments would allocate.
            long slab = host + copy.sourceOffset() + beginIn(copy, from) - from;
            long memory = base + copy.destinationOffset() + beginIn(copy, from);
            contexts.copyFragment(toGpu ? slab : memory, toGpu ? memory : slab, widthIn(copy, from, length));
            return;
        }
        copy.forPart(from, length, (offset, width, rows, at) -> {
            long slab = host + offset;
            long memory = base + at;
            if (rows == 1) {
                contexts.copyFragment(toGpu ? slab : memory, toGpu ? memory : slab, width);
            } else if (toGpu) {
                contexts.copyRows(slab, copy.sourcePitch(), memory, copy.destinationPitch(), width, rows);
            } else {
                contexts.copyRows(memory, copy.destinationPitch(), slab, copy.sourcePitch(), width, rows);
            }
        });
    }

    /** Copies the rows of the host's memory. */
    private void copyHostRows(long host, long from, long length) {
        MemorySegment piece = HostMemoryViews.ofAddress(host, length);
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            MemorySegment memory = segments.get(i);
            if (memory == null || !overlaps(copy, from, length)) {
                continue;
            }
            long base = memory == BY_ADDRESS ? copy.destination().range().address() : 0;
            if (copy.rows() == 1) {
                long begin = beginIn(copy, from);
                copyHost(piece, copy.sourceOffset() + begin - from, memory, base + copy.destinationOffset() + begin,
                        widthIn(copy, from, length));
                continue;
            }
            copy.forPart(from, length, (offset, width, rows, at) -> {
                for (long row = 0; row < rows; row++) {
                    copyHost(piece, offset + row * copy.sourcePitch(), memory,
                            base + at + row * copy.destinationPitch(), width);
                }
            });
        }
    }

    private void copyHost(MemorySegment piece, long inPiece, MemorySegment memory, long inMemory, long width) {
        if (plan().isWrite()) {
            MemorySegment.copy(memory, inMemory, piece, inPiece, width);
        } else {
            MemorySegment.copy(piece, inPiece, memory, inMemory, width);
        }
    }

    @Override
    boolean isArenaClosed() {
        return segments.stream().anyMatch(known -> known != null && !known.scope().isAlive());
    }

    @Override
    public boolean usesGpu() {
        return !gpus.isEmpty();
    }
}
