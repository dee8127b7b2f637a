package io.gds4j.ffi.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import java.util.function.ToIntFunction;

/** The base of {@link FakeCuda}: its state, injected faults, queries of tests, and rules. */
public abstract class FakeDriver implements Cuda {
    private record Failure(int first, int times, int code) {
        boolean hits(long call) {
            return call >= first && call - first < times;
        }
    }

    /** Calls that the driver may hold until all streams have passed. */
    private static final Set<CudaFunction> SYNCHRONISING = EnumSet.of(
            CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, CudaFunction.CTX_ENABLE_PEER_ACCESS, CudaFunction.MEM_ALLOC,
            CudaFunction.MEM_FREE, CudaFunction.MEM_ALLOC_MANAGED, CudaFunction.MEM_HOST_ALLOC,
            CudaFunction.MEM_FREE_HOST, CudaFunction.MEM_HOST_REGISTER, CudaFunction.MEM_HOST_UNREGISTER,
            CudaFunction.MODULE_LOAD_DATA, CudaFunction.MODULE_UNLOAD, CudaFunction.STREAM_CREATE);

    /** Calls that end a capture in global mode, unless their thread is in relaxed mode. */
    private static final Set<CudaFunction> UNSAFE_IN_CAPTURES = EnumSet.copyOf(SYNCHRONISING);

    static {
        UNSAFE_IN_CAPTURES.addAll(EnumSet.of(
                CudaFunction.STREAM_SYNCHRONIZE, CudaFunction.STREAM_QUERY, CudaFunction.EVENT_SYNCHRONIZE,
                CudaFunction.EVENT_QUERY));
    }

    private final ThreadLocal<Integer> captureMode = ThreadLocal.withInitial(() -> STREAM_CAPTURE_MODE_GLOBAL);
    final ThreadLocal<Boolean> ofProgram = ThreadLocal.withInitial(() -> false);
    private boolean capturing;
    private boolean captureLost;

    final int devices;
    final long memoryPerDevice;
    final FakeBlocks blocks = new FakeBlocks();
    final Map<Long, FakeContext> contexts = new HashMap<>();
    private final Set<Long> destroyedHandles = new HashSet<>();
    final Map<Integer, FakeContext> primaries = new HashMap<>();
    final Map<Integer, Integer> retained = new HashMap<>();
    final Map<Long, FakeStream> streams = new HashMap<>();
    final Map<Long, FakeEvent> events = new HashMap<>();
    final Map<Long, Long> physical = new HashMap<>();
    final ThreadLocal<Deque<FakeContext>> stack = ThreadLocal.withInitial(ArrayDeque::new);
    final Map<CudaFunction, AtomicLong> calls = new EnumMap<>(CudaFunction.class);
    private final Map<CudaFunction, List<Failure>> failures = new EnumMap<>(CudaFunction.class);
    private final List<String> violations = new ArrayList<>();
    private final List<Failure> deferredFailures = new ArrayList<>();
    private long deferredWork;
    private long lastHandle = 0x7000;
    long lastId = 100;
    long pushes;
    boolean pinningRefused;
    private int answer = SUCCESS;

    FakeDriver(int devices, long memoryPerDevice) {
        this.devices = devices;
        this.memoryPerDevice = memoryPerDevice;
        FakeGarbage.prepare();
        for (CudaFunction function : CudaFunction.values()) {
            calls.put(function, new AtomicLong());
            failures.put(function, new ArrayList<>());
        }
    }

    // ---- faults

    /** Makes the n-th call from now on (1 for the next) do nothing and answer this code. */
    public synchronized void fail(CudaFunction function, int nth, int code) {
        failures.get(function).add(new Failure(Math.toIntExact(calls(function)) + nth, 1, code));
    }

    /** Makes every call from now on do nothing and answer this code. */
    public synchronized void failAlways(CudaFunction function, int code) {
        failures.get(function).add(new Failure(0, Integer.MAX_VALUE, code));
    }

    /** Makes the n-th copy or fill from now on fail; a wait for its stream or event reports it. */
    public synchronized void failDeferred(int nth, int code) {
        deferredFailures.add(new Failure(Math.toIntExact(deferredWork) + nth, 1, code));
    }

    /** Makes {@code cuMemHostRegister} and {@code cuMemHostAlloc} answer OUT_OF_MEMORY from now on, or succeed again. */
    public synchronized void refusePinning(boolean refuse) {
        pinningRefused = refuse;
    }

    /** Ends all failures. */
    public synchronized void heal() {
        failures.values().forEach(List::clear);
        deferredFailures.clear();
        pinningRefused = false;
    }

    /** Makes every call answer DEINITIALIZED from now on, as at the end of the process. */
    public void deinitialize() {
        die(ERROR_DEINITIALIZED);
    }

    /** Makes every call do nothing and answer this code from now on. */
    public synchronized void die(int code) {
        answer = code;
    }

    /** Frees the memory that is left, of a driver that nobody uses any more. */
    public synchronized void freeAll() {
        for (FakeBlock block : List.copyOf(blocks.all())) {
            blocks.remove(block);
            block.free();
        }
    }

    // ---- a program's own work

    /** Makes calls as the program itself, which may synchronise whenever it likes. A wait for a word is the program's then. */
    public void asProgram(Runnable calls) {
        ofProgram.set(true);
        try {
            calls.run();
        } finally {
            ofProgram.set(false);
        }
    }

    /** Begins a capture in global mode on a thread of the program, or ends it. */
    public synchronized void captureGlobally(boolean value) {
        capturing = value;
        captureLost = false;
    }

    /** Returns whether an unsafe call has ended the capture. */
    public synchronized boolean isCaptureLost() {
        return captureLost;
    }

    // ---- contexts of a program

    /** {@code cuCtxCreate}, without making it current. */
    public synchronized long createContext(int device) {
        return createContext(device, handle());
    }

    /** {@code cuCtxCreate} with a given handle: drivers reuse the handle of a destroyed context. */
    public synchronized long createContext(int device, long handle) {
        FakeContext context = new FakeContext(handle, ++lastId, device, false);
        contexts.put(handle, context);
        destroyedHandles.remove(handle);
        return handle;
    }

    /** {@code cuCtxDestroy}: its streams, events and memory go with it. */
    public synchronized void destroyContext(long handle) {
        FakeContext context = contexts.remove(handle);
        destroyedHandles.add(handle);
        context.destroyed = true;
        streams.values().removeIf(stream -> stream.context == context);
        events.values().removeIf(event -> event.context == context);
        for (FakeBlock block : List.copyOf(blocks.all())) {
            if (block.context == context && block.kind.diesWithContext()) {
                blocks.remove(block);
                block.free();
            }
        }
    }

    // ---- queries of tests

    /** Fails where a real driver crashes: on the handle of a destroyed context. */
    final void checkNotDestroyed(long handle) {
        if (destroyedHandles.contains(handle)) {
            throw new AssertionError(
                    "a call with the destroyed context 0x%x: a real driver may crash".formatted(handle));
        }
    }

    /** Returns the number of calls so far, failed ones included. */
    public long calls(CudaFunction function) {
        return calls.get(function).get();
    }

    /** Returns bytes of memory as they are now, without any wait. */
    public synchronized byte[] peek(long address, int length) {
        return MemorySegment.ofAddress(address).reinterpret(length).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Sets bytes of memory now. */
    public synchronized void poke(long address, byte[] bytes) {
        MemorySegment.ofAddress(address).reinterpret(bytes.length).copyFrom(MemorySegment.ofArray(bytes));
    }

    /** Returns the number of copies, fills, records and waits that are not complete. */
    public synchronized int pendingWork() {
        int pending = streams.values().stream().mapToInt(FakeStream::pending).sum();
        return pending + contexts.values().stream().mapToInt(context -> context.nullStream.pending()).sum();
    }

    /** Returns the number of host bytes that are registered or were allocated pinned. */
    public synchronized long pinnedBytes() {
        return blocks.all().stream().filter(block -> block.kind.isHost()).mapToLong(block -> block.bytes).sum();
    }

    /** Returns the number of contexts that exist. */
    public synchronized int liveContexts() {
        return contexts.size();
    }

    /** Returns the rules broken so far, one line each. */
    public synchronized List<String> violations() {
        return List.copyOf(violations);
    }

    /** Returns live objects except contexts, one line each, and pushes without a pop. */
    public synchronized List<String> leaks() {
        List<String> leaks = new ArrayList<>();
        blocks.all().forEach(block -> leaks.add(block.toString()));
        streams.keySet().forEach(stream -> leaks.add("stream 0x" + Long.toHexString(stream)));
        events.keySet().forEach(event -> leaks.add("event 0x" + Long.toHexString(event)));
        physical.keySet().forEach(memory -> leaks.add("physical memory 0x" + Long.toHexString(memory)));
        if (pushes != 0) {
            leaks.add(pushes + " contexts pushed and not popped");
        }
        return leaks;
    }

    /** Returns the number of times that the primary context of a device is retained. */
    public synchronized int primaryRetains(int device) {
        return retained.getOrDefault(device, 0);
    }

    // ---- implementation

    synchronized int plain(CudaFunction function, IntSupplier body) {
        long call = calls.get(function).incrementAndGet();
        if (answer != SUCCESS) {
            return answer;
        }
        if (!ofProgram.get() && SYNCHRONISING.contains(function) && mayHoldCalls()) {
            violation("%s while a stream waits for a word or a kernel of others runs", SUCCESS, function.symbol());
        }
        if (capturing && UNSAFE_IN_CAPTURES.contains(function) && captureMode.get() != STREAM_CAPTURE_MODE_RELAXED) {
            captureLost = true;
            return violation("%s ends a capture", ERROR_STREAM_CAPTURE_UNSUPPORTED, function.symbol());
        }
        for (Failure failure : failures.get(function)) {
            if (failure.hits(call)) {
                return failure.code();
            }
        }
        return body.getAsInt();
    }

    /** Returns whether a stream waits for a word, or a kernel of others occupies the GPU. */
    boolean mayHoldCalls() {
        return streams.values().stream().anyMatch(FakeStream::waitsForUs);
    }

    @Override
    public int threadExchangeStreamCaptureMode(long[] mode) {
        return plain(CudaFunction.THREAD_EXCHANGE_STREAM_CAPTURE_MODE, () -> {
            int before = captureMode.get();
            captureMode.set((int) mode[0]);
            mode[0] = before;
            return SUCCESS;
        });
    }

    int onDevice(CudaFunction function, int device, Runnable body) {
        return plain(function, () -> {
            if (device < 0 || device >= devices) {
                return ERROR_INVALID_DEVICE;
            }
            body.run();
            return SUCCESS;
        });
    }

    int inContext(CudaFunction function, ToIntFunction<FakeContext> body) {
        return plain(function, () -> {
            FakeContext current = stack.get().peek();
            if (current == null) {
                return violation("%s without a current context", ERROR_INVALID_CONTEXT, function.symbol());
            }
            if (current.destroyed) {
                return violation("%s in destroyed %s", ERROR_CONTEXT_IS_DESTROYED, function.symbol(), current);
            }
            return body.applyAsInt(current);
        });
    }

    int onStream(CudaFunction function, long stream, ToIntFunction<FakeStream> body) {
        return inContext(function, context -> {
            if (stream == 0) {
                violation("%s on the NULL stream", SUCCESS, function.symbol());
                return body.applyAsInt(context.nullStream);
            }
            FakeStream used = streams.get(stream);
            if (used == null) {
                return violation("%s on unknown stream 0x%x", ERROR_INVALID_HANDLE, function.symbol(), stream);
            }
            if (used.context != context) {
                return violation(
                        "%s on a stream of %s in %s", ERROR_INVALID_HANDLE, function.symbol(), used.context, context);
            }
            return body.applyAsInt(used);
        });
    }

    int violation(String text, int code, Object... arguments) {
        violations.add(text.formatted(arguments));
        return code;
    }

    static int first(int one, int other) {
        return one != SUCCESS ? one : other;
    }

    long handle() {
        lastHandle += 0x10;
        return lastHandle;
    }

    long used(int device) {
        return blocks.all().stream()
                .filter(block -> !block.kind.isHost() && block.device == device)
                .mapToLong(block -> block.bytes)
                .sum();
    }

    int allocate(long[] pointer, long bytes, FakeBlock.Kind kind, long alignment, FakeContext context) {
        if (bytes <= 0) {
            return ERROR_INVALID_VALUE;
        }
        if (!kind.isHost() && bytes > memoryPerDevice - used(context.device)) {
            return ERROR_OUT_OF_MEMORY;
        }
        FakeBlock block = new FakeBlock(kind, bytes, alignment, context, ++lastId);
        blocks.add(block);
        pointer[0] = block.address;
        return SUCCESS;
    }

    /** Waits for the context's work before memory is freed, as the real driver does. */
    int freeAfterWork(FakeBlock block) {
        List.copyOf(streams.values()).forEach(stream -> {
            while (stream.runOne()) {
                // a wait for it reports its failures
            }
        });
        blocks.remove(block);
        block.free();
        return SUCCESS;
    }

    int checkOwner(FakeBlock block, FakeContext context) {
        if (block.kind.isOfContext() && block.context != context) {
            return violation("%s belongs to %s, current is %s", ERROR_INVALID_VALUE, block, block.context, context);
        }
        return SUCCESS;
    }

    int checkHost(String role, long address) {
        FakeBlock block = blocks.around(address);
        if (block != null && !block.kind.isHost() && block.kind != FakeBlock.Kind.MANAGED) {
            return violation("the host %s is %s", ERROR_INVALID_VALUE, role, block);
        }
        return address == 0 ? ERROR_INVALID_VALUE : SUCCESS;
    }

    int checkDevice(String role, long address, long bytes, FakeContext context) {
        FakeBlock block = blocks.around(address);
        if (block == null) {
            return violation("the %s 0x%x is not known to the driver", ERROR_INVALID_VALUE, role, address);
        }
        if (!block.holds(address, bytes)) {
            return violation("%d bytes at 0x%x reach past %s", ERROR_INVALID_VALUE, bytes, address, block);
        }
        if (!block.isAccessible(address, bytes)) {
            return violation("%s has no access", ERROR_INVALID_VALUE, block);
        }
        if (block.kind == FakeBlock.Kind.VMM && block.device != context.device) {
            return violation("%s is not accessible from %s", ERROR_INVALID_VALUE, block, context);
        }
        return checkOwner(block, context);
    }

    int checkAny(String role, long address, long bytes, FakeContext context) {
        return blocks.around(address) == null ? checkHost(role, address) : checkDevice(role, address, bytes, context);
    }

    int copyLater(FakeStream stream, long to, long from, long bytes) {
        return copyLater(stream, to, from, bytes, FakeStream.Channel.COMPUTE);
    }

    int copyLater(FakeStream stream, long to, long from, long bytes, FakeStream.Channel channel) {
        IntSupplier copy = () -> carryOut(() -> MemorySegment.copy(
                MemorySegment.ofAddress(from).reinterpret(bytes),
                0,
                MemorySegment.ofAddress(to).reinterpret(bytes),
                0,
                bytes));
        FakeBlock target = blocks.around(to);
        FakeBlock source = blocks.around(from);
        if (target != null && target.kind == FakeBlock.Kind.MANAGED
                || source != null && source.kind == FakeBlock.Kind.MANAGED) {
            stream.enqueue(new FakeStream.OfManaged(copy));
        } else {
            stream.enqueue(new FakeStream.Through(channel, copy));
        }
        return SUCCESS;
    }

    int carryOut(Runnable work) {
        deferredWork++;
        for (Failure failure : deferredFailures) {
            if (failure.hits(deferredWork)) {
                return failure.code();
            }
        }
        work.run();
        return SUCCESS;
    }
}
