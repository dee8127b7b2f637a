package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.gds4j.error.Errno;
import io.gds4j.ffi.CString;
import io.gds4j.ffi.CallState;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * libibverbs through FFM. The functions that verbs.h defines inline are called through the pointers in {@code ibv_context.ops}.
 */
final class FfmVerbs implements Verbs {
    /** Offsets in the structs that the library makes: each begins with its context, and the pointers stand in that. */
    static final long OPS_ALLOC_MW = 64;
    static final long OPS_BIND_MW = 72;
    static final long OPS_DEALLOC_MW = 80;
    static final long OPS_POLL_CQ = 96;
    static final long OPS_REQ_NOTIFY_CQ = 104;
    static final long OPS_POST_SEND = 208;
    static final long OPS_POST_RECV = 216;
    static final long CONTEXT_SIZE = 328;
    static final long MR_LKEY = 36;
    static final long MR_RKEY = 40;
    static final long MR_SIZE = 48;
    static final long MW_RKEY = 16;
    static final long MW_SIZE = 32;
    static final long CHANNEL_FD = 8;
    static final long CHANNEL_SIZE = 16;
    static final long QP_NUM = 52;
    static final long QP_SIZE = 160;

    private static final long MAX_NAME = 64;
    private static final int MAX_DEVICES = 1024;
    private static final short POLLIN = 1;
    private static final long POLLFD_SIZE = 8;

    /** Calls by address, linked once: the queues of all devices share them. */
    private static final MethodHandle INT_OF_POINTER = byAddress(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle INT_OF_POINTER_INT =
            byAddress(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle POINTER_OF_POINTER_INT =
            byAddress(FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT));
    private static final MethodHandle POST =
            byAddress(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
    private static final MethodHandle BIND =
            byAddress(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS));
    private static final MethodHandle POLL =
            byAddress(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS));

    private final List<String> missing = new ArrayList<>();
    private final boolean dmaBuf;
    private final MethodHandle getDeviceList;
    private final MethodHandle freeDeviceList;
    private final MethodHandle getDeviceName;
    private final MethodHandle openDevice;
    private final MethodHandle closeDevice;
    private final MethodHandle queryDevice;
    private final MethodHandle queryPort;
    private final MethodHandle queryGid;
    private final MethodHandle allocPd;
    private final MethodHandle deallocPd;
    private final MethodHandle regMr;
    private final MethodHandle regMrIova;
    private final MethodHandle regDmaBufMr;
    private final MethodHandle reregMr;
    private final MethodHandle deregMr;
    private final MethodHandle createChannel;
    private final MethodHandle destroyChannel;
    private final MethodHandle getCqEvent;
    private final MethodHandle ackCqEvents;
    private final MethodHandle createCq;
    private final MethodHandle destroyCq;
    private final MethodHandle createQp;
    private final MethodHandle modifyQp;
    private final MethodHandle queryQp;
    private final MethodHandle destroyQp;
    private final MethodHandle poll;

    /** Links the symbols of a library that stays loaded. Check {@link #missing} before the first call. */
    public FfmVerbs(SymbolLookup library) {
        FunctionDescriptor pointer = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG);
        FunctionDescriptor errno = FunctionDescriptor.of(JAVA_INT, JAVA_LONG);
        getDeviceList = link(library, "ibv_get_device_list", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        freeDeviceList = link(library, "ibv_free_device_list", FunctionDescriptor.ofVoid(JAVA_LONG));
        getDeviceName = link(library, "ibv_get_device_name", pointer);
        openDevice = link(library, "ibv_open_device", pointer);
        closeDevice = link(library, "ibv_close_device", errno);
        queryDevice = link(library, "ibv_query_device", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
        queryPort = link(
                library, "ibv_query_port", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, ADDRESS));
        queryGid = link(
                library, "ibv_query_gid", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, ADDRESS));
        allocPd = link(library, "ibv_alloc_pd", pointer);
        deallocPd = link(library, "ibv_dealloc_pd", errno);
        regMr = link(
                library, "ibv_reg_mr", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT));
        regMrIova = link(
                library, "ibv_reg_mr_iova",
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT));
        reregMr = link(
                library, "ibv_rereg_mr",
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT));
        deregMr = link(library, "ibv_dereg_mr", errno);
        createChannel = link(library, "ibv_create_comp_channel", pointer);
        destroyChannel = link(library, "ibv_destroy_comp_channel", errno);
        getCqEvent = link(
                library, "ibv_get_cq_event", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
        ackCqEvents = link(library, "ibv_ack_cq_events", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT));
        createCq = link(
                library, "ibv_create_cq",
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
        destroyCq = link(library, "ibv_destroy_cq", errno);
        createQp = link(library, "ibv_create_qp", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS));
        modifyQp = link(library, "ibv_modify_qp", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT));
        queryQp = link(
                library, "ibv_query_qp", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT, ADDRESS));
        destroyQp = link(library, "ibv_destroy_qp", errno);
        poll = link(
                Linker.nativeLinker().defaultLookup(), "poll",
                FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
        List<String> required = List.copyOf(missing);
        regDmaBufMr = link(
                library,
                "ibv_reg_dmabuf_mr",
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT));
        dmaBuf = missing.size() == required.size();
        missing.retainAll(required);
    }

    private static MethodHandle byAddress(FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(type, CallState.CAPTURE_ERRNO);
    }

    private MethodHandle link(SymbolLookup library, String name, FunctionDescriptor type) {
        Optional<MemorySegment> symbol = library.find(name);
        if (symbol.isEmpty()) {
            missing.add(name);
        }
        return Linker.nativeLinker()
                .downcallHandle(symbol.orElse(MemorySegment.ofAddress(1)), type, CallState.CAPTURE_ERRNO);
    }

    /** Returns the required functions that the library lacks. */
    public List<String> missing() {
        return List.copyOf(missing);
    }

    // ---- devices

    @Override
    public List<String> deviceNames() {
        List<String> names = new ArrayList<>();
        eachDevice((device, name) -> {
            names.add(name);
            return 0;
        });
        return List.copyOf(names);
    }

    @Override
    public long openDevice(String wanted) {
        return eachDevice((device, name) -> name.equals(wanted) ? handleOf(openDevice, device) : 0);
    }

    private interface Visit {
        /** Returns the result of the visit, or 0 to go on. */
        long device(long device, String name);
    }

    private long eachDevice(Visit visit) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = CallState.current().errnoSlot();
            MemorySegment count = arena.allocate(JAVA_INT);
            long list = (long) getDeviceList.invokeExact(errno, count);
            if (list == 0) {
                return 0; // no kernel support: ENOSYS, and no device
            }
            try {
                int devices = Math.min(count.get(JAVA_INT, 0), MAX_DEVICES);
                MemorySegment entries = MemorySegment.ofAddress(list).reinterpret(devices * JAVA_LONG.byteSize());
                for (int i = 0; i < devices; i++) {
                    long device = entries.getAtIndex(JAVA_LONG, i);
                    String name = CString.at((long) getDeviceName.invokeExact(errno, device), MAX_NAME);
                    long found = visit.device(device, name);
                    if (found != 0) {
                        return found;
                    }
                }
                return 0;
            } finally {
                freeDeviceList.invokeExact(errno, list);
            }
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int closeDevice(long context) {
        return errnoOf(closeDevice, context);
    }

    @Override
    public int queryDevice(long context, DeviceAttributes answer) {
        try {
            return negative((int) queryDevice.invokeExact(errno(), context, answer.memory()));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int queryPort(long context, int port, PortAttributes answer) {
        try {
            return negative((int) queryPort.invokeExact(errno(), context, (byte) port, answer.memory()));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int queryGid(long context, int port, int index, byte[] gid) {
        try {
            MemorySegment answer = CallState.current().scratch();
            int result = (int) queryGid.invokeExact(errno(), context, (byte) port, index, answer);
            if (result != 0) {
                return unknown(CallState.current().errno());
            }
            MemorySegment.copy(answer, JAVA_BYTE, 0, gid, 0, QueuePairAttributes.GID_BYTES);
            return 0;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    // ---- domains, regions, windows

    @Override
    public long allocPd(long context) {
        return handleOf(allocPd, context);
    }

    @Override
    public int deallocPd(long domain) {
        return errnoOf(deallocPd, domain);
    }

    @Override
    public long regMr(long domain, long address, long length, int access) {
        try {
            return handle((long) regMr.invokeExact(errno(), domain, address, length, access));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long regMrIova(long domain, long address, long length, long iova, int access) {
        try {
            return handle((long) regMrIova.invokeExact(errno(), domain, address, length, iova, access));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long regDmaBufMr(long domain, long offset, long length, long iova, int fd, int access) {
        if (!dmaBuf) {
            return -Errno.EOPNOTSUPP;
        }
        try {
            return handle((long) regDmaBufMr.invokeExact(errno(), domain, offset, length, iova, fd, access));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** The library returns its own codes, -1 to -5, and leaves the cause in errno. */
    @Override
    public int reregMr(long region, int flags, long domain, long address, long length, int access) {
        try {
            int result = (int) reregMr.invokeExact(errno(), region, flags, domain, address, length, access);
            return result == 0 ? 0 : unknown(CallState.current().errno());
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int deregMr(long region) {
        return errnoOf(deregMr, region);
    }

    @Override
    public int localKey(long region) {
        return at(region, MR_SIZE).get(JAVA_INT, MR_LKEY);
    }

    @Override
    public int remoteKey(long region) {
        return at(region, MR_SIZE).get(JAVA_INT, MR_RKEY);
    }

    @Override
    public long allocMw(long domain, int type) {
        try {
            MemorySegment function = operation(domain, OPS_ALLOC_MW);
            if (function.address() == 0) {
                return -Errno.EOPNOTSUPP;
            }
            return handle((long) POINTER_OF_POINTER_INT.invokeExact(function, errno(), domain, type));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int bindMw(long queuePair, long window, WindowBind bind) {
        try {
            MemorySegment function = operation(queuePair, OPS_BIND_MW);
            if (function.address() == 0) {
                return -Errno.EOPNOTSUPP;
            }
            return negative((int) BIND.invokeExact(function, errno(), queuePair, window, bind.memory()));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int deallocMw(long window) {
        try {
            return negative(
                    (int) INT_OF_POINTER.invokeExact(operation(window, OPS_DEALLOC_MW), errno(), window));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int windowKey(long window) {
        return at(window, MW_SIZE).get(JAVA_INT, MW_RKEY);
    }

    @Override
    public void setWindowKey(long window, int key) {
        at(window, MW_SIZE).set(JAVA_INT, MW_RKEY, key);
    }

    // ---- completions

    @Override
    public long createChannel(long context) {
        return handleOf(createChannel, context);
    }

    @Override
    public int destroyChannel(long channel) {
        return errnoOf(destroyChannel, channel);
    }

    @Override
    public int awaitEvent(long channel, int milliseconds) {
        try {
            CallState state = CallState.current();
            MemorySegment scratch = state.scratch();
            scratch.set(JAVA_INT, 0, at(channel, CHANNEL_SIZE).get(JAVA_INT, CHANNEL_FD));
            scratch.set(JAVA_SHORT, 4, POLLIN);
            scratch.set(JAVA_SHORT, 6, (short) 0);
            int ready = (int) poll.invokeExact(state.errnoSlot(), scratch, 1L, milliseconds);
            if (ready <= 0) {
                int errno = state.errno();
                return ready == 0 || errno == Errno.EINTR ? 0 : -errno;
            }
            MemorySegment queue = scratch.asSlice(POLLFD_SIZE, JAVA_LONG.byteSize());
            MemorySegment context = scratch.asSlice(POLLFD_SIZE + JAVA_LONG.byteSize(), JAVA_LONG.byteSize());
            if ((int) getCqEvent.invokeExact(state.errnoSlot(), channel, queue, context) != 0) {
                return unknown(state.errno());
            }
            ackCqEvents.invokeExact(state.errnoSlot(), queue.get(JAVA_LONG, 0), 1);
            return 1;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long createCq(long context, int entries, long channel) {
        try {
            return handle((long) createCq.invokeExact(errno(), context, entries, 0L, channel, 0));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int requestNotify(long queue) {
        try {
            return negative((int) INT_OF_POINTER_INT
                    .invokeExact(operation(queue, OPS_REQ_NOTIFY_CQ), errno(), queue, 0));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int pollCq(long queue, WorkCompletions answer) {
        try {
            int count = (int) POLL.invokeExact(
                    operation(queue, OPS_POLL_CQ), errno(), queue, answer.most(), answer.memory());
            return count >= 0 ? count : -Errno.EIO;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int destroyCq(long queue) {
        return errnoOf(destroyCq, queue);
    }

    // ---- queue pairs

    @Override
    public long createQp(long domain, QueuePairInit attributes) {
        try {
            return handle((long) createQp.invokeExact(errno(), domain, attributes.memory()));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int modifyQp(long queuePair, QueuePairAttributes attributes, int mask) {
        try {
            return negative((int) modifyQp.invokeExact(errno(), queuePair, attributes.memory(), mask));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int queryState(long queuePair) {
        try {
            MemorySegment answer = CallState.current().scratch();
            MemorySegment initial = answer.asSlice(QueuePairAttributes.SIZE, QueuePairInit.SIZE);
            int result = negative((int) queryQp.invokeExact(
                    errno(), queuePair, answer, QueuePairAttributes.STATE_MASK, initial));
            return result == 0 ? answer.get(JAVA_INT, QueuePairAttributes.QP_STATE) : result;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int destroyQp(long queuePair) {
        return errnoOf(destroyQp, queuePair);
    }

    @Override
    public int number(long queuePair) {
        return at(queuePair, QP_SIZE).get(JAVA_INT, QP_NUM);
    }

    @Override
    public int postSend(long queuePair, SendRequest request) {
        return post(queuePair, OPS_POST_SEND, request);
    }

    @Override
    public int postReceive(long queuePair, ReceiveRequest request) {
        return post(queuePair, OPS_POST_RECV, request);
    }

    private static int post(long queuePair, long operation, Struct request) {
        try {
            CallState state = CallState.current();
            return negative((int) POST.invokeExact(
                    operation(queuePair, operation), state.errnoSlot(), queuePair, request.memory(), state.scratch()));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    // ----

    /** Returns a function of the device that a struct belongs to. */
    private static MemorySegment operation(long struct, long offset) {
        long context = at(struct, JAVA_LONG.byteSize()).get(JAVA_LONG, 0);
        return MemorySegment.ofAddress(at(context, CONTEXT_SIZE).get(JAVA_LONG, offset));
    }

    private static MemorySegment at(long address, long size) {
        return MemorySegment.ofAddress(address).reinterpret(size);
    }

    private static MemorySegment errno() {
        return CallState.current().errnoSlot();
    }

    /** Functions return an errno, some its negative, some -1. */
    private static int negative(int result) {
        return result == -1 ? unknown(CallState.current().errno()) : -Math.abs(result);
    }

    /** A failure without an errno is one, too. */
    private static int unknown(int errno) {
        return errno > 0 ? -errno : -Errno.EIO;
    }

    private static long handle(long made) {
        return made == 0 ? unknown(CallState.current().errno()) : made;
    }

    private static long handleOf(MethodHandle function, long argument) {
        try {
            return handle((long) function.invokeExact(errno(), argument));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static int errnoOf(MethodHandle function, long argument) {
        try {
            return negative((int) function.invokeExact(errno(), argument));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }
}
