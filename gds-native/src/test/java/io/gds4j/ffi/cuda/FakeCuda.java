package io.gds4j.ffi.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import java.util.function.ToIntFunction;

/**
 * A driver without a GPU, stricter than the real one where programs tend to err:
 *
 * <ul>
 * <li>"GPU memory" is host memory at real addresses, filled with garbage; {@link #peek} and {@link #poke} look into it.
 * <li>Copies and fills happen when their stream or event is waited for, and read their source then: whoever does not wait,
 * or uses a buffer again too early, sees wrong bytes. A query does one piece of work and answers NOT_READY while there is
 * more.
 * <li>A call without a current context is INVALID_CONTEXT; a stream, an event or a pointer of {@code cuMemAlloc} that belongs
 * to another context than the current one is refused and noted in {@link #violations()}, as is the NULL stream.
 * <li>{@link #fail}, {@link #failDeferred}, {@link #refusePinning} and {@link #deinitialize} inject failures.
 * <li>{@link #leaks()} tells what is alive.
 * </ul>
 *
 * Thread-safe. Do not unmap host memory that unfinished copies use: the work is done for real.
 */
public final class FakeCuda implements Cuda {
    private record Failure(int first, int times, int code) {
        boolean hits(long call) {
            return call >= first && call - first < times;
        }
    }

    private static final long GRANULARITY = 2L << 20;

    private final int devices;
    private final long memoryPerDevice;
    private final FakeBlocks blocks = new FakeBlocks();
    private final Map<Long, FakeContext> contexts = new HashMap<>();
    private final Map<Integer, FakeContext> primaries = new HashMap<>();
    private final Map<Integer, Integer> retained = new HashMap<>();
    private final Map<Long, FakeStream> streams = new HashMap<>();
    private final Map<Long, FakeEvent> events = new HashMap<>();
    private final Map<Long, Long> physical = new HashMap<>();
    private final ThreadLocal<Deque<FakeContext>> stack = ThreadLocal.withInitial(ArrayDeque::new);
    private final Map<CudaFunction, AtomicLong> calls = new EnumMap<>(CudaFunction.class);
    private final Map<CudaFunction, List<Failure>> failures = new EnumMap<>(CudaFunction.class);
    private final List<String> violations = new ArrayList<>();
    private final List<Failure> deferredFailures = new ArrayList<>();
    private long deferredWork;
    private long lastHandle = 0x7000;
    private long lastId = 100;
    private long pushes;
    private boolean pinningRefused;
    private boolean deinitialized;

    /** One GPU with 256 MiB. */
    public FakeCuda() {
        this(1, 256L << 20);
    }

    /** So many GPUs with so much memory each, which is taken from the host as it is allocated. */
    public FakeCuda(int devices, long memoryPerDevice) {
        this.devices = devices;
        this.memoryPerDevice = memoryPerDevice;
        for (CudaFunction function : CudaFunction.values()) {
            calls.put(function, new AtomicLong());
            failures.put(function, new ArrayList<>());
        }
    }

    /** As {@code CudaDriver} would find it. */
    public CudaAvailability.Available available() {
        return new CudaAvailability.Available(this, 13000, devices);
    }

    // ---- faults

    /** The n-th call from now on (1 for the next) does nothing and answers this code. */
    public synchronized void fail(CudaFunction function, int nth, int code) {
        failures.get(function).add(new Failure(Math.toIntExact(calls(function)) + nth, 1, code));
    }

    /** Every call from now on does nothing and answers this code. */
    public synchronized void failAlways(CudaFunction function, int code) {
        failures.get(function).add(new Failure(0, Integer.MAX_VALUE, code));
    }

    /** The n-th copy or fill that is carried out from now on fails; who waits for its stream or event learns it. */
    public synchronized void failDeferred(int nth, int code) {
        deferredFailures.add(new Failure(Math.toIntExact(deferredWork) + nth, 1, code));
    }

    /** {@code cuMemHostRegister} and {@code cuMemHostAlloc} answer OUT_OF_MEMORY from now on, or work again. */
    public synchronized void refusePinning(boolean refuse) {
        pinningRefused = refuse;
    }

    /** No failures any more. */
    public synchronized void heal() {
        failures.values().forEach(List::clear);
        deferredFailures.clear();
        pinningRefused = false;
    }

    /** As at the end of the process: every call answers DEINITIALIZED from now on. */
    public synchronized void deinitialize() {
        deinitialized = true;
    }

    // ---- what a program with contexts of its own does

    /** {@code cuCtxCreate}, without making it current. */
    public synchronized long createContext(int device) {
        return createContext(device, handle());
    }

    /** The same under a given handle: drivers give the handle of a dead context to a new one. */
    public synchronized long createContext(int device, long handle) {
        FakeContext context = new FakeContext(handle, ++lastId, device, false);
        contexts.put(handle, context);
        return handle;
    }

    /** {@code cuCtxDestroy}: its streams, events and memory go with it. */
    public synchronized void destroyContext(long handle) {
        FakeContext context = contexts.remove(handle);
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

    // ---- what a test asks

    /** Calls so far, failed ones included. */
    public long calls(CudaFunction function) {
        return calls.get(function).get();
    }

    /** Bytes of memory as they are now, without waiting for anything. */
    public synchronized byte[] peek(long address, int length) {
        return MemorySegment.ofAddress(address).reinterpret(length).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Sets bytes of memory now. */
    public synchronized void poke(long address, byte[] bytes) {
        MemorySegment.ofAddress(address).reinterpret(bytes.length).copyFrom(MemorySegment.ofArray(bytes));
    }

    /** Copies, fills, records and waits that nobody has waited for. */
    public synchronized int pendingWork() {
        int pending = streams.values().stream().mapToInt(FakeStream::pending).sum();
        return pending + contexts.values().stream().mapToInt(context -> context.nullStream.pending()).sum();
    }

    /** Host bytes that are registered or were allocated pinned. */
    public synchronized long pinnedBytes() {
        return blocks.all().stream().filter(block -> block.kind.isHost()).mapToLong(block -> block.bytes).sum();
    }

    /** Contexts that exist: 0 proves that nobody made one. */
    public synchronized int liveContexts() {
        return contexts.size();
    }

    /** Rules broken so far, one line each, whatever the calls answered. */
    public synchronized List<String> violations() {
        return List.copyOf(violations);
    }

    /** What is alive but contexts, one line each, and pushes that were not popped. */
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

    // ---- Cuda

    @Override
    public int init() {
        return plain(CudaFunction.INIT, () -> SUCCESS);
    }

    @Override
    public int driverGetVersion(int[] version) {
        return plain(CudaFunction.DRIVER_GET_VERSION, () -> {
            version[0] = 13000;
            return SUCCESS;
        });
    }

    @Override
    public int deviceGetCount(int[] count) {
        return plain(CudaFunction.DEVICE_GET_COUNT, () -> {
            count[0] = devices;
            return SUCCESS;
        });
    }

    @Override
    public int deviceGet(int[] device, int ordinal) {
        return onDevice(CudaFunction.DEVICE_GET, ordinal, () -> device[0] = ordinal);
    }

    @Override
    public int deviceGetName(String[] name, int device) {
        return onDevice(CudaFunction.DEVICE_GET_NAME, device, () -> name[0] = "Fake GPU " + device);
    }

    @Override
    public int deviceGetUuid(byte[] uuid, int device) {
        return onDevice(CudaFunction.DEVICE_GET_UUID, device, () -> {
            byte[] text = "fake-gpu-%07d".formatted(device).getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(text, 0, uuid, 0, 16);
        });
    }

    @Override
    public int deviceTotalMem(long[] bytes, int device) {
        return onDevice(CudaFunction.DEVICE_TOTAL_MEM, device, () -> bytes[0] = memoryPerDevice);
    }

    @Override
    public int deviceGetAttribute(int[] value, int attribute, int device) {
        return onDevice(CudaFunction.DEVICE_GET_ATTRIBUTE, device, () -> value[0] = switch (attribute) {
            case CudaAttributes.DEVICE_COMPUTE_CAPABILITY_MAJOR -> 9;
            case CudaAttributes.DEVICE_COMPUTE_CAPABILITY_MINOR -> 0;
            default -> 1;
        });
    }

    @Override
    public int deviceGetPciBusId(String[] id, int device) {
        return onDevice(
                CudaFunction.DEVICE_GET_PCI_BUS_ID, device, () -> id[0] = "0000:%02x:00.0".formatted(device + 1));
    }

    @Override
    public int devicePrimaryCtxRetain(long[] context, int device) {
        return onDevice(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, device, () -> {
            FakeContext primary = primaries.computeIfAbsent(device, d -> {
                FakeContext made = new FakeContext(handle(), ++lastId, d, true);
                contexts.put(made.handle, made);
                return made;
            });
            retained.merge(device, 1, Integer::sum);
            context[0] = primary.handle;
        });
    }

    @Override
    public int devicePrimaryCtxRelease(int device) {
        return plain(CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, () -> {
            Integer users = retained.get(device);
            if (users == null) {
                return ERROR_INVALID_CONTEXT;
            }
            if (users == 1) {
                retained.remove(device);
                destroyContext(primaries.remove(device).handle);
            } else {
                retained.put(device, users - 1);
            }
            return SUCCESS;
        });
    }

    /** How often the primary context of a device is retained. */
    public synchronized int primaryRetains(int device) {
        return retained.getOrDefault(device, 0);
    }

    @Override
    public int ctxPushCurrent(long context) {
        return plain(CudaFunction.CTX_PUSH_CURRENT, () -> {
            FakeContext pushed = contexts.get(context);
            if (pushed == null) {
                return ERROR_INVALID_CONTEXT;
            }
            stack.get().push(pushed);
            pushes++;
            return SUCCESS;
        });
    }

    @Override
    public int ctxPopCurrent(long[] context) {
        return plain(CudaFunction.CTX_POP_CURRENT, () -> {
            FakeContext popped = stack.get().poll();
            if (popped == null) {
                return ERROR_INVALID_CONTEXT;
            }
            pushes--;
            context[0] = popped.handle;
            return SUCCESS;
        });
    }

    @Override
    public int ctxGetCurrent(long[] context) {
        return plain(CudaFunction.CTX_GET_CURRENT, () -> {
            FakeContext current = stack.get().peek();
            context[0] = current == null ? 0 : current.handle;
            return SUCCESS;
        });
    }

    @Override
    public int ctxSetCurrent(long context) {
        return plain(CudaFunction.CTX_SET_CURRENT, () -> {
            FakeContext wanted = contexts.get(context);
            if (context != 0 && wanted == null) {
                return ERROR_INVALID_CONTEXT;
            }
            if (stack.get().poll() != null) {
                pushes--;
            }
            if (wanted != null) {
                stack.get().push(wanted);
                pushes++;
            }
            return SUCCESS;
        });
    }

    @Override
    public int ctxGetId(long context, long[] id) {
        return plain(CudaFunction.CTX_GET_ID, () -> {
            FakeContext asked = context == 0 ? stack.get().peek() : contexts.get(context);
            if (asked == null || asked.destroyed) {
                return context == 0 ? ERROR_INVALID_CONTEXT : ERROR_CONTEXT_IS_DESTROYED;
            }
            id[0] = asked.id;
            return SUCCESS;
        });
    }

    @Override
    public int memGetInfo(long[] freeAndTotal) {
        return inContext(CudaFunction.MEM_GET_INFO, context -> {
            freeAndTotal[0] = memoryPerDevice - used(context.device);
            freeAndTotal[1] = memoryPerDevice;
            return SUCCESS;
        });
    }

    @Override
    public int memAlloc(long[] pointer, long bytes) {
        return inContext(
                CudaFunction.MEM_ALLOC, context -> allocate(pointer, bytes, FakeBlock.Kind.DEVICE, 512, context));
    }

    @Override
    public int memFree(long pointer) {
        return inContext(CudaFunction.MEM_FREE, context -> {
            FakeBlock block =
                    blocks.at(pointer, FakeBlock.Kind.DEVICE, FakeBlock.Kind.MANAGED, FakeBlock.Kind.POOL);
            if (block == null) {
                return violation("cuMemFree of unknown memory 0x%x", ERROR_INVALID_VALUE, pointer);
            }
            int refused = checkOwner(block, context);
            return refused != SUCCESS ? refused : freeAfterWork(block);
        });
    }

    @Override
    public int memAllocManaged(long[] pointer, long bytes, int flags) {
        return inContext(
                CudaFunction.MEM_ALLOC_MANAGED,
                context -> flags != MEM_ATTACH_GLOBAL
                        ? ERROR_INVALID_VALUE
                        : allocate(pointer, bytes, FakeBlock.Kind.MANAGED, 512, context));
    }

    @Override
    public int memAllocAsync(long[] pointer, long bytes, long stream) {
        return onStream(
                CudaFunction.MEM_ALLOC_ASYNC,
                stream,
                used -> allocate(pointer, bytes, FakeBlock.Kind.POOL, 512, used.context));
    }

    @Override
    public int memFreeAsync(long pointer, long stream) {
        return onStream(CudaFunction.MEM_FREE_ASYNC, stream, used -> {
            FakeBlock block = blocks.at(pointer, FakeBlock.Kind.POOL, FakeBlock.Kind.DEVICE);
            if (block == null) {
                return violation("cuMemFreeAsync of unknown memory 0x%x", ERROR_INVALID_VALUE, pointer);
            }
            used.enqueue(() -> {
                blocks.remove(block);
                block.free();
                return SUCCESS;
            });
            return SUCCESS;
        });
    }

    @Override
    public int memHostAlloc(long[] pointer, long bytes, int flags) {
        return inContext(
                CudaFunction.MEM_HOST_ALLOC,
                context -> pinningRefused
                        ? ERROR_OUT_OF_MEMORY
                        : allocate(pointer, bytes, FakeBlock.Kind.HOST_ALLOCATED, 4096, context));
    }

    @Override
    public int memFreeHost(long pointer) {
        return inContext(CudaFunction.MEM_FREE_HOST, context -> {
            FakeBlock block = blocks.at(pointer, FakeBlock.Kind.HOST_ALLOCATED);
            return block == null
                    ? violation("cuMemFreeHost of unknown memory 0x%x", ERROR_INVALID_VALUE, pointer)
                    : freeAfterWork(block);
        });
    }

    @Override
    public int memHostRegister(long pointer, long bytes, int flags) {
        return inContext(CudaFunction.MEM_HOST_REGISTER, context -> {
            if (pinningRefused) {
                return ERROR_OUT_OF_MEMORY;
            }
            if (pointer == 0 || bytes <= 0) {
                return ERROR_INVALID_VALUE;
            }
            if (blocks.overlaps(pointer, bytes)) {
                return ERROR_HOST_MEMORY_ALREADY_REGISTERED;
            }
            blocks.add(new FakeBlock(pointer, bytes, context, ++lastId));
            return SUCCESS;
        });
    }

    @Override
    public int memHostUnregister(long pointer) {
        return inContext(CudaFunction.MEM_HOST_UNREGISTER, context -> {
            FakeBlock block = blocks.at(pointer, FakeBlock.Kind.HOST_REGISTERED);
            return block == null
                    ? violation("cuMemHostUnregister of unknown memory 0x%x", ERROR_HOST_MEMORY_NOT_REGISTERED, pointer)
                    : freeAfterWork(block);
        });
    }

    @Override
    public int memGetAddressRange(long[] baseAndSize, long pointer) {
        return inContext(CudaFunction.MEM_GET_ADDRESS_RANGE, context -> {
            FakeBlock block = blocks.around(pointer);
            if (block == null || block.kind == FakeBlock.Kind.HOST_REGISTERED) {
                return ERROR_NOT_FOUND;
            }
            baseAndSize[0] = block.address;
            baseAndSize[1] = block.bytes;
            return SUCCESS;
        });
    }

    @Override
    public int pointerGetAttribute(long[] value, int attribute, long pointer) {
        return plain(CudaFunction.POINTER_GET_ATTRIBUTE, () -> {
            FakeBlock block = blocks.around(pointer);
            if (block == null) {
                return ERROR_INVALID_VALUE;
            }
            boolean contextless = block.kind == FakeBlock.Kind.POOL || block.kind == FakeBlock.Kind.VMM;
            switch (attribute) {
                case CudaAttributes.POINTER_CONTEXT -> value[0] = contextless ? 0 : block.context.handle;
                case CudaAttributes.POINTER_MEMORY_TYPE ->
                    value[0] = block.kind.isHost()
                            ? CudaAttributes.MEMORY_TYPE_HOST
                            : CudaAttributes.MEMORY_TYPE_DEVICE;
                case CudaAttributes.POINTER_BUFFER_ID -> value[0] = block.id;
                case CudaAttributes.POINTER_IS_MANAGED -> value[0] = block.kind == FakeBlock.Kind.MANAGED ? 1 : 0;
                case CudaAttributes.POINTER_DEVICE_ORDINAL -> value[0] = block.device;
                case CudaAttributes.POINTER_RANGE_START -> value[0] = block.address;
                case CudaAttributes.POINTER_RANGE_SIZE -> value[0] = block.bytes;
                case CudaAttributes.POINTER_MEMPOOL_HANDLE ->
                    value[0] = block.kind == FakeBlock.Kind.POOL ? 0x5000 + block.device : 0;
                default -> {
                    return ERROR_INVALID_VALUE;
                }
            }
            return SUCCESS;
        });
    }

    @Override
    public int memcpyHtoDAsync(long device, long host, long bytes, long stream) {
        return onStream(CudaFunction.MEMCPY_HTOD_ASYNC, stream, used -> {
            int refused = first(checkHost("source", host), checkDevice("target", device, bytes, used.context));
            return refused != SUCCESS ? refused : copyLater(used, device, host, bytes);
        });
    }

    @Override
    public int memcpyDtoHAsync(long host, long device, long bytes, long stream) {
        return onStream(CudaFunction.MEMCPY_DTOH_ASYNC, stream, used -> {
            int refused = first(checkHost("target", host), checkDevice("source", device, bytes, used.context));
            return refused != SUCCESS ? refused : copyLater(used, host, device, bytes);
        });
    }

    @Override
    public int memcpyDtoDAsync(long to, long from, long bytes, long stream) {
        return onStream(CudaFunction.MEMCPY_DTOD_ASYNC, stream, used -> {
            int refused = first(
                    checkDevice("target", to, bytes, used.context), checkDevice("source", from, bytes, used.context));
            return refused != SUCCESS ? refused : copyLater(used, to, from, bytes);
        });
    }

    @Override
    public int memcpyAsync(long to, long from, long bytes, long stream) {
        return onStream(CudaFunction.MEMCPY_ASYNC, stream, used -> {
            int refused = first(
                    checkAny("target", to, bytes, used.context), checkAny("source", from, bytes, used.context));
            return refused != SUCCESS ? refused : copyLater(used, to, from, bytes);
        });
    }

    @Override
    public int memcpyPeerAsync(long to, long toContext, long from, long fromContext, long bytes, long stream) {
        return onStream(CudaFunction.MEMCPY_PEER_ASYNC, stream, used -> {
            FakeContext target = contexts.get(toContext);
            FakeContext source = contexts.get(fromContext);
            if (target == null || source == null) {
                return ERROR_INVALID_CONTEXT;
            }
            int refused = first(checkDevice("target", to, bytes, target), checkDevice("source", from, bytes, source));
            return refused != SUCCESS ? refused : copyLater(used, to, from, bytes);
        });
    }

    @Override
    public int memsetD8Async(long pointer, byte value, long bytes, long stream) {
        return onStream(CudaFunction.MEMSET_D8_ASYNC, stream, used -> {
            int refused = checkAny("target", pointer, bytes, used.context);
            if (refused != SUCCESS) {
                return refused;
            }
            used.enqueue(() -> carryOut(() -> MemorySegment.ofAddress(pointer).reinterpret(bytes).fill(value)));
            return SUCCESS;
        });
    }

    @Override
    public int streamCreate(long[] stream, int flags) {
        return inContext(CudaFunction.STREAM_CREATE, context -> {
            stream[0] = handle();
            streams.put(stream[0], new FakeStream(stream[0], context));
            return SUCCESS;
        });
    }

    @Override
    public int streamDestroy(long stream) {
        return onStream(CudaFunction.STREAM_DESTROY, stream, used -> {
            used.drain();
            streams.remove(stream);
            return SUCCESS;
        });
    }

    @Override
    public int streamSynchronize(long stream) {
        return onStream(CudaFunction.STREAM_SYNCHRONIZE, stream, FakeStream::drain);
    }

    @Override
    public int streamQuery(long stream) {
        return onStream(CudaFunction.STREAM_QUERY, stream, used -> {
            used.runOne();
            return used.pending() > 0 ? ERROR_NOT_READY : used.takeError();
        });
    }

    @Override
    public int streamWaitEvent(long stream, long event, int flags) {
        return onStream(CudaFunction.STREAM_WAIT_EVENT, stream, used -> {
            FakeEvent waited = events.get(event);
            if (waited == null) {
                return ERROR_INVALID_HANDLE;
            }
            FakeEvent.Recording recording = waited.recording; // later records do not count
            if (recording != null) {
                used.enqueue(() -> {
                    recording.complete();
                    return SUCCESS;
                });
            }
            return SUCCESS;
        });
    }

    @Override
    public int eventCreate(long[] event, int flags) {
        return inContext(CudaFunction.EVENT_CREATE, context -> {
            event[0] = handle();
            events.put(event[0], new FakeEvent(context));
            return SUCCESS;
        });
    }

    @Override
    public int eventDestroy(long event) {
        return plain(
                CudaFunction.EVENT_DESTROY, () -> events.remove(event) == null ? ERROR_INVALID_HANDLE : SUCCESS);
    }

    @Override
    public int eventRecord(long event, long stream) {
        return onStream(CudaFunction.EVENT_RECORD, stream, used -> {
            FakeEvent recorded = events.get(event);
            if (recorded == null) {
                return ERROR_INVALID_HANDLE;
            }
            if (recorded.context != used.context) {
                return violation("event of %s recorded in a stream of %s", ERROR_INVALID_HANDLE, recorded.context,
                        used.context);
            }
            FakeEvent.Recording recording = new FakeEvent.Recording(used);
            recorded.recording = recording;
            used.enqueue(() -> {
                recording.done = true;
                return SUCCESS;
            });
            return SUCCESS;
        });
    }

    @Override
    public int eventSynchronize(long event) {
        return plain(CudaFunction.EVENT_SYNCHRONIZE, () -> {
            FakeEvent waited = events.get(event);
            if (waited == null) {
                return ERROR_INVALID_HANDLE;
            }
            if (waited.recording == null) {
                return SUCCESS;
            }
            waited.recording.complete();
            return waited.recording.stream.takeError();
        });
    }

    @Override
    public int eventQuery(long event) {
        return plain(CudaFunction.EVENT_QUERY, () -> {
            FakeEvent asked = events.get(event);
            if (asked == null) {
                return ERROR_INVALID_HANDLE;
            }
            if (asked.recording == null) {
                return SUCCESS;
            }
            if (!asked.recording.done) {
                asked.recording.stream.runOne();
            }
            return asked.recording.done ? asked.recording.stream.takeError() : ERROR_NOT_READY;
        });
    }

    @Override
    public int memAddressReserve(long[] pointer, long bytes, long alignment) {
        return inContext(CudaFunction.MEM_ADDRESS_RESERVE, context -> {
            if (bytes <= 0 || bytes % GRANULARITY != 0) {
                return ERROR_INVALID_VALUE;
            }
            return allocate(pointer, bytes, FakeBlock.Kind.VMM, Math.max(GRANULARITY, alignment), context);
        });
    }

    @Override
    public int memAddressFree(long pointer, long bytes) {
        return plain(CudaFunction.MEM_ADDRESS_FREE, () -> {
            FakeBlock block = blocks.at(pointer, FakeBlock.Kind.VMM);
            if (block == null || block.bytes != bytes) {
                return ERROR_INVALID_VALUE;
            }
            if (block.mapped != 0) {
                return violation("cuMemAddressFree of 0x%x, which is still mapped", ERROR_INVALID_VALUE, pointer);
            }
            return freeAfterWork(block);
        });
    }

    @Override
    public int memCreate(long[] handle, long bytes, int device, boolean rdma) {
        return plain(CudaFunction.MEM_CREATE, () -> {
            if (bytes <= 0 || bytes % GRANULARITY != 0) {
                return ERROR_INVALID_VALUE;
            }
            if (device < 0 || device >= devices) {
                return ERROR_INVALID_DEVICE;
            }
            handle[0] = handle();
            physical.put(handle[0], bytes);
            return SUCCESS;
        });
    }

    @Override
    public int memRelease(long handle) {
        return plain(
                CudaFunction.MEM_RELEASE, () -> physical.remove(handle) == null ? ERROR_INVALID_VALUE : SUCCESS);
    }

    @Override
    public int memMap(long pointer, long bytes, long offset, long handle) {
        return plain(CudaFunction.MEM_MAP, () -> {
            FakeBlock block = blocks.at(pointer, FakeBlock.Kind.VMM);
            Long behind = physical.get(handle);
            if (block == null || behind == null || offset != 0 || bytes != block.bytes || bytes != behind) {
                return ERROR_INVALID_VALUE;
            }
            block.mapped = handle;
            return SUCCESS;
        });
    }

    @Override
    public int memUnmap(long pointer, long bytes) {
        return plain(CudaFunction.MEM_UNMAP, () -> {
            FakeBlock block = blocks.at(pointer, FakeBlock.Kind.VMM);
            if (block == null || block.mapped == 0 || bytes != block.bytes) {
                return ERROR_INVALID_VALUE;
            }
            block.mapped = 0;
            block.accessible = false;
            return SUCCESS;
        });
    }

    @Override
    public int memSetAccess(long pointer, long bytes, int device) {
        return plain(CudaFunction.MEM_SET_ACCESS, () -> {
            FakeBlock block = blocks.at(pointer, FakeBlock.Kind.VMM);
            if (block == null || block.mapped == 0 || bytes != block.bytes || device != block.device) {
                return ERROR_INVALID_VALUE;
            }
            block.accessible = true;
            return SUCCESS;
        });
    }

    @Override
    public int memGetAllocationGranularity(long[] bytes, int device) {
        return onDevice(
                CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, device, () -> bytes[0] = GRANULARITY);
    }

    @Override
    public String errorName(int result) {
        return switch (result) {
            case SUCCESS -> "CUDA_SUCCESS";
            case ERROR_INVALID_VALUE -> "CUDA_ERROR_INVALID_VALUE";
            case ERROR_OUT_OF_MEMORY -> "CUDA_ERROR_OUT_OF_MEMORY";
            case ERROR_DEINITIALIZED -> "CUDA_ERROR_DEINITIALIZED";
            case ERROR_INVALID_CONTEXT -> "CUDA_ERROR_INVALID_CONTEXT";
            case ERROR_ILLEGAL_ADDRESS -> "CUDA_ERROR_ILLEGAL_ADDRESS";
            default -> "CUDA error " + result;
        };
    }

    @Override
    public String errorText(int result) {
        return result == SUCCESS ? "no error" : "text of error " + result;
    }

    // ---- how it works

    private synchronized int plain(CudaFunction function, IntSupplier body) {
        long call = calls.get(function).incrementAndGet();
        if (deinitialized) {
            return ERROR_DEINITIALIZED;
        }
        for (Failure failure : failures.get(function)) {
            if (failure.hits(call)) {
                return failure.code();
            }
        }
        return body.getAsInt();
    }

    private int onDevice(CudaFunction function, int device, Runnable body) {
        return plain(function, () -> {
            if (device < 0 || device >= devices) {
                return ERROR_INVALID_DEVICE;
            }
            body.run();
            return SUCCESS;
        });
    }

    private int inContext(CudaFunction function, ToIntFunction<FakeContext> body) {
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

    private int onStream(CudaFunction function, long stream, ToIntFunction<FakeStream> body) {
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

    private int violation(String text, int code, Object... arguments) {
        violations.add(text.formatted(arguments));
        return code;
    }

    private static int first(int one, int other) {
        return one != SUCCESS ? one : other;
    }

    private long handle() {
        lastHandle += 0x10;
        return lastHandle;
    }

    private long used(int device) {
        return blocks.all().stream()
                .filter(block -> !block.kind.isHost() && block.device == device)
                .mapToLong(block -> block.bytes)
                .sum();
    }

    private int allocate(long[] pointer, long bytes, FakeBlock.Kind kind, long alignment, FakeContext context) {
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

    /** The real driver, too, waits for the context's work before memory goes. */
    private int freeAfterWork(FakeBlock block) {
        List.copyOf(streams.values()).forEach(stream -> {
            while (stream.runOne()) {
                // its failures are for those who wait for it
            }
        });
        blocks.remove(block);
        block.free();
        return SUCCESS;
    }

    private int checkOwner(FakeBlock block, FakeContext context) {
        if (block.kind.isOfContext() && block.context != context) {
            return violation("%s belongs to %s, current is %s", ERROR_INVALID_VALUE, block, block.context, context);
        }
        return SUCCESS;
    }

    private int checkHost(String role, long address) {
        FakeBlock block = blocks.around(address);
        if (block != null && !block.kind.isHost() && block.kind != FakeBlock.Kind.MANAGED) {
            return violation("the host %s is %s", ERROR_INVALID_VALUE, role, block);
        }
        return address == 0 ? ERROR_INVALID_VALUE : SUCCESS;
    }

    private int checkDevice(String role, long address, long bytes, FakeContext context) {
        FakeBlock block = blocks.around(address);
        if (block == null) {
            return violation("the %s 0x%x is not known to the driver", ERROR_INVALID_VALUE, role, address);
        }
        if (!block.holds(address, bytes)) {
            return violation("%d bytes at 0x%x reach past %s", ERROR_INVALID_VALUE, bytes, address, block);
        }
        if (!block.accessible) {
            return violation("%s has no access", ERROR_INVALID_VALUE, block);
        }
        if (block.kind == FakeBlock.Kind.VMM && block.device != context.device) {
            return violation("%s is not accessible from %s", ERROR_INVALID_VALUE, block, context);
        }
        return checkOwner(block, context);
    }

    private int checkAny(String role, long address, long bytes, FakeContext context) {
        return blocks.around(address) == null ? checkHost(role, address) : checkDevice(role, address, bytes, context);
    }

    private int copyLater(FakeStream stream, long to, long from, long bytes) {
        stream.enqueue(() -> carryOut(() -> MemorySegment.copy(
                MemorySegment.ofAddress(from).reinterpret(bytes),
                0,
                MemorySegment.ofAddress(to).reinterpret(bytes),
                0,
                bytes)));
        return SUCCESS;
    }

    private int carryOut(Runnable work) {
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
