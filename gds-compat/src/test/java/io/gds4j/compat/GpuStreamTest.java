package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.gds4j.BufferRight;
import io.gds4j.BufferWindow;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.StreamFlag;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.CudaOrderedStream;
import io.gds4j.jcuda.JCudaInterop;
import io.gds4j.jcuda.JCudaNatives;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUgraph;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stream-ordered I/O between kernels of a program that uses JCuda, on a GPU. A stream that hangs fails its test. */
@Tag("gpu")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public class GpuStreamTest {
    private static final Set<StreamFlag> FIXED =
            Set.of(StreamFlag.FIXED_BUFFER_OFFSET, StreamFlag.FIXED_FILE_OFFSET, StreamFlag.FIXED_FILE_SIZE);
    private static final int SIZE = 1 << 20;
    private static final int BLOCK = 256;
    private static final long SECOND = 1_000_000_000L;
    private static final long UNTOUCHED = -77;

    /** {@code increment} adds 1 to each byte; {@code keep_busy} keeps its stream busy for a number of nanoseconds. */
    private static final String PTX =
            """
            .version 6.3
            .target sm_75
            .address_size 64
            .visible .entry increment(.param .u64 p_bytes, .param .u32 p_count)
            {
                .reg .pred %p<2>;
                .reg .b16 %h<3>;
                .reg .b32 %r<6>;
                .reg .b64 %d<5>;
                ld.param.u64 %d1, [p_bytes];
                ld.param.u32 %r1, [p_count];
                mov.u32 %r2, %ctaid.x;
                mov.u32 %r3, %ntid.x;
                mov.u32 %r4, %tid.x;
                mad.lo.s32 %r5, %r2, %r3, %r4;
                setp.ge.u32 %p1, %r5, %r1;
                @%p1 bra DONE;
                cvta.to.global.u64 %d2, %d1;
                cvt.u64.u32 %d3, %r5;
                add.s64 %d4, %d2, %d3;
                ld.global.u8 %h1, [%d4];
                add.s16 %h2, %h1, 1;
                st.global.u8 [%d4], %h2;
            DONE:
                ret;
            }
            .visible .entry keep_busy(.param .u64 p_nanos)
            {
                .reg .pred %p<2>;
                .reg .b64 %d<5>;
                ld.param.u64 %d1, [p_nanos];
                mov.u64 %d2, %globaltimer;
            AGAIN:
                mov.u64 %d3, %globaltimer;
                sub.s64 %d4, %d3, %d2;
                setp.lt.u64 %p1, %d4, %d1;
                @%p1 bra AGAIN;
                ret;
            }
            """;

    @TempDir
    private Path folder;

    private final Arena arena = Arena.ofAuto();

    /** Returns the backend under test. */
    String backend() {
        return CompatBackend.NAME;
    }

    /** Returns the folder of the files. */
    Path folder() {
        return folder;
    }

    /** A driver and JCuda in the primary context, current on the thread of the test. */
    private final class Machine implements AutoCloseable {
        final CuFileDriver driver;
        final CUfunction add = new CUfunction();
        final CUfunction spin = new CUfunction();
        private final CUmodule module = new CUmodule();
        private final CUdevice device = new CUdevice();
        private final List<CUstream> streams = new ArrayList<>();

        Machine() {
            JCudaNatives.loadDriver();
            check(JCudaDriver.cuInit(0));
            check(JCudaDriver.cuDeviceGet(device, 0));
            CUcontext context = new CUcontext();
            check(JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
            check(JCudaDriver.cuCtxPushCurrent(context));
            check(JCudaDriver.cuModuleLoadData(module, (PTX + '\0').getBytes(StandardCharsets.US_ASCII)));
            check(JCudaDriver.cuModuleGetFunction(add, module, "increment"));
            check(JCudaDriver.cuModuleGetFunction(spin, module, "keep_busy"));
            driver = CuFileDriver.open(CuFileConfig.defaults(), backend());
            // The first launch loads a kernel and may wait for streams that wait for gds4j: load the kernels now.
            CUstream stream = stream();
            spin(0, stream);
            try (GuardedMemory memory = memory(BLOCK)) {
                add(memory, 0, stream);
                check(JCudaDriver.cuStreamSynchronize(stream));
            }
        }

        CUstream stream() {
            CUstream stream = new CUstream();
            check(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
            streams.add(stream);
            return stream;
        }

        void add(GuardedMemory memory, int size, CUstream stream) {
            Pointer arguments = Pointer.to(
                    Pointer.to(new long[]{memory.range().address()}), Pointer.to(new int[]{size}));
            // The driver refuses a grid without blocks, so size 0 gets one block whose threads do nothing.
            int blocks = Math.max(1, (size + BLOCK - 1) / BLOCK);
            check(JCudaDriver.cuLaunchKernel(add, blocks, 1, 1, BLOCK, 1, 1, 0, stream, arguments, null));
        }

        void spin(long nanos, CUstream stream) {
            Pointer arguments = Pointer.to(Pointer.to(new long[]{nanos}));
            check(JCudaDriver.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, null));
        }

        GuardedMemory memory(int size) {
            return memory(MemoryKind.CUDA_DEVICE, size);
        }

        GuardedMemory memory(MemoryKind kind, int size) {
            return GuardedMemory.allocate(driver.allocator(), kind, size);
        }

        CuFileHandle open(GuardedFile file) {
            return driver.openFile(
                    file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
        }

        @Override
        public void close() {
            driver.close();
            streams.forEach(JCudaDriver::cuStreamDestroy);
            JCudaDriver.cuModuleUnload(module);
            JCudaDriver.cuCtxPopCurrent(new CUcontext());
            JCudaDriver.cuDevicePrimaryCtxRelease(device);
        }
    }

    private static void check(int result) {
        assertThat(CUresult.stringFor(result)).isEqualTo("CUDA_SUCCESS");
    }

    private GuardedFile file(String name, int size) throws IOException {
        return GuardedFile.create(Files.createDirectories(folder()).resolve(name), size, size);
    }

    private CuFileStream.Cells cells(long size, long fileOffset, long bufferOffset) {
        return new CuFileStream.Cells(cell(size), cell(fileOffset), cell(bufferOffset), cell(UNTOUCHED));
    }

    private MemorySegment cell(long value) {
        MemorySegment cell = arena.allocate(8, 8);
        cell.set(ValueLayout.JAVA_LONG, 0, value);
        return cell;
    }

    private static long result(CuFileStream.Cells cells) {
        return cells.bytesDone();
    }

    private static byte[] plus(byte[] bytes, int more) {
        byte[] sum = bytes.clone();
        for (int i = 0; i < sum.length; i++) {
            sum[i] += (byte) more;
        }
        return sum;
    }

    @Test
    void kernelsAndCopiesBeforeAndAfterSeeTheOrder() throws IOException {
        GuardedFile source = file("source", SIZE);
        GuardedFile target = file("target", SIZE);
        try (Machine machine = new Machine()) {
            CUstream raw = machine.stream();
            try (CuFileHandle from = machine.open(source);
                    CuFileHandle to = machine.open(target);
                    GuardedMemory memory = machine.memory(SIZE);
                    CuFileStream stream = machine.driver.stream(JCudaInterop.stream(raw), Set.of())) {
                CuFileStream.Cells read = cells(SIZE, 0, 0);
                CuFileStream.Cells write = cells(SIZE, 0, 0);
                machine.spin(SECOND / 10, raw);
                machine.add(memory, SIZE, raw);
                stream.read(from, memory.range(), read);
                machine.add(memory, SIZE, raw);
                stream.write(to, memory.range(), write);
                machine.add(memory, SIZE, raw);
                check(JCudaDriver.cuStreamSynchronize(raw));
                assertThat(result(read)).isEqualTo(SIZE);
                assertThat(result(write)).isEqualTo(SIZE);
                memory.expect(0, plus(source.expected(0, SIZE), 2));
                memory.verify();
                target.expectWrite(0, plus(source.expected(0, SIZE), 1));
            }
        }
        target.verify();
    }

    /** Operations of any size are queued at once, as many as the stream holds, while it is busy. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void busyStreamTakesItsMostOperationsAtOnce(boolean write) throws IOException {
        int count = 128;
        int size = 200_000;
        GuardedFile file = file("most", count * size);
        try (Machine machine = new Machine()) {
            CUstream raw = machine.stream();
            List<CuFileStream.Cells> all = new ArrayList<>();
            try (CuFileHandle handle = machine.open(file);
                    GuardedMemory memory = machine.memory(count * size);
                    CuFileStream stream = machine.driver.stream(JCudaInterop.stream(raw), Set.of())) {
                machine.spin(4 * SECOND, raw);
                long begun = System.nanoTime();
                for (int i = 0; i < count; i++) {
                    int bytes = i == 5 ? count * size : size;
                    all.add(cells(bytes, i == 5 ? 0 : (long) i * size, i == 5 ? 0 : (long) i * size));
                    if (write) {
                        stream.write(handle, memory.range(), all.getLast());
                    } else {
                        stream.read(handle, memory.range(), all.getLast());
                    }
                }
                assertThat(System.nanoTime() - begun).as("nanoseconds of the submissions").isLessThan(2 * SECOND);
                check(JCudaDriver.cuStreamSynchronize(raw));
                assertThat(all).allSatisfy(
                        cells -> assertThat(result(cells)).isEqualTo(cells.size().get(ValueLayout.JAVA_LONG, 0)));
                memory.accept(0, count * size);
            }
        }
    }

    @Test
    void aWindowHoldsTransfersOfAStreamToItsRightsItsEndAndItsKey() throws IOException {
        GuardedFile file = file("window", SIZE);
        try (Machine machine = new Machine()) {
            CUstream raw = machine.stream();
            try (CuFileHandle handle = machine.open(file);
                    GuardedMemory memory = machine.memory(SIZE);
                    CuFileBuffer buffer = machine.driver.registerBuffer(memory.range());
                    CuFileStream stream = machine.driver.stream(JCudaInterop.stream(raw), Set.of())) {
                BufferWindow window = buffer.window(5000, 1000, Set.of(BufferRight.READ_INTO));
                Failures.expect(
                        CuFileError.PERMISSION_DENIED, () -> stream.write(handle, window, cells(10, 0, 0)));
                CuFileStream.Cells inside = cells(600, 5, 400);
                CuFileStream.Cells past = cells(601, 5, 400);
                stream.read(handle, window, inside);
                stream.read(handle, window, past);
                BufferWindow next = window.rebind(0, 10, Set.of(BufferRight.READ_INTO));
                Failures.expect(
                        CuFileError.MEMORY_NOT_REGISTERED, () -> stream.read(handle, window, cells(10, 0, 0)));
                machine.add(memory, 5500, raw);
                check(JCudaDriver.cuStreamSynchronize(raw));
                next.close();
                assertThat(result(inside)).isEqualTo(600);
                assertThat(result(past)).isNegative();
                byte[] all = memory.expected(0, SIZE);
                System.arraycopy(file.expected(5, 600), 0, all, 5400, 600);
                byte[] head = plus(Arrays.copyOf(all, 5500), 1);
                System.arraycopy(head, 0, all, 0, head.length);
                memory.expect(0, all);
                memory.verify();
            }
        }
        file.verify();
    }

    @Test
    void sixtyFourStreamsArePendingBehindAKernelThatRunsASecond() throws IOException {
        int count = 64;
        int part = 16 << 10;
        GuardedFile file = file("many", count * part);
        try (Machine machine = new Machine();
                CuFileHandle handle = machine.open(file);
                GuardedMemory memory = machine.memory(count * part)) {
            CUstream first = machine.stream();
            List<CUstream> raws = new ArrayList<>();
            List<CuFileStream> streams = new ArrayList<>();
            List<CuFileStream.Cells> reads = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                raws.add(machine.stream());
                streams.add(machine.driver.stream(JCudaInterop.stream(raws.get(i)), Set.of()));
            }
            CUevent spun = new CUevent();
            check(JCudaDriver.cuEventCreate(spun, 0));
            machine.spin(SECOND, first);
            check(JCudaDriver.cuEventRecord(spun, first));
            long begun = System.nanoTime();
            for (int i = 0; i < count; i++) {
                check(JCudaDriver.cuStreamWaitEvent(raws.get(i), spun, 0));
                CuFileStream.Cells read = cells(part, (long) i * part, (long) i * part);
                reads.add(read);
                streams.get(i).read(handle, memory.range(), read);
            }
            assertThat(System.nanoTime() - begun).as("submission waits for nothing").isLessThan(SECOND);
            assertThat(reads).extracting(GpuStreamTest::result).containsOnly(UNTOUCHED);
            raws.forEach(raw -> check(JCudaDriver.cuStreamSynchronize(raw)));
            assertThat(reads).extracting(GpuStreamTest::result).containsOnly((long) part);
            memory.expect(0, file.expected(0, count * part));
            memory.verify();
            streams.forEach(CuFileStream::close);
            check(JCudaDriver.cuEventDestroy(spun));
        }
    }

    @Test
    void managedMemoryIsMovedBetweenKernelsOnManyStreams() throws IOException {
        int count = 16;
        int part = 300_000;
        GuardedFile source = file("managed", count * part);
        GuardedFile target = file("managed-target", count * part);
        try (Machine machine = new Machine();
                CuFileHandle from = machine.open(source);
                CuFileHandle to = machine.open(target)) {
            List<CUstream> raws = new ArrayList<>();
            List<CuFileStream> streams = new ArrayList<>();
            List<GuardedMemory> memories = new ArrayList<>();
            List<CuFileStream.Cells> all = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                raws.add(machine.stream());
                streams.add(machine.driver.stream(JCudaInterop.stream(raws.get(i)), Set.of()));
                memories.add(machine.memory(MemoryKind.CUDA_MANAGED, part));
            }
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < count; i++) {
                    CuFileStream.Cells read = cells(part, (long) i * part, 0);
                    CuFileStream.Cells write = cells(part, (long) i * part, 0);
                    machine.spin(SECOND / 100, raws.get(i));
                    streams.get(i).read(from, memories.get(i).range(), read);
                    machine.add(memories.get(i), part, raws.get(i));
                    streams.get(i).write(to, memories.get(i).range(), write);
                    machine.add(memories.get(i), part, raws.get(i));
                    all.add(read);
                    all.add(write);
                }
            }
            raws.forEach(raw -> check(JCudaDriver.cuStreamSynchronize(raw)));
            assertThat(all).extracting(GpuStreamTest::result).containsOnly((long) part);
            streams.forEach(CuFileStream::close);
            for (int i = 0; i < count; i++) {
                memories.get(i).expect(0, plus(source.expected((long) i * part, part), 2));
                memories.get(i).verify();
                memories.get(i).close();
                target.expectWrite((long) i * part, plus(source.expected((long) i * part, part), 1));
            }
        }
        target.verify();
    }

    @Test
    void manyOperationsOfOneStreamKeepTheirOrder() throws IOException {
        GuardedFile file = file("order", SIZE);
        try (Machine machine = new Machine();
                CuFileHandle handle = machine.open(file);
                GuardedMemory memory = machine.memory(SIZE)) {
            CUstream raw = machine.stream();
            try (CuFileStream stream = machine.driver.stream(JCudaInterop.stream(raw), Set.of())) {
                for (int i = 0; i < 200; i++) {
                    stream.read(handle, memory.range(), cells(4096, 0, 0));
                    machine.add(memory, 4096, raw);
                    stream.write(handle, memory.range(), cells(4096, 0, 0));
                }
                check(JCudaDriver.cuStreamSynchronize(raw));
            }
            byte[] sum = plus(file.expected(0, 4096), 200);
            file.expectWrite(0, sum);
            memory.expect(0, sum);
            memory.verify();
        }
        file.verify();
    }

    /** Reads behind work that changes the file must see the change, whichever thread and stream makes it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void readsSeeWhatIsBetweenThem(boolean fixed) throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        int size = (9 << 20) + 5;
        int count = 24;
        GuardedFile file = file("between", size);
        try (Machine machine = new Machine();
                CuFileHandle handle = machine.open(file);
                FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.WRITE);
                GuardedMemory memory = machine.memory(count * size);
                CudaOrderedStream other = new CudaOrderedStream();
                CudaOrderedStream raw = new CudaOrderedStream()) {
            Cuda cuda = CudaDriver.detect().cudaContexts().orElseThrow().cuda();
            long[] made = new long[1];
            check(cuda.eventCreate(made, Cuda.EVENT_DISABLE_TIMING));
            long changed = made[0];
            List<CuFileStream.Cells> reads = new ArrayList<>();
            try (CuFileStream stream = machine.driver.stream(raw.address(), fixed ? FIXED : Set.of())) {
                for (int i = 0; i < count; i++) {
                    byte[] bytes = new byte[1 + random.nextInt(9000)];
                    random.nextBytes(bytes);
                    int at = random.nextInt(size - bytes.length);
                    int between = random.nextInt(5);
                    if (between == 0) {
                        raw.enqueue(() -> write(channel, bytes, at));
                    } else if (between == 1) {
                        check(cuda.eventRecord(changed, raw.address()));
                        check(cuda.streamWaitEvent(other.address(), changed, 0));
                        other.enqueue(() -> write(channel, bytes, at));
                        check(cuda.eventRecord(changed, other.address()));
                        check(cuda.streamWaitEvent(raw.address(), changed, 0));
                    } else if (between == 2) {
                        check(cuda.eventRecord(changed, raw.address()));
                    }
                    if (between < 2) {
                        file.expectWrite(at, bytes);
                    }
                    memory.expect(i * size, file.expected(0, size));
                    reads.add(cells(size, 0, (long) i * size));
                    stream.read(handle, memory.range(), reads.getLast());
                }
                raw.synchronize();
            }
            check(cuda.eventDestroy(changed));
            assertThat(reads).as("seed %d", seed).allSatisfy(read -> assertThat(result(read)).isEqualTo(size));
            assertThat(catchThrowable(memory::verify)).as("seed %d", seed).isNull();
        }
        assertThat(catchThrowable(file::verify)).as("seed %d", seed).isNull();
    }

    private static void write(FileChannel channel, byte[] bytes, int at) {
        try {
            channel.write(ByteBuffer.wrap(bytes), at);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void defaultStreamOfTheProgramIsAllowed() throws IOException {
        GuardedFile file = file("default", SIZE);
        try (Machine machine = new Machine();
                CuFileHandle handle = machine.open(file);
                GuardedMemory memory = machine.memory(SIZE)) {
            for (long raw : new long[]{0, 1, 2}) {
                try (CuFileStream stream = machine.driver.stream(raw, Set.of())) {
                    CuFileStream.Cells read = cells(SIZE, 0, 0);
                    stream.read(handle, memory.range(), read);
                    check(JCudaDriver.cuCtxSynchronize());
                    assertThat(result(read)).isEqualTo(SIZE);
                }
            }
            memory.expect(0, file.expected(0, SIZE));
            memory.verify();
        }
    }

    @Test
    void failureIsInTheResultAndTheStreamGoesOn() throws IOException {
        GuardedFile file = file("failure", SIZE);
        try (Machine machine = new Machine();
                CuFileHandle handle = machine.open(file);
                GuardedMemory memory = machine.memory(SIZE)) {
            CUstream raw = machine.stream();
            try (CuFileStream stream = machine.driver.stream(JCudaInterop.stream(raw), Set.of())) {
                CuFileStream.Cells bad = cells(SIZE, -1, 0);
                CuFileStream.Cells good = cells(SIZE, 0, 0);
                stream.read(handle, memory.range(), bad);
                stream.read(handle, memory.range(), good);
                machine.add(memory, SIZE, raw);
                check(JCudaDriver.cuStreamSynchronize(raw));
                assertThat(result(bad)).isNegative();
                assertThat(result(good)).isEqualTo(SIZE);
                memory.expect(0, plus(file.expected(0, SIZE), 1));
                memory.verify();
            }
        }
    }

    @Test
    void capturingStreamIsRefused() throws IOException {
        GuardedFile file = file("capture", SIZE);
        try (Machine machine = new Machine();
                CuFileHandle handle = machine.open(file);
                GuardedMemory memory = machine.memory(SIZE)) {
            CUstream raw = machine.stream();
            try (CuFileStream stream = machine.driver.stream(JCudaInterop.stream(raw), Set.of())) {
                check(JCudaDriver.cuStreamBeginCapture(
                        raw, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
                Failures.expect(
                        CuFileError.ASYNC_NOT_SUPPORTED,
                        () -> stream.read(handle, memory.range(), cells(SIZE, 0, 0)));
                CUgraph graph = new CUgraph();
                check(JCudaDriver.cuStreamEndCapture(raw, graph));
                check(JCudaDriver.cuGraphDestroy(graph));
            }
        }
    }
}
