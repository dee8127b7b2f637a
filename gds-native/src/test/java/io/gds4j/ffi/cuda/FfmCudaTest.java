package io.gds4j.ffi.cuda;

import static io.gds4j.ffi.cuda.CudaFunction.CTX_ENABLE_PEER_ACCESS;
import static io.gds4j.ffi.cuda.CudaFunction.CTX_GET_CURRENT;
import static io.gds4j.ffi.cuda.CudaFunction.CTX_GET_ID;
import static io.gds4j.ffi.cuda.CudaFunction.CTX_POP_CURRENT;
import static io.gds4j.ffi.cuda.CudaFunction.CTX_PUSH_CURRENT;
import static io.gds4j.ffi.cuda.CudaFunction.CTX_SET_CURRENT;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_CAN_ACCESS_PEER;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_GET;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_GET_ATTRIBUTE;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_GET_COUNT;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_GET_NAME;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_GET_PCI_BUS_ID;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_GET_UUID;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_PRIMARY_CTX_RELEASE;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_PRIMARY_CTX_RETAIN;
import static io.gds4j.ffi.cuda.CudaFunction.DEVICE_TOTAL_MEM;
import static io.gds4j.ffi.cuda.CudaFunction.DRIVER_GET_VERSION;
import static io.gds4j.ffi.cuda.CudaFunction.EVENT_CREATE;
import static io.gds4j.ffi.cuda.CudaFunction.EVENT_DESTROY;
import static io.gds4j.ffi.cuda.CudaFunction.EVENT_QUERY;
import static io.gds4j.ffi.cuda.CudaFunction.EVENT_RECORD;
import static io.gds4j.ffi.cuda.CudaFunction.EVENT_SYNCHRONIZE;
import static io.gds4j.ffi.cuda.CudaFunction.FLUSH_GPU_DIRECT_RDMA_WRITES;
import static io.gds4j.ffi.cuda.CudaFunction.GET_ERROR_NAME;
import static io.gds4j.ffi.cuda.CudaFunction.GET_ERROR_STRING;
import static io.gds4j.ffi.cuda.CudaFunction.INIT;
import static io.gds4j.ffi.cuda.CudaFunction.LAUNCH_KERNEL;
import static io.gds4j.ffi.cuda.CudaFunction.LAUNCH_KERNEL_EX;
import static io.gds4j.ffi.cuda.CudaFunction.MEMCPY_2D_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEMCPY_3D_PEER_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEMCPY_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEMCPY_DTOD_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEMCPY_DTOH_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEMCPY_HTOD_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEMCPY_PEER_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEMSET_D8_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_ADDRESS_FREE;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_ADDRESS_RESERVE;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_ALLOC;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_ALLOC_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_ALLOC_MANAGED;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_CREATE;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_FREE;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_FREE_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_FREE_HOST;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_GET_ADDRESS_RANGE;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_GET_ALLOCATION_GRANULARITY;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_GET_INFO;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_HOST_ALLOC;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_HOST_REGISTER;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_HOST_UNREGISTER;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_MAP;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_PREFETCH_ASYNC;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_RELEASE;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_SET_ACCESS;
import static io.gds4j.ffi.cuda.CudaFunction.MEM_UNMAP;
import static io.gds4j.ffi.cuda.CudaFunction.MODULE_GET_FUNCTION;
import static io.gds4j.ffi.cuda.CudaFunction.MODULE_LOAD_DATA;
import static io.gds4j.ffi.cuda.CudaFunction.MODULE_UNLOAD;
import static io.gds4j.ffi.cuda.CudaFunction.POINTER_GET_ATTRIBUTE;
import static io.gds4j.ffi.cuda.CudaFunction.POINTER_GET_ATTRIBUTES;
import static io.gds4j.ffi.cuda.CudaFunction.POINTER_SET_ATTRIBUTE;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_CREATE;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_CREATE_WITH_PRIORITY;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_DESTROY;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_GET_CTX;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_IS_CAPTURING;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_QUERY;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_SYNCHRONIZE;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_WAIT_EVENT;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_WAIT_VALUE32;
import static io.gds4j.ffi.cuda.CudaFunction.STREAM_WRITE_VALUE32;
import static io.gds4j.ffi.cuda.CudaFunction.THREAD_EXCHANGE_STREAM_CAPTURE_MODE;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.ToIntBiFunction;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Calls each driver function once, argument by argument, against C functions of the types that cuda.h declares. A swapped
 * argument, or a word that does not arrive as such a type ({@link CudaCalls}), shows only in a call.
 */
class FfmCudaTest {
    private static final long A = 0x7a11_2233_4455_6677L;
    private static final long B = 0x7b00_0000_8000_0001L;
    private static final long C = 0x0123_4567_89ab_cdefL;
    private static final long D = 5L << 32;
    private static final long E = 0x7fff_ffff_ffff_fff0L;
    private static final long F = -3;
    private static final int I = 0x7654_3210;
    private static final int J = -2;

    /** Makes a call and returns its CUresult followed by its results. */
    interface Call {
        List<Object> on(Cuda cuda);
    }

    private record Case(CudaFunction function, List<Object> parameters, List<Object> arguments, Call call,
            List<Object> out) {
        @Override
        public String toString() {
            return function.symbol();
        }
    }

    // The uses of a pointer parameter: the driver writes there or reads.

    private static RecordingDriver.Pointee writesInt(int value) {
        return memory -> {
            memory.set(ValueLayout.JAVA_INT, 0, value);
            return "int";
        };
    }

    private static RecordingDriver.Pointee writesLong(long value) {
        return memory -> {
            memory.set(ValueLayout.JAVA_LONG, 0, value);
            return "long";
        };
    }

    private static RecordingDriver.Pointee writesText(String text) {
        return memory -> {
            memory.setString(0, text);
            return "text";
        };
    }

    private static RecordingDriver.Pointee writesBytes(byte[] bytes) {
        return memory -> {
            memory.copyFrom(MemorySegment.ofArray(bytes));
            return "bytes";
        };
    }

    /** Follows the pointers in that memory, if any. */
    private static RecordingDriver.Pointee writesAtPlaces(long... values) {
        return memory -> {
            for (int i = 0; i < values.length; i++) {
                long place = memory.getAtIndex(ValueLayout.JAVA_LONG, i);
                if (place != 0) {
                    MemorySegment.ofAddress(place).reinterpret(8).set(ValueLayout.JAVA_LONG, 0, values[i]);
                }
            }
            return "places";
        };
    }

    private static RecordingDriver.Pointee readsInts(int count) {
        return memory -> Arrays.stream(memory.asSlice(0, count * 4L).toArray(ValueLayout.JAVA_INT)).boxed().toList();
    }

    private static RecordingDriver.Pointee readsText() {
        return memory -> memory.getString(0);
    }

    /** Follows the pointer in that memory, if any. */
    private static RecordingDriver.Pointee readsLongAtPlace() {
        return memory -> {
            long place = memory.get(ValueLayout.JAVA_LONG, 0);
            return place == 0 ? "" : MemorySegment.ofAddress(place).reinterpret(8).get(ValueLayout.JAVA_LONG, 0);
        };
    }

    /** Grid, block, shared memory, stream, and number, id and value of the attribute that the structure points to. */
    private static RecordingDriver.Pointee readsLaunch() {
        return memory -> {
            long place = memory.get(ValueLayout.JAVA_LONG, 40);
            if (place == 0) {
                return "";
            }
            List<Object> seen = new ArrayList<>();
            for (int i = 0; i < 7; i++) {
                seen.add(memory.getAtIndex(ValueLayout.JAVA_INT, i));
            }
            seen.add(memory.get(ValueLayout.JAVA_LONG, 32));
            seen.add(memory.get(ValueLayout.JAVA_INT, 48));
            MemorySegment attribute = MemorySegment.ofAddress(place).reinterpret(72);
            seen.add(attribute.get(ValueLayout.JAVA_INT, 0));
            seen.add(attribute.get(ValueLayout.JAVA_INT, 8));
            return seen;
        };
    }

    private static Case of(CudaFunction function, List<Object> parameters, Call call, Object... out) {
        List<Object> arguments = parameters.stream()
                .map(value -> value instanceof RecordingDriver.Pointee pointee ? name(pointee) : value)
                .toList();
        List<Object> answers = new ArrayList<>(List.of(0));
        answers.addAll(List.of(out));
        return new Case(function, parameters, arguments, call, answers);
    }

    /** Returns the name of a pointee of the table, found by a visit. */
    private static Object name(RecordingDriver.Pointee pointee) {
        Object found = pointee.visit(MemorySegment.ofArray(new long[32]));
        return found instanceof String ? found : "";
    }

    private static Call intOut(ToIntBiFunction<Cuda, int[]> call) {
        return cuda -> {
            int[] out = {J};
            return List.of(call.applyAsInt(cuda, out), out[0]);
        };
    }

    private static Call longOut(ToIntBiFunction<Cuda, long[]> call) {
        return cuda -> {
            long[] out = {F};
            return List.of(call.applyAsInt(cuda, out), out[0]);
        };
    }

    private static Call longsOut(ToIntBiFunction<Cuda, long[]> call) {
        return cuda -> {
            long[] out = {F, F};
            return List.of(call.applyAsInt(cuda, out), out[0], out[1]);
        };
    }

    private static Call textOut(ToIntBiFunction<Cuda, String[]> call) {
        return cuda -> {
            String[] out = {"untouched"};
            return List.of(call.applyAsInt(cuda, out), out[0]);
        };
    }

    private static Call plain(ToIntFunction<Cuda> call) {
        return cuda -> List.of(call.applyAsInt(cuda));
    }

    static Stream<Case> cases() {
        byte[] uuid = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
        return Stream.of(
                of(INIT, List.of(0), plain(Cuda::init)),
                of(DRIVER_GET_VERSION, List.of(writesInt(13000)), intOut(Cuda::driverGetVersion), 13000),
                of(DEVICE_GET_COUNT, List.of(writesInt(8)), intOut(Cuda::deviceGetCount), 8),
                of(DEVICE_GET, List.of(writesInt(I), 3), intOut((cuda, out) -> cuda.deviceGet(out, 3)), I),
                of(DEVICE_GET_NAME, List.of(writesText("NVIDIA H200"), 256, 3),
                        textOut((cuda, out) -> cuda.deviceGetName(out, 3)), "NVIDIA H200"),
                of(DEVICE_GET_UUID, List.of(writesBytes(uuid), 3),
                        cuda -> {
                            byte[] out = new byte[16];
                            int result = cuda.deviceGetUuid(out, 3);
                            return List.of(result, result == 0 ? new String(out, StandardCharsets.US_ASCII) : out[0]);
                        }, "0123456789abcdef"),
                of(DEVICE_TOTAL_MEM, List.of(writesLong(D), 3), longOut((cuda, out) -> cuda.deviceTotalMem(out, 3)), D),
                of(DEVICE_GET_ATTRIBUTE, List.of(writesInt(I), 115, 3),
                        intOut((cuda, out) -> cuda.deviceGetAttribute(out, 115, 3)), I),
                of(DEVICE_GET_PCI_BUS_ID, List.of(writesText("0000:18:00.0"), 256, 3),
                        textOut((cuda, out) -> cuda.deviceGetPciBusId(out, 3)), "0000:18:00.0"),
                of(DEVICE_CAN_ACCESS_PEER, List.of(writesInt(I), 3, 4),
                        intOut((cuda, out) -> cuda.deviceCanAccessPeer(out, 3, 4)), I),
                of(CTX_ENABLE_PEER_ACCESS, List.of(A, 0), plain(cuda -> cuda.ctxEnablePeerAccess(A))),
                of(DEVICE_PRIMARY_CTX_RETAIN, List.of(writesLong(A), 3),
                        longOut((cuda, out) -> cuda.devicePrimaryCtxRetain(out, 3)), A),
                of(DEVICE_PRIMARY_CTX_RELEASE, List.of(3), plain(cuda -> cuda.devicePrimaryCtxRelease(3))),
                of(CTX_PUSH_CURRENT, List.of(A), plain(cuda -> cuda.ctxPushCurrent(A))),
                of(CTX_POP_CURRENT, List.of(writesLong(A)), longOut(Cuda::ctxPopCurrent), A),
                of(CTX_GET_CURRENT, List.of(writesLong(A)), longOut(Cuda::ctxGetCurrent), A),
                of(CTX_SET_CURRENT, List.of(A), plain(cuda -> cuda.ctxSetCurrent(A))),
                of(CTX_GET_ID, List.of(A, writesLong(B)), longOut((cuda, out) -> cuda.ctxGetId(A, out)), B),
                of(MEM_GET_INFO, List.of(writesLong(A), writesLong(B)), longsOut(Cuda::memGetInfo), A, B),
                of(MEM_ALLOC, List.of(writesLong(A), D), longOut((cuda, out) -> cuda.memAlloc(out, D)), A),
                of(MEM_FREE, List.of(A), plain(cuda -> cuda.memFree(A))),
                of(MEM_ALLOC_MANAGED, List.of(writesLong(A), D, 1),
                        longOut((cuda, out) -> cuda.memAllocManaged(out, D, 1)), A),
                of(MEM_ALLOC_ASYNC, List.of(writesLong(A), D, B),
                        longOut((cuda, out) -> cuda.memAllocAsync(out, D, B)), A),
                of(MEM_FREE_ASYNC, List.of(A, B), plain(cuda -> cuda.memFreeAsync(A, B))),
                of(MEM_HOST_ALLOC, List.of(writesLong(A), D, 1), longOut((cuda, out) -> cuda.memHostAlloc(out, D, 1)),
                        A),
                of(MEM_FREE_HOST, List.of(A), plain(cuda -> cuda.memFreeHost(A))),
                of(MEM_HOST_REGISTER, List.of(A, D, 1), plain(cuda -> cuda.memHostRegister(A, D, 1))),
                of(MEM_HOST_UNREGISTER, List.of(A), plain(cuda -> cuda.memHostUnregister(A))),
                of(MEM_GET_ADDRESS_RANGE, List.of(writesLong(A), writesLong(D), B),
                        longsOut((cuda, out) -> cuda.memGetAddressRange(out, B)), A, D),
                of(POINTER_GET_ATTRIBUTE, List.of(writesLong(A), 12, B),
                        longOut((cuda, out) -> cuda.pointerGetAttribute(out, 12, B)), A),
                of(POINTER_GET_ATTRIBUTES, List.of(3, readsInts(3), writesAtPlaces(5, A, 7), B),
                        cuda -> {
                            long[] out = {F, F, F};
                            int result = cuda.pointerGetAttributes(out, new int[]{2, 7, 12}, B);
                            return List.of(result, out[0], out[1], out[2]);
                        }, 5L, A, 7L),
                of(POINTER_SET_ATTRIBUTE, List.of(readsInts(1), 6, A),
                        plain(cuda -> cuda.pointerSetAttribute(1, 6, A))),
                of(MEM_PREFETCH_ASYNC, List.of(A, D, 1 | 3L << 32, 0, B),
                        plain(cuda -> cuda.memPrefetchAsync(A, D, 3, B))),
                of(MEM_GET_HANDLE_FOR_ADDRESS_RANGE, List.of(writesInt(I), A, D, 1, 0L),
                        intOut((cuda, out) -> cuda.memGetDmaBuf(out, A, D)), I),
                of(FLUSH_GPU_DIRECT_RDMA_WRITES, List.of(0, 200), plain(cuda -> cuda.flushGpuDirectRdmaWrites(200))),
                of(MEMCPY_HTOD_ASYNC, List.of(A, B, D, C), plain(cuda -> cuda.memcpyHtoDAsync(A, B, D, C))),
                of(MEMCPY_2D_ASYNC, List.of(readsInts(32), C),
                        plain(cuda -> cuda.memcpyRowsHtoDAsync(7, 9, 5, 2, C))),
                of(MEMCPY_DTOH_ASYNC, List.of(A, B, D, C), plain(cuda -> cuda.memcpyDtoHAsync(A, B, D, C))),
                of(MEMCPY_DTOD_ASYNC, List.of(A, B, D, C), plain(cuda -> cuda.memcpyDtoDAsync(A, B, D, C))),
                of(MEMCPY_ASYNC, List.of(A, B, D, C), plain(cuda -> cuda.memcpyAsync(A, B, D, C))),
                of(MEMCPY_3D_PEER_ASYNC, List.of(readsInts(50), C),
                        plain(cuda -> cuda.memcpyRowsPeerAsync(7, 11, 9, 5, 13, 6, 2, 3, C))),
                of(MEMCPY_PEER_ASYNC, List.of(A, B, C, D, E, F), plain(cuda -> cuda.memcpyPeerAsync(A, B, C, D, E, F))),
                of(MEMSET_D8_ASYNC, List.of(A, (byte) -5, D, C), plain(cuda -> cuda.memsetD8Async(A, (byte) -5, D, C))),
                of(STREAM_CREATE, List.of(writesLong(A), 1), longOut((cuda, out) -> cuda.streamCreate(out, 1)), A),
                of(STREAM_CREATE_WITH_PRIORITY, List.of(writesLong(A), 1, -5),
                        longOut((cuda, out) -> cuda.streamCreateWithPriority(out, 1, -5)), A),
                of(STREAM_DESTROY, List.of(A), plain(cuda -> cuda.streamDestroy(A))),
                of(STREAM_SYNCHRONIZE, List.of(A), plain(cuda -> cuda.streamSynchronize(A))),
                of(STREAM_QUERY, List.of(A), plain(cuda -> cuda.streamQuery(A))),
                of(STREAM_WAIT_EVENT, List.of(A, B, 0), plain(cuda -> cuda.streamWaitEvent(A, B, 0))),
                of(STREAM_WAIT_VALUE32, List.of(A, D, 7, 2), plain(cuda -> cuda.streamWaitValue32(A, D, 7, 2))),
                of(STREAM_WRITE_VALUE32, List.of(A, D, 7, 0), plain(cuda -> cuda.streamWriteValue32(A, D, 7))),
                of(STREAM_IS_CAPTURING, List.of(A, writesInt(5)),
                        intOut((cuda, out) -> cuda.streamIsCapturing(A, out)), 5),
                of(THREAD_EXCHANGE_STREAM_CAPTURE_MODE, List.of(writesInt(1)),
                        longOut((cuda, out) -> cuda.threadExchangeStreamCaptureMode(out)), 1L),
                of(STREAM_GET_CTX, List.of(A, writesLong(B)), longOut((cuda, out) -> cuda.streamGetCtx(A, out)), B),
                of(EVENT_CREATE, List.of(writesLong(A), 3), longOut((cuda, out) -> cuda.eventCreate(out, 3)), A),
                of(EVENT_DESTROY, List.of(A), plain(cuda -> cuda.eventDestroy(A))),
                of(EVENT_RECORD, List.of(A, B), plain(cuda -> cuda.eventRecord(A, B))),
                of(EVENT_SYNCHRONIZE, List.of(A), plain(cuda -> cuda.eventSynchronize(A))),
                of(EVENT_QUERY, List.of(A), plain(cuda -> cuda.eventQuery(A))),
                of(MODULE_LOAD_DATA, List.of(writesLong(A), readsText()),
                        longOut((cuda, out) -> cuda.moduleLoad(out, "ptx")), A),
                of(MODULE_UNLOAD, List.of(A), plain(cuda -> cuda.moduleUnload(A))),
                of(MODULE_GET_FUNCTION, List.of(writesLong(A), B, readsText()),
                        longOut((cuda, out) -> cuda.moduleGetFunction(out, B, "name")), A),
                of(LAUNCH_KERNEL, List.of(A, 8, 1, 1, 512, 1, 1, 0, B, readsLongAtPlace(), 0L),
                        plain(cuda -> cuda.launchKernel(A, 8, 512, D, 7, 9, B))),
                of(LAUNCH_KERNEL_EX, List.of(readsLaunch(), A, readsLongAtPlace(), 0L),
                        plain(cuda -> cuda.launchKernelEarly(A, 8, 512, D, 7, B))),
                of(MEM_ADDRESS_RESERVE, List.of(writesLong(A), D, 4096L, 0L, 0L),
                        longOut((cuda, out) -> cuda.memAddressReserve(out, D, 4096)), A),
                of(MEM_ADDRESS_FREE, List.of(A, D), plain(cuda -> cuda.memAddressFree(A, D))),
                of(MEM_CREATE, List.of(writesLong(A), D, readsInts(8), 0L),
                        longOut((cuda, out) -> cuda.memCreate(out, D, 3, true)), A),
                of(MEM_RELEASE, List.of(A), plain(cuda -> cuda.memRelease(A))),
                of(MEM_MAP, List.of(A, D, B, C, 0L), plain(cuda -> cuda.memMap(A, D, B, C))),
                of(MEM_UNMAP, List.of(A, D), plain(cuda -> cuda.memUnmap(A, D))),
                of(MEM_SET_ACCESS, List.of(A, D, readsInts(3), 1L), plain(cuda -> cuda.memSetAccess(A, D, 3))),
                of(MEM_GET_ALLOCATION_GRANULARITY, List.of(writesLong(D), readsInts(8), 1),
                        longOut((cuda, out) -> cuda.memGetAllocationGranularity(out, 3)), D));
    }

    /** Structures that the driver reads, as ints: type, handle types, location {type, id}, -, -, flags (byte 1: RDMA), -. */
    private static List<Object> withStructures(Case tested) {
        List<Object> arguments = new ArrayList<>(tested.arguments());
        switch (tested.function()) {
            case MEM_CREATE -> arguments.set(2, List.of(1, 0, 1, 3, 0, 0, 0x100, 0));
            case MEM_GET_ALLOCATION_GRANULARITY -> arguments.set(1, List.of(1, 0, 1, 3, 0, 0, 0, 0));
            case POINTER_GET_ATTRIBUTES -> arguments.set(1, List.of(2, 7, 12));
            case POINTER_SET_ATTRIBUTE -> arguments.set(0, List.of(1));
            case MEMCPY_2D_ASYNC -> arguments.set(
                    0,
                    List.of(0, 0, 0, 0, 1, 0, 9, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 5, 0, 5, 0, 2,
                            0));
            case MEMCPY_3D_PEER_ASYNC -> arguments.set(
                    0,
                    List.of(0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 13, 0, 6, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                            2, 0,
                            0, 0, 7, 0, 0, 0, 11, 0, 9, 0, 3, 0, 2, 0, 3, 0, 1, 0));
            case MODULE_LOAD_DATA -> arguments.set(1, "ptx");
            case MODULE_GET_FUNCTION -> arguments.set(2, "name");
            case LAUNCH_KERNEL -> arguments.set(9, D);
            case LAUNCH_KERNEL_EX -> {
                arguments.set(0, List.of(8, 1, 1, 512, 1, 1, 0, B, 1, 6, 1));
                arguments.set(2, D);
            }
            case MEM_SET_ACCESS -> arguments.set(2, List.of(1, 3, 3));
            default -> {
                // none
            }
        }
        return arguments;
    }

    @Test
    void contextOfNativeCodeUsesItsOwnFunction() {
        // Any native function that fills its argument and returns 0.
        SymbolLookup native_ = symbol -> Linker.nativeLinker().defaultLookup().find("uname");
        long[] context = new long[1];
        assertThat(FfmCuda.ofNative(native_).ctxGetCurrent(context)).isEqualTo(Cuda.SUCCESS);
        assertThat(context[0]).as("the letters of Linux").isEqualTo(0x78756e694cL);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void everyArgumentArrivesAndEveryAnswerReturns(Case tested) {
        try (RecordingDriver driver = new RecordingDriver()) {
            driver.offer(tested.function().symbol(), tested.parameters());
            assertThat(tested.call().on(new FfmCuda(driver))).isEqualTo(tested.out());
            assertThat(driver.seen()).isEqualTo(withStructures(tested));
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void failedCallReturnsItsCodeAndNoResult(Case tested) {
        try (RecordingDriver driver = new RecordingDriver()) {
            driver.offer(tested.function().symbol(), tested.parameters());
            driver.answer(Cuda.ERROR_ILLEGAL_ADDRESS);
            List<Object> answers = tested.call().on(new FfmCuda(driver));
            assertThat(answers.getFirst()).isEqualTo(Cuda.ERROR_ILLEGAL_ADDRESS);
            for (Object out : answers.subList(1, answers.size())) {
                assertThat(out).isIn(J, F, "untouched", (byte) 0);
            }
        }
    }

    @Test
    void contextIsCurrentIfTheDriverReturnsIt() {
        try (RecordingDriver driver = new RecordingDriver()) {
            driver.offer(CTX_GET_CURRENT.symbol(), List.of(writesLong(A)));
            FfmCuda cuda = new FfmCuda(driver);
            assertThat(cuda.ctxIsCurrent(A)).isTrue();
            assertThat(cuda.ctxIsCurrent(B)).isFalse();
            driver.answer(Cuda.ERROR_ILLEGAL_ADDRESS);
            assertThat(cuda.ctxIsCurrent(A)).isFalse();
        }
    }

    @Test
    void tableHoldsEveryFunction() {
        Set<CudaFunction> tested =
                cases().map(Case::function).collect(Collectors.toCollection(() -> EnumSet.noneOf(CudaFunction.class)));
        tested.addAll(List.of(GET_ERROR_NAME, GET_ERROR_STRING));
        assertThat(tested).containsExactly(CudaFunction.values());
    }

    @Test
    void fourByteAttributesHaveZeroUpperBytes() {
        try (RecordingDriver driver = new RecordingDriver()) {
            driver.offer(POINTER_GET_ATTRIBUTE.symbol(), List.of(writesLong(-1), 7, A));
            long[] value = new long[1];
            new FfmCuda(driver).pointerGetAttribute(value, 7, A);
            assertThat(value[0]).isEqualTo(-1);
        }
        try (RecordingDriver driver = new RecordingDriver()) {
            driver.offer(POINTER_GET_ATTRIBUTE.symbol(), List.of(writesInt(2), 2, A));
            long[] value = new long[1];
            new FfmCuda(driver).pointerGetAttribute(value, 2, A);
            assertThat(value[0]).isEqualTo(2);
        }
    }

    @Test
    void errorsHaveTheDriversNameAndText() {
        try (RecordingDriver driver = new RecordingDriver(); Arena arena = Arena.ofShared()) {
            driver.offer(GET_ERROR_NAME.symbol(),
                    List.of(700, writesLong(arena.allocateFrom("CUDA_ERROR_X").address())));
            assertThat(new FfmCuda(driver).errorName(700)).isEqualTo("CUDA_ERROR_X");
            assertThat(driver.seen().getFirst()).isEqualTo(700);
            assertThat(new FfmCuda(driver).errorText(700)).isEmpty();
        }
        try (RecordingDriver driver = new RecordingDriver(); Arena arena = Arena.ofShared()) {
            driver.offer(GET_ERROR_STRING.symbol(),
                    List.of(700, writesLong(arena.allocateFrom("what happened").address())));
            assertThat(new FfmCuda(driver).errorText(700)).isEqualTo("what happened");
            assertThat(new FfmCuda(driver).errorName(700)).isEqualTo("CUDA error 700");
            driver.answer(Cuda.ERROR_INVALID_VALUE);
            assertThat(new FfmCuda(driver).errorText(700)).isEmpty();
        }
        try (RecordingDriver driver = new RecordingDriver()) {
            driver.offer(GET_ERROR_NAME.symbol(), List.of(12345, writesLong(0)));
            assertThat(new FfmCuda(driver).errorName(12345)).isEqualTo("CUDA error 12345");
        }
    }

    @Test
    void oldDriverNamesTheVersionOfAMissingFunction() {
        try (RecordingDriver driver = new RecordingDriver()) {
            Arrays.stream(CudaFunction.values()).filter(CudaFunction::isRequired)
                    .forEach(f -> driver.offerName(f.symbol()));
            driver.offer(GET_ERROR_NAME.symbol(), List.of(500, writesLong(0)));
            driver.offer(GET_ERROR_STRING.symbol(), List.of(500, writesLong(0)));
            FfmCuda old = new FfmCuda(driver);
            assertThat(old.missing()).isEmpty();
            assertThat(old.has(CTX_GET_ID)).isFalse();
            assertThat(old.ctxGetId(A, new long[1])).isEqualTo(Cuda.ERROR_NOT_FOUND);
            assertThat(old.memAllocAsync(new long[1], D, A)).isEqualTo(Cuda.ERROR_NOT_FOUND);
            assertThat(old.memFreeAsync(A, B)).isEqualTo(Cuda.ERROR_NOT_FOUND);
            assertThat(old.deviceGetUuid(new byte[16], 0)).isEqualTo(Cuda.ERROR_NOT_FOUND);
            assertThat(CudaErrors.failure(old, "cuCtxGetId", Cuda.ERROR_NOT_FOUND).build())
                    .hasMessageContaining("older than CUDA 12.0");
            assertThat(new CudaContexts(old).idOf(A)).isEqualTo(A);
        }
    }

    @Test
    void libraryWithoutTheRequiredFunctionsNamesThemAll() {
        try (RecordingDriver driver = new RecordingDriver()) {
            Arrays.stream(CudaFunction.values())
                    .filter(f -> f != MEM_ALLOC && f != EVENT_QUERY)
                    .forEach(f -> driver.offerName(f.symbol()));
            assertThat(new FfmCuda(driver).missing()).containsExactly("cuMemAlloc_v2", "cuEventQuery");
        }
    }
}
