package io.gds4j.rdma;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.verbs.ReceiveRequest;
import io.gds4j.ffi.verbs.SendRequest;
import io.gds4j.ffi.verbs.WindowBind;
import io.gds4j.ffi.verbs.WorkCompletions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a queue pair from their post to their completion. One lock guards the structs of requests and the order of what
 * waits; it is never held while a thread waits for the device, nor while it calls a window.
 */
final class Requests {
    private static final int PIECES = 4;
    private static final int COMPLETIONS = 16;
    private static final long RECEIVES = 1L << 63;
    /** Time after which a waiting thread looks whether the queue pair was closed, or another thread took its completion. */
    private static final int SLICE_MILLIS = 20;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final DomainHandle domain;
    private final long handle;
    private final CompletionQueue completions;
    private final int sendDepth;
    private final int receiveDepth;
    private final SendRequest send = new SendRequest(PIECES);
    private final ReceiveRequest receive = new ReceiveRequest(PIECES);
    private final WorkCompletions polled = new WorkCompletions(COMPLETIONS);
    private final Queue<PendingRequest> sends = new ArrayDeque<>();
    private final Queue<PendingRequest> receives = new ArrayDeque<>();
    private final Queue<Completion> ready = new ArrayDeque<>();
    private final Map<Integer, MemoryWindow> windows = new HashMap<>();
    private int readyReceives;

    Requests(DomainHandle domain, long handle, CompletionQueue completions, int sendDepth, int receiveDepth) {
        this.domain = domain;
        this.handle = handle;
        this.completions = completions;
        this.sendDepth = sendDepth;
        this.receiveDepth = receiveDepth;
    }

    // ---- posts

    void write(long id, RegionSlice source, RemoteMemory target) {
        requireRoom(source.length(), target);
        post(id, RdmaOperation.WRITE, () -> piece(
                send.rdma(0, SendRequest.RDMA_WRITE, 0, target.address(), target.key()), source));
    }

    void writeInline(long id, byte[] bytes, RemoteMemory target) {
        requireRoom(bytes.length, target);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            post(id, RdmaOperation.WRITE, () -> inline(
                    send.rdma(0, SendRequest.RDMA_WRITE, SendRequest.INLINE, target.address(), target.key()), copy));
        }
    }

    void read(long id, RegionSlice target, RemoteMemory source) {
        requireRoom(target.length(), source);
        post(id, RdmaOperation.READ, () -> piece(
                send.rdma(0, SendRequest.RDMA_READ, 0, source.address(), source.key()), target));
    }

    void send(long id, int key, boolean invalidating, RegionSlice... parts) {
        post(id, RdmaOperation.SEND, () -> {
            send.send(0, invalidating ? SendRequest.SEND_WITH_INV : SendRequest.SEND, 0, key);
            for (RegionSlice part : parts) {
                piece(send, part);
            }
        });
    }

    void sendInline(long id, byte[] bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            post(id, RdmaOperation.SEND, () -> inline(send.send(0, SendRequest.SEND, SendRequest.INLINE, 0), copy));
        }
    }

    void fetchAdd(long id, RegionSlice old, RemoteMemory target, long addend) {
        post(id, RdmaOperation.FETCH_ADD, () -> piece(
                send.atomic(0, SendRequest.ATOMIC_FETCH_AND_ADD, target.address(), target.key(), addend, 0), old));
    }

    void compareSwap(long id, RegionSlice old, RemoteMemory target, long expected, long value) {
        post(id, RdmaOperation.COMPARE_SWAP, () -> piece(
                send.atomic(0, SendRequest.ATOMIC_CMP_AND_SWP, target.address(), target.key(), expected, value), old));
    }

    void receive(long id, RegionSlice... parts) {
        synchronized (this) {
            requireRoom("ibv_post_recv", receives.size() + readyReceives, receiveDepth);
            receive.begin(RECEIVES);
            for (RegionSlice part : parts) {
                if (part.length() > 0) {
                    receive.piece(part.address(), part.length(), part.region().localKey());
                }
            }
            domain.check("ibv_post_recv", domain.verbs().postReceive(handle, receive));
            receives.add(new PendingRequest(id, RdmaOperation.RECEIVE, false));
        }
    }

    PendingRequest bindByCall(long window, long region, long address, long length, int access) {
        WindowBind bind = new WindowBind(0, region, address, length, access);
        return post(0, RdmaOperation.BIND, true, "ibv_bind_mw", () -> domain.verbs().bindMw(handle, window, bind));
    }

    PendingRequest bindByRequest(long window, int key, long region, long address, long length, int access) {
        return postInternal(
                RdmaOperation.BIND, () -> send.bind(0, window, key, region, address, length, access));
    }

    PendingRequest invalidate(int key) {
        return postInternal(RdmaOperation.INVALIDATE, () -> send.invalidate(0, key));
    }

    private static void piece(SendRequest request, RegionSlice part) {
        if (part.length() > 0) { // some devices take 0 for 2 GiB
            request.piece(part.address(), part.length(), part.region().localKey());
        }
    }

    private static void inline(SendRequest request, MemorySegment bytes) {
        if (bytes.byteSize() > 0) {
            request.piece(bytes.address(), (int) bytes.byteSize(), 0);
        }
    }

    private static void requireRoom(int size, RemoteMemory remote) {
        if (size > remote.length()) {
            throw RdmaFailure.invalid(
                    "ibv_post_send", "%s bytes, the peer's memory has %s".formatted(size, remote.length()));
        }
    }

    private void post(long id, RdmaOperation operation, Runnable fill) {
        post(id, operation, false, "ibv_post_send", () -> {
            fill.run();
            return domain.verbs().postSend(handle, send);
        });
    }

    private PendingRequest postInternal(RdmaOperation operation, Runnable fill) {
        return post(0, operation, true, "ibv_post_send", () -> {
            fill.run();
            return domain.verbs().postSend(handle, send);
        });
    }

    private synchronized PendingRequest post(
            long id, RdmaOperation operation, boolean internal, String verb, IntSupplier call) {
        requireRoom(verb, sends.size() + ready.size() - readyReceives, sendDepth);
        domain.check(verb, call.getAsInt());
        PendingRequest pending = new PendingRequest(id, operation, internal);
        sends.add(pending);
        return pending;
    }

    private static void requireRoom(String verb, int waiting, int depth) {
        if (waiting >= depth) {
            throw RdmaFailure.of(
                    CuFileError.NOMEM_ERROR, verb, Errno.ENOMEM,
                    "the queue is full: %s requests whose completions were not taken".formatted(waiting));
        }
    }

    // ---- completions

    /** Moves completions of the device to those of the program. */
    void pump() {
        List<Runnable> invalidated = new ArrayList<>(0);
        synchronized (this) {
            int count;
            do {
                count = domain.check("ibv_poll_cq", domain.verbs().pollCq(completions.handle(), polled));
                for (int i = 0; i < count; i++) {
                    complete(i, invalidated);
                }
            } while (count == COMPLETIONS);
        }
        invalidated.forEach(Runnable::run);
    }

    private void complete(int index, List<Runnable> invalidated) {
        boolean received = polled.id(index) == RECEIVES;
        PendingRequest pending = (received ? receives : sends).poll();
        if (pending == null) {
            throw RdmaFailure.of("ibv_poll_cq", Errno.EIO, "a completion of a request that was never posted");
        }
        CompletionStatus status = CompletionStatus.of(polled.status(index));
        boolean succeeded = status == CompletionStatus.SUCCESS;
        int flags = succeeded ? polled.flags(index) : 0;
        OptionalInt immediate = (flags & WorkCompletions.WITH_IMMEDIATE) != 0
                ? OptionalInt.of(Integer.reverseBytes(polled.data(index)))
                : OptionalInt.empty();
        if (received && (flags & WorkCompletions.ANY_INVALIDATE) != 0) {
            int key = polled.data(index);
            MemoryWindow window = windows.get(key);
            if (window != null) {
                invalidated.add(() -> window.invalidatedByPeer(key));
            }
        }
        Completion completion = new CompletionParts(
                pending.id, pending.operation, status, received && succeeded ? polled.bytes(index) : 0, immediate,
                succeeded ? 0 : polled.vendorError(index));
        if (pending.internal) {
            pending.completion = completion;
        } else {
            ready.add(completion);
            readyReceives += received ? 1 : 0;
        }
    }

    List<Completion> poll(int most) {
        pump();
        synchronized (this) {
            List<Completion> taken = new ArrayList<>();
            while (taken.size() < most && !ready.isEmpty()) {
                taken.add(take());
            }
            return taken;
        }
    }

    private @Nullable Completion take() {
        Completion next = ready.poll();
        if (next != null && next.operation() == RdmaOperation.RECEIVE) {
            readyReceives--;
        }
        return next;
    }

    private synchronized @Nullable Completion takeNow() {
        return take();
    }

    /** Returns the next completion, or null if none came in time. */
    @Nullable
    Completion await(Duration timeout, BooleanSupplier open) {
        Completion[] taken = new Completion[1];
        waitFor(timeout, true, open, () -> (taken[0] = takeNow()) != null);
        return taken[0];
    }

    /** Whether a request of ours may still succeed. */
    boolean isUndecided(PendingRequest pending) {
        return completionOf(pending) == null;
    }

    /** Waits for a request of ours, and checks that it succeeded. An interrupt does not end that: the request is on its way. */
    void finish(PendingRequest pending, Duration timeout) {
        String verb = pending.operation.verb();
        if (!waitFor(timeout, false, () -> true, () -> completionOf(pending) != null)) {
            throw RdmaFailure.of(
                    verb, Errno.ETIMEDOUT,
                    "%s: no completion in %s s".formatted(pending.operation.text(), timeout.toSeconds()));
        }
        Completion completion = completionOf(pending);
        if (completion != null) {
            completion.check();
        }
    }

    private synchronized @Nullable Completion completionOf(PendingRequest pending) {
        return pending.completion;
    }

    private boolean waitFor(
            Duration timeout, boolean interruptible, BooleanSupplier open, BooleanSupplier done) {
        long start = System.nanoTime();
        long limit = Math.max(0, TimeUnit.NANOSECONDS.convert(timeout));
        boolean interrupted = false;
        try {
            while (true) {
                pump();
                if (done.getAsBoolean()) {
                    return true;
                }
                long left = limit - (System.nanoTime() - start);
                if (left <= 0) {
                    return false;
                }
                if (!open.getAsBoolean()) {
                    throw RdmaFailure.of(
                            CuFileError.MEMORY_NOT_REGISTERED, "ibv_get_cq_event", Errno.EBADF,
                            "the queue pair was closed meanwhile");
                }
                completions.arm();
                // A completion that came before the event was asked for causes none.
                pump();
                if (done.getAsBoolean()) {
                    return true;
                }
                try {
                    completions.await(Math.clamp(left / NANOS_PER_MILLI, 1, SLICE_MILLIS));
                } catch (InterruptedException e) {
                    interrupted = true;
                    if (interruptible) {
                        throw RdmaFailure.of(
                                "ibv_get_cq_event", Errno.EINTR, "interrupted while it waits for a completion");
                    }
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    // ---- windows of type 2

    synchronized void noteWindow(int key, MemoryWindow window) {
        windows.put(key, window);
    }

    synchronized void forgetWindow(int key) {
        windows.remove(key);
    }

    synchronized int windows() {
        return windows.size();
    }
}
