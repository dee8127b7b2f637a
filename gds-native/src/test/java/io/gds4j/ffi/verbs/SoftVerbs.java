package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.gds4j.error.Errno;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A double of libibverbs with devices of the InfiniBand model in memory: requests run when they are posted. Unlike Soft-RoCE it
 * checks the bounds of windows. Every verb can be made to fail once.
 */
public final class SoftVerbs implements Verbs {
    private static final int SUCCESS = 0;
    private static final int LOC_LEN_ERR = 1;
    private static final int LOC_QP_OP_ERR = 2;
    private static final int LOC_PROT_ERR = 4;
    private static final int FLUSHED = 5;
    private static final int BIND_ERR = 6;
    private static final int INVALID_REQUEST = 9;
    private static final int ACCESS_ERR = 10;
    private static final int RETRY_ERR = 12;
    private static final int NOT_READY_ERR = 13;
    private static final MemorySegment EVERYTHING = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private record Context(String device) {
    }

    private record Domain(long context) {
    }

    private static final class Region {
        long domain;
        final long length;
        long address;
        long iova;
        int access;
        final int key;

        Region(long domain, long address, long length, long iova, int access, int key) {
            this.domain = domain;
            this.address = address;
            this.length = length;
            this.iova = iova;
            this.access = access;
            this.key = key;
        }
    }

    private static final class Window {
        final long domain;
        final int type;
        int key;
        boolean bound;
        long region;
        long address;
        long length;
        int access;
        long queuePair;

        Window(long domain, int type, int key) {
            this.domain = domain;
            this.type = type;
            this.key = key;
        }
    }

    private record Channel(Semaphore events) {
    }

    private static final class CompletionQueue {
        final Channel channel;
        final int entries;
        final Deque<long[]> waiting = new ArrayDeque<>();
        boolean armed;

        CompletionQueue(Channel channel, int entries) {
            this.channel = channel;
            this.entries = entries;
        }
    }

    private record Failure(int nth, int errno) {
    }

    private record Receive(long id, List<long[]> pieces) {
    }

    private static final class QueuePair {
        final long domain;
        final int type;
        final CompletionQueue completions;
        final int number;
        final int receiveDepth;
        final Deque<Receive> receives = new ArrayDeque<>();
        int state;
        int peer;
        int access;

        QueuePair(long domain, int type, CompletionQueue completions, int number, int receiveDepth) {
            this.domain = domain;
            this.type = type;
            this.completions = completions;
            this.number = number;
            this.receiveDepth = receiveDepth;
        }
    }

    private final List<String> devices;
    private final Map<Long, Object> objects = new LinkedHashMap<>();
    private final List<String> calls = new ArrayList<>();
    private final Map<String, Failure> failures = new HashMap<>();
    private final Map<String, Integer> statuses = new HashMap<>();
    private long next = 0x1000;
    private int nextKey = 1;
    private int nextNumber = 17;
    private boolean overflowed;
    private int activeMtu = 5;
    private boolean silent;
    private volatile @Nullable Runnable beforePost;

    /** Makes devices of these names. */
    public SoftVerbs(String... devices) {
        this.devices = List.of(devices);
    }

    /** Makes the next call of a verb fail. */
    public synchronized void fail(String verb, int errno) {
        fail(verb, 1, errno);
    }

    /** Makes the n-th call of a verb from now on fail. */
    public synchronized void fail(String verb, int nth, int errno) {
        failures.put(verb, new Failure(nth, errno));
    }

    /** Returns whether a call is still to fail. */
    public synchronized boolean isFailing() {
        return !failures.isEmpty();
    }

    /** Makes the next request of an opcode end with a status; it has no effect, and its queue pair fails. */
    public synchronized void failRequest(int opcode, int status) {
        statuses.put("op " + opcode, status);
    }

    /** Sets {@code enum ibv_mtu} of the port (5, 4096 bytes). */
    public synchronized void activeMtu(int code) {
        activeMtu = code;
    }

    /** Sets whether the device holds its completions back. */
    public synchronized void silent(boolean held) {
        silent = held;
    }

    /** Runs something in the next post of a request to send, on its thread. */
    public void beforeNextPost(Runnable work) {
        beforePost = work;
    }

    /** Returns the verbs that were called, in order, except polls. */
    public synchronized List<String> calls() {
        return calls.stream().filter(call -> !call.equals("ibv_poll_cq")).toList();
    }

    /** Returns the verbs that were called, in order. */
    public synchronized List<String> everyCall() {
        return List.copyOf(calls);
    }

    /** Returns what was made and not freed. */
    public synchronized List<String> live() {
        return objects.values().stream().map(object -> object.getClass().getSimpleName()).toList();
    }

    /** Returns whether a completion was lost. */
    public synchronized boolean hasOverflowed() {
        return overflowed;
    }

    /** Moves the queue pair of this number into the error state, as a device does when it fails. */
    public synchronized void breakQueuePair(int number) {
        QueuePair found = byNumber(number);
        if (found != null) {
            broken(found);
        }
    }

    private int failing(String verb) {
        calls.add(verb);
        Failure planned = failures.remove(verb);
        if (planned == null) {
            return 0;
        }
        if (planned.nth > 1) {
            failures.put(verb, new Failure(planned.nth - 1, planned.errno));
            return 0;
        }
        return -planned.errno;
    }

    private long make(String verb, Object object) {
        int failed = failing(verb);
        if (failed != 0) {
            return failed;
        }
        long handle = next++;
        objects.put(handle, object);
        return handle;
    }

    private int free(String verb, long handle) {
        if (objects.remove(handle) == null) {
            throw new AssertionError(verb + " of something that is not there");
        }
        return failing(verb);
    }

    @SuppressWarnings("unchecked")
    private <T> T at(long handle, Class<T> type) {
        Object found = objects.get(handle);
        if (!type.isInstance(found)) {
            throw new AssertionError("use of a freed " + type.getSimpleName());
        }
        return (T) found;
    }

    private <T> List<T> all(Class<T> type) {
        return objects.values().stream().filter(type::isInstance).map(type::cast).toList();
    }

    // ---- devices

    @Override
    public List<String> deviceNames() {
        return devices;
    }

    @Override
    public synchronized long openDevice(String name) {
        return devices.contains(name) ? make("ibv_open_device", new Context(name)) : 0;
    }

    @Override
    public synchronized int closeDevice(long context) {
        return free("ibv_close_device", context);
    }

    @Override
    public synchronized int queryDevice(long context, DeviceAttributes answer) {
        answer.set(
                DeviceAttributes.MEM_WINDOW | DeviceAttributes.MEM_WINDOW_2B, 1 << 16, 1 << 14, 1 << 16, 1 << 16, 1);
        return failing("ibv_query_device");
    }

    @Override
    public synchronized int queryPort(long context, int port, PortAttributes answer) {
        answer.set(PortAttributes.ACTIVE, activeMtu, 2, 0, PortAttributes.ETHERNET);
        int failed = failing("ibv_query_port");
        return failed != 0 || port == 1 ? failed : -Errno.EINVAL;
    }

    @Override
    public synchronized int queryGid(long context, int port, int index, byte[] gid) {
        gid[15] = (byte) (index == 0 || index == 1 ? index + 1 : 0);
        int failed = failing("ibv_query_gid");
        return failed != 0 || index < 8 ? failed : -Errno.EINVAL;
    }

    // ---- domains, regions, windows

    @Override
    public synchronized long allocPd(long context) {
        at(context, Context.class);
        return make("ibv_alloc_pd", new Domain(context));
    }

    @Override
    public synchronized int deallocPd(long domain) {
        boolean used = all(Region.class).stream().anyMatch(region -> region.domain == domain)
                || all(Window.class).stream().anyMatch(window -> window.domain == domain)
                || all(QueuePair.class).stream().anyMatch(pair -> pair.domain == domain);
        if (used) {
            throw new AssertionError("a domain is freed before its members");
        }
        return free("ibv_dealloc_pd", domain);
    }

    @Override
    public synchronized long regMr(long domain, long address, long length, int access) {
        return register("ibv_reg_mr", domain, address, length, address, access);
    }

    @Override
    public synchronized long regMrIova(long domain, long address, long length, long iova, int access) {
        return register("ibv_reg_mr_iova", domain, address, length, iova, access);
    }

    @Override
    public synchronized long regDmaBufMr(long domain, long offset, long length, long iova, int fd, int access) {
        calls.add("offset %s length %s iova 0x%x fd %s access %s".formatted(offset, length, iova, fd, access));
        return register("ibv_reg_dmabuf_mr", domain, iova, length, iova, access);
    }

    private long register(String verb, long domain, long address, long length, long iova, int access) {
        at(domain, Domain.class);
        if ((access & (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC)) != 0 && (access & ACCESS_LOCAL_WRITE) == 0) {
            return -Errno.EINVAL;
        }
        return make(verb, new Region(domain, address, length, iova, access, nextKey++ << 8));
    }

    @Override
    public synchronized int reregMr(long region, int flags, long domain, long address, long length, int access) {
        int failed = failing("ibv_rereg_mr");
        if (failed == 0) {
            Region changed = at(region, Region.class);
            changed.access = access;
            if ((flags & CHANGE_TRANSLATION) != 0) {
                changed.address = address;
                changed.iova = address;
            }
            if ((flags & CHANGE_DOMAIN) != 0) {
                at(domain, Domain.class);
                changed.domain = domain;
            }
        }
        return failed;
    }

    @Override
    public synchronized int deregMr(long region) {
        if (all(Window.class).stream().anyMatch(window -> window.bound && window.region == region)) {
            throw new AssertionError("a region is deregistered under a bound window");
        }
        return free("ibv_dereg_mr", region);
    }

    @Override
    public synchronized int localKey(long region) {
        return at(region, Region.class).key;
    }

    @Override
    public synchronized int remoteKey(long region) {
        return at(region, Region.class).key;
    }

    @Override
    public synchronized long allocMw(long domain, int type) {
        at(domain, Domain.class);
        return make("ibv_alloc_mw", new Window(domain, type, nextKey++ << 8));
    }

    @Override
    public synchronized int bindMw(long queuePair, long window, WindowBind bind) {
        int failed = failing("ibv_bind_mw");
        if (failed == 0) {
            QueuePair pair = at(queuePair, QueuePair.class);
            Window bound = at(window, Window.class);
            int key = bound.key & ~0xff | bound.key + 1 & 0xff;
            int status = bind(
                    pair, bound, key, bind.region(), bind.address(), bind.length(), bind.access(), queuePair);
            finish(pair, bind.id(), status, BIND_MW, 0);
        }
        return failed;
    }

    private static final int BIND_MW = 5;

    private int bind(
            QueuePair pair, Window window, int key, long region, long address, long length, int access, long handle) {
        if (pair.state != QueuePairAttributes.READY_TO_SEND) {
            return FLUSHED;
        }
        if (length == 0) {
            window.bound = false;
            window.key = key;
            return SUCCESS;
        }
        Region under = at(region, Region.class);
        boolean fits = under.domain == window.domain && pair.domain == window.domain
                && (under.access & ACCESS_MW_BIND) != 0 && address >= under.iova
                && address - under.iova <= under.length - length
                && ((access & (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC)) == 0
                        || (under.access & ACCESS_LOCAL_WRITE) != 0)
                && !(window.type == WINDOW_TYPE_2 && window.bound);
        if (!fits) {
            return BIND_ERR;
        }
        window.bound = true;
        window.key = key;
        window.region = region;
        window.address = address;
        window.length = length;
        window.access = access;
        window.queuePair = handle;
        return SUCCESS;
    }

    @Override
    public synchronized int deallocMw(long window) {
        return free("ibv_dealloc_mw", window);
    }

    @Override
    public synchronized int windowKey(long window) {
        return at(window, Window.class).key;
    }

    @Override
    public synchronized void setWindowKey(long window, int key) {
        at(window, Window.class).key = key;
    }

    // ---- completions

    @Override
    public synchronized long createChannel(long context) {
        return make("ibv_create_comp_channel", new Channel(new Semaphore(0)));
    }

    @Override
    public synchronized int destroyChannel(long channel) {
        return free("ibv_destroy_comp_channel", channel);
    }

    @Override
    public int awaitEvent(long channel, int milliseconds) {
        if (milliseconds > 0 && Thread.currentThread().isVirtual()) {
            throw new AssertionError("a virtual thread holds its carrier while it waits");
        }
        Channel waited;
        synchronized (this) {
            waited = at(channel, Channel.class);
            int failed = failing("ibv_get_cq_event");
            if (failed != 0) {
                return failed;
            }
        }
        try {
            return waited.events.tryAcquire(milliseconds, TimeUnit.MILLISECONDS) ? 1 : 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        }
    }

    @Override
    public synchronized long createCq(long context, int entries, long channel) {
        return make("ibv_create_cq", new CompletionQueue(at(channel, Channel.class), entries));
    }

    @Override
    public synchronized int requestNotify(long queue) {
        at(queue, CompletionQueue.class).armed = true;
        return failing("ibv_req_notify_cq");
    }

    @Override
    public synchronized int pollCq(long queue, WorkCompletions answer) {
        CompletionQueue polled = at(queue, CompletionQueue.class);
        int failed = failing("ibv_poll_cq");
        if (failed != 0) {
            return failed;
        }
        int count = 0;
        while (count < answer.most() && !polled.waiting.isEmpty() && !silent) {
            long[] found = polled.waiting.remove();
            answer.set(
                    count++, found[0], (int) found[1], (int) found[2], (int) found[3], (int) found[4], (int) found[5],
                    (int) found[6]);
        }
        return count;
    }

    @Override
    public synchronized int destroyCq(long queue) {
        CompletionQueue freed = at(queue, CompletionQueue.class);
        if (all(QueuePair.class).stream().anyMatch(pair -> pair.completions == freed)) {
            throw new AssertionError("a completion queue is freed before its queue pair");
        }
        return free("ibv_destroy_cq", queue);
    }

    private void finish(QueuePair pair, long id, int status, int opcode, int bytes) {
        finish(pair, id, status, opcode, bytes, 0, 0);
    }

    private void finish(QueuePair pair, long id, int status, int opcode, int bytes, int data, int flags) {
        CompletionQueue queue = pair.completions;
        overflowed |= queue.waiting.size() >= queue.entries;
        queue.waiting.add(new long[]{id, status, opcode, bytes, data, pair.number, flags});
        if (queue.armed) {
            queue.armed = false;
            queue.channel.events.release();
        }
        if (status != SUCCESS) {
            broken(pair);
        }
    }

    private void broken(QueuePair pair) {
        if (pair.state != QueuePairAttributes.ERROR) {
            pair.state = QueuePairAttributes.ERROR;
            Receive waiting;
            while ((waiting = pair.receives.poll()) != null) {
                finish(pair, waiting.id, FLUSHED, 0, 0);
            }
        }
    }

    // ---- queue pairs

    @Override
    public synchronized long createQp(long domain, QueuePairInit attributes) {
        at(domain, Domain.class);
        return make("ibv_create_qp", new QueuePair(
                domain, attributes.type(), at(attributes.completions(), CompletionQueue.class), nextNumber++,
                attributes.receives()));
    }

    @Override
    public synchronized int modifyQp(long queuePair, QueuePairAttributes attributes, int mask) {
        int failed = failing("ibv_modify_qp");
        if (failed == 0) {
            QueuePair pair = at(queuePair, QueuePair.class);
            pair.state = attributes.state();
            if (attributes.state() == QueuePairAttributes.INIT) {
                pair.access = attributes.access();
            }
            if (attributes.state() == QueuePairAttributes.READY_TO_RECEIVE) {
                pair.peer = attributes.peer();
            }
        }
        return failed;
    }

    @Override
    public synchronized int queryState(long queuePair) {
        int failed = failing("ibv_query_qp");
        return failed != 0 ? failed : at(queuePair, QueuePair.class).state;
    }

    @Override
    public synchronized int destroyQp(long queuePair) {
        boolean bound = all(Window.class).stream()
                .anyMatch(window -> window.bound && window.type == WINDOW_TYPE_2 && window.queuePair == queuePair);
        if (bound) {
            throw new AssertionError("a queue pair is destroyed under a bound window: Soft-RoCE stands for 51 s");
        }
        return free("ibv_destroy_qp", queuePair);
    }

    @Override
    public synchronized int number(long queuePair) {
        return at(queuePair, QueuePair.class).number;
    }

    @Override
    public synchronized int postReceive(long queuePair, ReceiveRequest request) {
        int failed = failing("ibv_post_recv");
        if (failed != 0) {
            return failed;
        }
        QueuePair pair = at(queuePair, QueuePair.class);
        if (pair.receives.size() >= pair.receiveDepth) {
            return -Errno.ENOMEM;
        }
        if (pair.state == QueuePairAttributes.ERROR) {
            finish(pair, request.id(), FLUSHED, 0, 0);
            return 0;
        }
        List<long[]> pieces = new ArrayList<>();
        for (int i = 0; i < request.pieceCount(); i++) {
            pieces.add(new long[]{
                    request.pieces().address(i), request.pieces().length(i), request.pieces().key(i)});
        }
        pair.receives.add(new Receive(request.id(), pieces));
        return 0;
    }

    @Override
    public int postSend(long queuePair, SendRequest request) {
        Runnable work = beforePost;
        if (work != null) {
            beforePost = null;
            work.run();
        }
        return post(queuePair, request);
    }

    private synchronized int post(long queuePair, SendRequest request) {
        int failed = failing("ibv_post_send");
        if (failed != 0) {
            return failed;
        }
        QueuePair pair = at(queuePair, QueuePair.class);
        int opcode = request.opcode();
        if (pair.state == QueuePairAttributes.ERROR) {
            finish(pair, request.id(), FLUSHED, opcode, 0);
            return 0;
        }
        if (pair.state != QueuePairAttributes.READY_TO_SEND) {
            return -Errno.EINVAL;
        }
        Integer status = statuses.remove("op " + opcode);
        finish(pair, request.id(), status != null ? status : run(queuePair, pair, request), opcode, 0);
        return 0;
    }

    private @Nullable QueuePair byNumber(int number) {
        return all(QueuePair.class).stream().filter(pair -> pair.number == number).findFirst().orElse(null);
    }

    private int run(long handle, QueuePair pair, SendRequest request) {
        if (request.opcode() == SendRequest.BIND_MW) {
            return bind(
                    pair, at(request.window(), Window.class), request.windowKey(), request.bindRegion(),
                    request.bindAddress(), request.bindLength(), request.bindAccess(), handle);
        }
        if (request.opcode() == SendRequest.LOCAL_INV) {
            return invalidate(pair, request.key()) ? SUCCESS : BIND_ERR;
        }
        boolean reliable = pair.type == QueuePairInit.RC;
        boolean answered = request.opcode() == SendRequest.RDMA_READ
                || request.opcode() == SendRequest.ATOMIC_CMP_AND_SWP
                || request.opcode() == SendRequest.ATOMIC_FETCH_AND_ADD;
        if (!reliable && answered) {
            return LOC_QP_OP_ERR;
        }
        byte[] data = null;
        long size = 0;
        boolean writable = answered;
        for (int i = 0; i < request.pieceCount(); i++) {
            size += request.pieces().length(i);
            if ((request.flags() & SendRequest.INLINE) == 0
                    && local(pair.domain, request.pieces().address(i), request.pieces().length(i),
                            request.pieces().key(i), writable) == null) {
                return LOC_PROT_ERR;
            }
        }
        QueuePair peer = byNumber(pair.peer);
        if (peer == null || peer.state != QueuePairAttributes.READY_TO_SEND
                && peer.state != QueuePairAttributes.READY_TO_RECEIVE) {
            return reliable ? RETRY_ERR : SUCCESS;
        }
        if (!answered) {
            data = gather(request, pair.domain, (int) size);
        }
        int status = data == null ? answer(pair, peer, request, size) : deliver(peer, request, data);
        if (status != SUCCESS && !reliable) {
            return SUCCESS;
        }
        if (status == ACCESS_ERR || status == INVALID_REQUEST) {
            broken(peer);
        }
        return status;
    }

    private byte[] gather(SendRequest request, long domain, int size) {
        byte[] data = new byte[size];
        int at = 0;
        for (int i = 0; i < request.pieceCount(); i++) {
            int length = request.pieces().length(i);
            long from = request.pieces().address(i);
            Long translated = (request.flags() & SendRequest.INLINE) != 0
                    ? Long.valueOf(from)
                    : local(domain, from, length, request.pieces().key(i), false);
            MemorySegment.copy(EVERYTHING, JAVA_BYTE, translated == null ? from : translated, data, at, length);
            at += length;
        }
        return data;
    }

    private int deliver(QueuePair peer, SendRequest request, byte[] data) {
        switch (request.opcode()) {
            case SendRequest.RDMA_WRITE -> {
                if (data.length == 0) {
                    return SUCCESS;
                }
                Long target = remote(
                        peer, request.remoteAddress(), data.length, request.remoteKey(), ACCESS_REMOTE_WRITE);
                if (target == null) {
                    return ACCESS_ERR;
                }
                MemorySegment.copy(data, 0, EVERYTHING, JAVA_BYTE, target, data.length);
                return SUCCESS;
            }
            case SendRequest.SEND, SendRequest.SEND_WITH_INV -> {
                return receive(peer, request, data);
            }
            default -> throw new AssertionError("opcode " + request.opcode());
        }
    }

    private int receive(QueuePair peer, SendRequest request, byte[] data) {
        Receive waiting = peer.receives.poll();
        if (waiting == null) {
            return NOT_READY_ERR;
        }
        boolean invalidating = request.opcode() == SendRequest.SEND_WITH_INV;
        if (invalidating && !invalidate(peer, request.key())) {
            finish(peer, waiting.id, FLUSHED, WorkCompletions.RECEIVE, 0);
            return ACCESS_ERR;
        }
        int at = 0;
        for (long[] piece : waiting.pieces) {
            int part = (int) Math.min(piece[1], data.length - at);
            Long target = local(peer.domain, piece[0], (int) piece[1], (int) piece[2], true);
            if (target == null) {
                finish(peer, waiting.id, LOC_PROT_ERR, WorkCompletions.RECEIVE, 0);
                return INVALID_REQUEST;
            }
            MemorySegment.copy(data, at, EVERYTHING, JAVA_BYTE, target, part);
            at += part;
        }
        if (at < data.length) {
            finish(peer, waiting.id, LOC_LEN_ERR, WorkCompletions.RECEIVE, 0);
            return INVALID_REQUEST;
        }
        finish(
                peer, waiting.id, SUCCESS, WorkCompletions.RECEIVE, data.length, request.key(),
                invalidating ? WorkCompletions.WITH_INVALIDATE : 0);
        return SUCCESS;
    }

    private int answer(QueuePair pair, QueuePair peer, SendRequest request, long size) {
        boolean read = request.opcode() == SendRequest.RDMA_READ;
        if (read && size == 0) {
            return SUCCESS;
        }
        Long source = remote(
                peer, request.remoteAddress(), size, request.remoteKey(),
                read ? ACCESS_REMOTE_READ : ACCESS_REMOTE_ATOMIC);
        if (source == null) {
            return ACCESS_ERR;
        }
        Long target = local(
                pair.domain, request.pieces().address(0), request.pieces().length(0), request.pieces().key(0), true);
        if (read) {
            MemorySegment.copy(EVERYTHING, source, EVERYTHING, target, size);
            return SUCCESS;
        }
        long old = EVERYTHING.get(JAVA_LONG_UNALIGNED, source);
        boolean adds = request.opcode() == SendRequest.ATOMIC_FETCH_AND_ADD;
        if (adds || old == request.compareOrAdd()) {
            EVERYTHING.set(JAVA_LONG_UNALIGNED, source, adds ? old + request.compareOrAdd() : request.swap());
        }
        EVERYTHING.set(JAVA_LONG_UNALIGNED, target, old);
        return SUCCESS;
    }

    private boolean invalidate(QueuePair pair, int key) {
        for (Window window : all(Window.class)) {
            if (window.bound && window.type == WINDOW_TYPE_2 && window.key == key
                    && objects.get(window.queuePair) == pair) {
                window.bound = false;
                return true;
            }
        }
        return false;
    }

    /** Translates an address of a request of this side; null if it is not allowed. */
    private @Nullable Long local(long domain, long address, long length, int key, boolean writes) {
        for (Region region : all(Region.class)) {
            if (region.key == key && region.domain == domain && inside(address, length, region.iova, region.length)) {
                return writes && (region.access & ACCESS_LOCAL_WRITE) == 0
                        ? null
                        : Long.valueOf(region.address + address - region.iova);
            }
        }
        return null;
    }

    /** Translates an address that the peer of this queue pair names; null if it is not allowed. */
    private @Nullable Long remote(QueuePair pair, long address, long length, int key, int right) {
        for (Region region : all(Region.class)) {
            if (region.key == key) {
                return region.domain == pair.domain && (region.access & right) != 0
                        && inside(address, length, region.iova, region.length)
                                ? Long.valueOf(region.address + address - region.iova)
                                : null;
            }
        }
        for (Window window : all(Window.class)) {
            if (window.bound && window.key == key) {
                Region region = at(window.region, Region.class);
                boolean allowed = window.domain == pair.domain && (window.access & right) != 0
                        && inside(address, length, window.address, window.length)
                        && (window.type == WINDOW_TYPE_1 || objects.get(window.queuePair) == pair);
                return allowed ? Long.valueOf(region.address + address - region.iova) : null;
            }
        }
        return null;
    }

    private static boolean inside(long address, long length, long first, long size) {
        return address >= first && length <= size && address - first <= size - length;
    }
}
