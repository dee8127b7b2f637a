package io.gds4j.ffi.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;

/**
 * A CUDA driver without a GPU. It is stricter than the real one:
 *
 * <ul>
 * <li>"GPU memory" is host memory at real addresses, filled with garbage; {@link #peek} and {@link #poke} look into it.
 * <li>Copies and fills run when a caller waits for their stream or event, and read their source then. A program that does not wait, or
 * reuses a buffer too early, sees wrong bytes. A query runs one piece of work and returns NOT_READY while there is more.
 * <li>A call without a current context is INVALID_CONTEXT; a stream, an event or a pointer of {@code cuMemAlloc} that belongs
 * to another context than the current one is refused and noted in {@link #violations()}, as is the NULL stream.
 * <li>A context that a virtual thread enters within another is a violation: where there is room for it, the thread may wait and come back
 * on another carrier, which has the first context no more.
 * <li>Copies of managed memory do not progress while a stream waits for a word.
 * <li>A call that may synchronise implicitly is a violation while a stream waits for a word or {@link #occupy} says that a kernel of
 * others runs, unless the program makes it ({@link #asProgram}); so is an unsafe call during a capture ({@link #captureGlobally}).
 * <li>A record of an event on which a thread may block waits for room while its stream waits and has 56 of them.
 * <li>{@link #fail}, {@link #failDeferred}, {@link #refusePinning} and {@link #deinitialize} inject failures.
 * <li>{@link #leaks()} lists live objects.
 * </ul>
 *
 * Thread-safe. Do not unmap host memory that unfinished copies use: the work is done for real.
 */
public final class FakeCuda extends FakeReservations {
    private static final long PARKED_NANOS = 50_000;
    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

    /** Largest copy, in bytes, that the driver puts into the queue of commands. */
    private static final long SMALL_COPY = (64 << 10) - 1;

    private final CudaAvailability.Available available;
    private int channels = Integer.MAX_VALUE;
    private int queuePlaces = Integer.MAX_VALUE;

    /** One GPU with 256 MiB. */
    public FakeCuda() {
        this(1, 256L << 20);
    }

    /** Has {@code devices} GPUs; their memory is host memory, allocated on demand. */
    public FakeCuda(int devices, long memoryPerDevice) {
        super(devices, memoryPerDevice);
        available = new CudaAvailability.Available(this, 13000, devices);
    }

    /** Returns the driver as {@code CudaDriver} finds it: the same answer each time. */
    public CudaAvailability.Available available() {
        return available;
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
            if (block == null || block.kind == FakeBlock.Kind.HOST_REGISTERED || block.known(pointer).isEmpty()) {
                return ERROR_NOT_FOUND;
            }
            System.arraycopy(block.known(pointer).get(), 0, baseAndSize, 0, 2);
            return SUCCESS;
        });
    }

    @Override
    public int memcpyHtoDAsync(long device, long host, long bytes, long stream) {
        return onStream(CudaFunction.MEMCPY_HTOD_ASYNC, stream, used -> {
            int refused = first(checkHost("source", host), checkDevice("target", device, bytes, used.context));
            return refused != SUCCESS ? refused : copyLater(used, device, host, bytes, toGpu(bytes, 1));
        });
    }

    @Override
    public int memcpyRowsHtoDAsync(long device, long host, long width, long rows, long stream) {
        return onStream(CudaFunction.MEMCPY_2D_ASYNC, stream, used -> {
            long bytes = width * rows;
            int refused = first(checkHost("source", host), checkDevice("target", device, bytes, used.context));
            return refused != SUCCESS ? refused : copyLater(used, device, host, bytes, toGpu(bytes, rows));
        });
    }

    @Override
    public int memcpy2DHtoDAsync(
            long device, long devicePitch, long host, long hostPitch, long width, long rows, long stream) {
        return onStream(CudaFunction.MEMCPY_2D_ASYNC, stream, used -> {
            long reached = (rows - 1) * devicePitch + width;
            int refused = first(checkHost("source", host), checkDevice("target", device, reached, used.context));
            return copyRowsLater(
                    refused, used, device, devicePitch, host, hostPitch, width, rows, toGpu(width * rows, rows));
        });
    }

    private int copyRowsLater(
            int refused, FakeStream used, long to, long toPitch, long from, long fromPitch, long width, long rows,
            FakeStream.Channel channel) {
        if (toPitch < width || fromPitch < width || Math.max(toPitch, fromPitch) > MAX_PITCH) {
            return ERROR_INVALID_VALUE;
        }
        int result = refused;
        for (long row = 0; row < rows && result == SUCCESS; row++) {
            result = copyLater(used, to + row * toPitch, from + row * fromPitch, width, channel);
        }
        return result;
    }

    @Override
    public int memcpy2DDtoHAsync(
            long host, long hostPitch, long device, long devicePitch, long width, long rows, long stream) {
        return onStream(CudaFunction.MEMCPY_2D_ASYNC, stream, used -> {
            long reached = (rows - 1) * devicePitch + width;
            int refused = first(checkHost("target", host), checkDevice("source", device, reached, used.context));
            return copyRowsLater(
                    refused, used, host, hostPitch, device, devicePitch, width, rows, FakeStream.Channel.TO_HOST);
        });
    }

    @Override
    public int memcpy2DDtoDAsync(
            long to, long toPitch, long from, long fromPitch, long width, long rows, long stream) {
        return onStream(CudaFunction.MEMCPY_2D_ASYNC, stream, used -> {
            int refused = first(
                    checkDevice("target", to, (rows - 1) * toPitch + width, used.context),
                    checkDevice("source", from, (rows - 1) * fromPitch + width, used.context));
            return copyRowsLater(
                    refused, used, to, toPitch, from, fromPitch, width, rows, FakeStream.Channel.COMPUTE);
        });
    }

    @Override
    public int memcpyRowsPeerAsync(
            long to, long toContext, long toPitch, long from, long fromContext, long fromPitch, long width, long rows,
            long stream) {
        return onStream(CudaFunction.MEMCPY_3D_PEER_ASYNC, stream, used -> {
            FakeContext target = contexts.get(toContext);
            FakeContext source = contexts.get(fromContext);
            if (target == null || source == null) {
                return ERROR_INVALID_CONTEXT;
            }
            int refused = first(
                    checkDevice("target", to, (rows - 1) * toPitch + width, target),
                    checkDevice("source", from, (rows - 1) * fromPitch + width, source));
            return copyRowsLater(
                    refused, used, to, toPitch, from, fromPitch, width, rows, FakeStream.Channel.COMPUTE);
        });
    }

    /** Returns true for a single row, which is a plain copy to the driver. */
    private static FakeStream.Channel toGpu(long bytes, long rows) {
        return rows == 1 && bytes <= SMALL_COPY ? FakeStream.Channel.COMPUTE : FakeStream.Channel.TO_GPU;
    }

    @Override
    public int memcpyDtoHAsync(long host, long device, long bytes, long stream) {
        return onStream(CudaFunction.MEMCPY_DTOH_ASYNC, stream, used -> {
            int refused = first(checkHost("target", host), checkDevice("source", device, bytes, used.context));
            return refused != SUCCESS
                    ? refused
                    : copyLater(used, host, device, bytes, FakeStream.Channel.TO_HOST);
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
        return untilReady(() -> inContext(CudaFunction.STREAM_CREATE, context -> {
            if (isTaken(FakeStream.Channel.COMPUTE)) {
                return ERROR_NOT_READY;
            }
            stream[0] = handle();
            streams.put(stream[0], new FakeStream(stream[0], context)
                    .behind(this::isTaken)
                    .besides(() -> streams.values().stream().anyMatch(FakeStream::parked)));
            return SUCCESS;
        }));
    }

    @Override
    public int streamCreateWithPriority(long[] stream, int flags, int priority) {
        return streamCreate(stream, flags);
    }

    /** Waits until waiting streams no longer block all channels. */
    public void awaitChannel() {
        untilReady(this::areChannelsTaken);
    }

    private synchronized int areChannelsTaken() {
        return isTaken(FakeStream.Channel.COMPUTE) ? ERROR_NOT_READY : SUCCESS;
    }

    /** Returns the number of streams that wait for a word now. */
    public synchronized int waitingStreams() {
        return (int) streams.values().stream().filter(FakeStream::parked).count();
    }

    private boolean isTaken(FakeStream.Channel channel) {
        long most = channel == FakeStream.Channel.COMPUTE || channels == Integer.MAX_VALUE ? channels : 1;
        return streams.values().stream().filter(stream -> stream.parkedIn(channel)).count() >= most;
    }

    /**
     * Limits the number of channels for kernels and small plain copies to the GPU from now on. Each copy engine has one channel,
     * as on a GPU. Once streams that wait for words block all channels, no work passes through them, and creating a stream waits.
     */
    public synchronized void limitChannels(int count) {
        channels = count;
    }

    /** Makes a wait for a word block its caller while the stream has {@code places} pieces of work. */
    public synchronized void limitQueues(int places) {
        queuePlaces = places;
    }

    /** Returns the number of entries in the queue of a stream: pieces of work that it has not passed. */
    public synchronized int queueEntries(long stream) {
        return streams.get(stream).entries();
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
        return untilReady(() -> onStream(CudaFunction.STREAM_SYNCHRONIZE, stream, FakeStream::advance));
    }

    /** Releases the lock between attempts: another thread must be able to release a parked stream. */
    private static int untilReady(IntSupplier call) {
        int result = call.getAsInt();
        while (result == ERROR_NOT_READY) {
            LockSupport.parkNanos(PARKED_NANOS);
            result = call.getAsInt();
        }
        return result;
    }

    @Override
    public int streamWaitValue32(long stream, long address, int value, int flags) {
        return untilReady(() -> onStream(CudaFunction.STREAM_WAIT_VALUE32, stream, used -> {
            if (used.pending() >= queuePlaces) {
                return ERROR_NOT_READY;
            }
            MemorySegment word = MemorySegment.ofAddress(address).reinterpret(Integer.BYTES);
            used.enqueueGate(() -> (int) WORD.getAcquire(word, 0L) - value >= 0, ofProgram.get());
            return flags == STREAM_WAIT_VALUE_GEQ ? SUCCESS : ERROR_INVALID_VALUE;
        }));
    }

    @Override
    public int streamWriteValue32(long stream, long address, int value) {
        return untilReady(() -> onStream(CudaFunction.STREAM_WRITE_VALUE32, stream, used -> {
            if (used.pending() >= queuePlaces) {
                return ERROR_NOT_READY;
            }
            MemorySegment word = MemorySegment.ofAddress(address).reinterpret(Integer.BYTES);
            used.enqueue(() -> {
                WORD.setRelease(word, 0L, value);
                return SUCCESS;
            });
            return SUCCESS;
        }));
    }

    @Override
    public int streamIsCapturing(long stream, int[] status) {
        return onStream(CudaFunction.STREAM_IS_CAPTURING, stream, used -> {
            status[0] = used.capturing ? 1 : 0;
            return SUCCESS;
        });
    }

    @Override
    public int streamGetCtx(long stream, long[] context) {
        return plain(CudaFunction.STREAM_GET_CTX, () -> {
            FakeStream used = streams.get(stream);
            if (used == null) {
                return ERROR_INVALID_HANDLE;
            }
            context[0] = used.context.handle;
            return SUCCESS;
        });
    }

    /** Begins to capture a graph from a stream. */
    public synchronized void capture(long stream) {
        streams.get(stream).capturing = true;
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
            events.put(event[0], new FakeEvent(context, (flags & EVENT_BLOCKING_SYNC) != 0));
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
        return untilReady(() -> onStream(CudaFunction.EVENT_RECORD, stream, used -> {
            FakeEvent recorded = events.get(event);
            if (recorded == null) {
                return ERROR_INVALID_HANDLE;
            }
            if (recorded.blocking && used.isFullOfBlockingMarks()) {
                return ERROR_NOT_READY;
            }
            if (recorded.context != used.context) {
                return violation("event of %s recorded in a stream of %s", ERROR_INVALID_HANDLE, recorded.context,
                        used.context);
            }
            FakeEvent.Recording recording = new FakeEvent.Recording(used);
            recorded.recording = recording;
            IntSupplier mark = () -> {
                recording.done = true;
                return SUCCESS;
            };
            if (recorded.blocking) {
                used.enqueueBlockingMark(mark);
            } else {
                used.enqueueMark(mark);
            }
            return SUCCESS;
        }));
    }

    @Override
    public int eventSynchronize(long event) {
        return untilReady(() -> plain(CudaFunction.EVENT_SYNCHRONIZE, () -> {
            FakeEvent waited = events.get(event);
            if (waited == null) {
                return ERROR_INVALID_HANDLE;
            }
            if (waited.recording == null) {
                return SUCCESS;
            }
            waited.recording.complete();
            return waited.recording.done ? waited.recording.stream.takeError() : ERROR_NOT_READY;
        }));
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
}
