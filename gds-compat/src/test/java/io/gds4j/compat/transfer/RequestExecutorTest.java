package io.gds4j.compat.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileOpenOption;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.RangeLocks;
import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.compat.work.RequestContext;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import io.gds4j.testkit.Failures;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What requests hold while they are at work and leave behind, who is told of their bytes, and which kernel or thread copies them. */
@Timeout(30)
class RequestExecutorTest {
    private static final int SIZE = 100_000;

    /** Smallest request that several threads share has fewer bytes. */
    private static final int SHARED = 500_000;

    private final ExecutorRig rig = new ExecutorRig();
    private final RequestExecutor executor = rig.executor;

    @AfterEach
    void close() throws IOException {
        rig.beforeIo(null);
        rig.close();
    }

    /** How a request comes to the executor. */
    private enum Way {
        CALL,
        CALL_WITH_REPORT,
        ENTRY,
        PART;

        /** Returns whether a caller waits. */
        private boolean isCall() {
            return this == CALL || this == CALL_WITH_REPORT;
        }
    }

    private long serve(Way way, BatchRequest request) {
        return serve(way, request, idle -> {
        });
    }

    /** Looks at what served a request when it is over, before it serves the next. */
    private interface Look {
        void at(RequestContext idle);
    }

    private long serve(Way way, BatchRequest request, Look look) {
        Operation stream = request.operation().ofStream();
        RequestContext unattended = way.isCall() ? null : rig.engine.borrowUnattended();
        try {
            return switch (way) {
                case CALL -> executor.execute(request.operation(), request.file(), request.memory(), request.size(),
                        request.fileOffset(), request.bufferOffset());
                case CALL_WITH_REPORT -> executor.execute(request);
                case ENTRY -> executor.execute(unattended, request.operation(), request, Cancellation.NEVER);
                case PART -> executor.executePart(unattended, stream, request, request.size(), (at, bytes) -> {
                });
            };
        } finally {
            if (unattended == null) {
                RequestContext idle = rig.engine.borrow(request.memory(), "cuFileRead");
                look.at(idle);
                rig.engine.giveBack(idle, request.memory());
            } else {
                look.at(unattended);
                rig.engine.giveBackUnattended(unattended);
            }
        }
    }

    private static BatchRequest request(Operation operation, CompatFile file, MemoryRange memory, long size) {
        return new BatchRequest(file, operation, memory, size, 0, 0, 0);
    }

    private static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private void failReadsAndWrites() {
        rig.beforeIo(() -> {
            throw new Refused();
        });
    }

    @ParameterizedTest
    @EnumSource
    void whatServedARequestServesTheNextAndKnowsNothingOfTheLast(Way way) {
        CompatFile file = rig.cached(SIZE);
        MemoryRange memory = rig.host(SIZE);
        AtomicLong reported = new AtomicLong();
        BatchRequest read = request(Operation.READ, file, memory, SIZE)
                .reportTo((path, at, bytes) -> reported.addAndGet(bytes));
        Look nothing = idle -> {
            assertThat(idle.hostTransfer().plan().size()).as("it served the request").isEqualTo(SIZE);
            assertThatThrownBy(idle.request()::file).hasMessage("no request");
            assertThat(idle.request().sink()).isSameAs(ResultSink.NONE);
            assertThat(idle.hostTransfer().plan().sink()).isSameAs(ResultSink.NONE);
        };
        assertThat(serve(way, read, nothing)).isEqualTo(SIZE);
        assertThat(serve(way, read, nothing)).isEqualTo(SIZE);
        assertThat(reported).hasValue(way == Way.CALL ? 0 : 2 * SIZE);
        failReadsAndWrites();
        assertThatThrownBy(() -> serve(way, read, nothing)).isInstanceOf(Refused.class);
        assertThat(rig.contextsOfCallers).hasValue(way.isCall() ? 1 : 0);
        assertThat(rig.bytes(memory, SIZE)).isEqualTo(ExecutorRig.content(SIZE));
    }

    private WeakReference<MemoryRange> moved(Way way, CompatFile file, boolean scattered) {
        MemoryRange memory = MemoryRange.ofSegment(Arena.ofAuto().allocate(SIZE));
        BatchRequest read = scattered ? BatchRequest.scattered(file, Operation.READ, 0, SIZE, replicas(SIZE, memory))
                : request(Operation.READ, file, memory, SIZE);
        assertThat(serve(way, read)).isEqualTo(SIZE);
        return new WeakReference<>(memory);
    }

    @ParameterizedTest
    @CsvSource({"CALL, false", "CALL_WITH_REPORT, true", "ENTRY, true", "PART, false"})
    void requestsThatAreOverKeepNoMemory(Way way, boolean scattered) {
        WeakReference<MemoryRange> memory = moved(way, rig.cached(SIZE), scattered);
        for (int i = 0; i < 100 && memory.get() != null; i++) {
            System.gc();
        }
        assertThat(memory.get()).isNull();
    }

    /** Requests that several threads share count with their bytes, and those of one thread and a GPU without. */
    @ParameterizedTest
    @CsvSource({"HOST, 500000, 1, 0", "CUDA_DEVICE, 500000, 1, 0", "CUDA_DEVICE, 100000, 0, 1", "HOST, 100000, 0, 0"})
    void requestCountsUntilItIsOver(MemoryKind kind, int size, long shared, long alone) {
        CompatFile file = rig.cached(size);
        MemoryRange memory = kind.isCuda() ? rig.gpu(0, kind, size) : rig.host(size);
        Set<List<Long>> seen = ConcurrentHashMap.newKeySet();
        rig.beforeIo(() -> seen.add(load(memory)));
        for (Way way : kind.isCuda() ? List.of(Way.CALL, Way.CALL_WITH_REPORT, Way.ENTRY) : List.of(Way.values())) {
            assertThat(serve(way, request(Operation.READ, file, memory, size))).isEqualTo(size);
            assertThat(load(memory)).as("%s is over", way).containsOnly(0L);
        }
        assertThat(seen).containsExactly(List.of(shared, alone, shared * size));
        failReadsAndWrites();
        assertThatThrownBy(() -> executor.execute(Operation.READ, file, memory, size, 0, 0))
                .isInstanceOf(Refused.class);
        assertThat(load(memory)).as("the failed one is over").containsOnly(0L);
    }

    private List<Long> load(MemoryRange memory) {
        return List.of((long) rig.engine.load().requests(memory), (long) rig.engine.load().alone(memory),
                rig.engine.load().bytes(memory));
    }

    private static boolean isFree(RangeLocks locks) {
        RangeLocks.Hold hold = locks.tryAcquire(0, 1, 0, 0);
        if (hold != null) {
            locks.release(hold);
        }
        return hold != null;
    }

    private static byte[] onDisk(CompatFile file) {
        try {
            return Files.readAllBytes(file.path().orElseThrow());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @EnumSource
    void writeHoldsItsPagesUntilItIsOver(Way way) {
        CompatFile file = rig.file(SIZE);
        MemoryRange memory = rig.host(SIZE);
        RangeLocks locks = file.descriptors().locks();
        List<Boolean> free = new ArrayList<>();
        rig.beforeIo(() -> free.add(isFree(locks)));
        assertThat(serve(way, request(Operation.WRITE, file, memory, SIZE))).isEqualTo(SIZE);
        assertThat(free).as("during the write").containsOnly(false);
        assertThat(isFree(locks)).isTrue();
        assertThat(onDisk(file)).isEqualTo(new byte[SIZE]);
        free.clear();
        assertThat(serve(way, request(Operation.READ, file, memory, SIZE))).isEqualTo(SIZE);
        assertThat(free).as("during a read").containsOnly(true);
        failReadsAndWrites();
        assertThatThrownBy(() -> serve(way, request(Operation.WRITE, file, memory, SIZE))).isInstanceOf(Refused.class);
        assertThat(isFree(locks)).as("after a failure").isTrue();
    }

    @ParameterizedTest
    @EnumSource(names = {"CALL", "CALL_WITH_REPORT"})
    void interruptEndsTheWaitForAnEarlierWrite(Way way) {
        CompatFile file = rig.file(SIZE);
        MemoryRange memory = rig.host(SIZE);
        BatchRequest write = request(Operation.WRITE, file, memory, SIZE);
        RangeLocks.Hold earlier = file.descriptors().locks().acquire(0, SIZE, 0, 0, true);
        Thread.currentThread().interrupt();
        CuFileInterruptedException e =
                catchThrowableOfType(CuFileInterruptedException.class, () -> serve(way, write));
        assertThat(Thread.interrupted()).as("the caller's flag stays").isTrue();
        assertThat(e).as("nothing is written, and the caller hears it").isNotNull();
        assertThat(e.bytesTransferred()).isZero();
        assertThat(rig.failures).containsExactly(e);
        assertThat(onDisk(file)).isEqualTo(ExecutorRig.content(SIZE));
        file.descriptors().locks().release(earlier);
        assertThat(serve(way, write)).isEqualTo(SIZE);
        assertThat(onDisk(file)).isEqualTo(new byte[SIZE]);
    }

    @ParameterizedTest
    @EnumSource
    void sourceHasNoLocksAndNoPageCache(Way way) {
        byte[] content = ExecutorRig.content(SIZE);
        CompatFile file = rig.open(new FileSource.Ranges(new Bytes(content), Optional.empty()));
        MemoryRange memory = rig.host(SIZE);
        assertThat(serve(way, request(Operation.READ, file, memory, SIZE))).isEqualTo(SIZE);
        assertThat(rig.bytes(memory, SIZE)).isEqualTo(content);
        byte[] before = content.clone();
        Arrays.fill(content, (byte) 0);
        assertThat(serve(way, request(Operation.WRITE, file, memory, SIZE))).isEqualTo(SIZE);
        assertThat(content).isEqualTo(before);
        assertThat(executor.waitsForDisk(request(Operation.READ, file, memory, SIZE), SIZE, "test")).isTrue();
    }

    /** A source in memory. */
    private record Bytes(byte[] content) implements RangeSource {
        @Override
        public long size() {
            return content.length;
        }

        @Override
        public String identity() {
            return "bytes";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            target.copyFrom(MemorySegment.ofArray(content).asSlice(offset, target.byteSize()));
            return target.byteSize();
        }

        @Override
        public boolean isWritable() {
            return true;
        }

        @Override
        public void write(long offset, MemorySegment data, Cancellation cancellation) {
            MemorySegment.ofArray(content).asSlice(offset).copyFrom(data);
        }
    }

    /** The kernel cannot drop the pages behind a buffered read itself here. */
    @ParameterizedTest
    @EnumSource
    void readOfAFileThatIsReadOnceLeavesNoPage(Way way) {
        int size = 1 << 20;
        for (CuFileOpenOption[] options : new CuFileOpenOption[][]{{CuFileOpenOption.DROP}, {}}) {
            CompatFile file = rig.file(size, options);
            file.descriptors().refuseDropBehind();
            MemoryRange memory = rig.host(size + 1).slice(1, size); // no direct read reaches it
            assertThat(serve(way, request(Operation.READ, file, memory, size))).isEqualTo(size);
            assertThat(rig.bytes(memory, size)).isEqualTo(ExecutorRig.content(size));
            assertThat(rig.cache.bytes() == 0).isEqualTo(options.length > 0);
        }
    }

    @Test
    void operationWaitsForTheDiskWhereBytesAreNotCached() {
        MemoryRange memory = rig.host(SIZE);
        CompatFile file = rig.cached(SIZE);
        assertThat(executor.waitsForDisk(request(Operation.READ, file, memory, SIZE), SIZE, "test")).isFalse();
        rig.cache.drop(SIZE / 2, SIZE);
        assertThat(executor.waitsForDisk(request(Operation.READ, file, memory, 1), SIZE, "test")).isTrue();
        assertThat(executor.waitsForDisk(request(Operation.READ, file, memory, SIZE), 1, "test")).isFalse();
        assertThat(executor.waitsForDisk(request(Operation.WRITE, file, memory, SIZE), SIZE, "test")).isFalse();
    }

    /** A kernel of a stream copies pieces while others are read. */
    @Test
    void partOfAnOperationTellsOfItsPieces() {
        CompatFile file = rig.cached(SHARED);
        MemoryRange memory = rig.host(SHARED);
        RequestContext context = rig.engine.borrowUnattended();
        TransferPlan plan = context.hostTransfer().plan();
        int[] readers = new int[2];
        for (int i = 0; i < 2; i++) {
            AtomicLong heard = new AtomicLong();
            BatchRequest read = request(Operation.READ, file, memory, SHARED);
            long whole = i == 0 ? SHARED : 64L << 20;
            assertThat(executor.executePart(context, Operation.STREAM_READ, read, whole, (at, bytes) -> heard
                    .addAndGet(bytes))).isEqualTo(SHARED);
            assertThat(heard).hasValue(SHARED);
            readers[i] = plan.readers();
        }
        assertThat(readers[1]).as("the whole operation decides how many threads read").isGreaterThan(readers[0]);
        BatchRequest write = request(Operation.WRITE, file, memory, SHARED);
        assertThat(executor.executePart(context, Operation.STREAM_WRITE, write, SHARED, (at, bytes) -> {
            throw new AssertionError("of a write");
        })).isEqualTo(SHARED);
        BatchRequest read = request(Operation.READ, file, memory, SHARED);
        assertThat(executor.execute(context, Operation.STREAM_READ, read, Cancellation.NEVER)).isEqualTo(SHARED);
        assertThat(plan.isGathered()).as("nobody asks for its pieces").isFalse();
        rig.engine.giveBackUnattended(context);
    }

    /** Its arena cannot close during the call then. */
    @ParameterizedTest
    @EnumSource
    void systemCallsTakeTheSegmentOfTheProgram(Way way) {
        CompatFile file = rig.cached(SIZE);
        MemoryRange memory = rig.host(SIZE);
        assertThat(serve(way, request(Operation.READ, file, memory, SIZE))).isEqualTo(SIZE);
        assertThat(rig.usesSegment).isTrue();
        MemoryRange other = MemoryRange.ofAddress(memory.address(), SIZE, MemoryKind.HOST);
        assertThat(serve(way, request(Operation.WRITE, file, other, SIZE))).isEqualTo(SIZE);
        assertThat(rig.usesSegment).isFalse();
    }

    /** Its batch is cancelled while it waits for the only slab, which the request around it has. */
    @Test
    void entryThatHasNotBegunEndsWithItsBatch() throws IOException {
        try (ExecutorRig one = new ExecutorRig(builder -> builder
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(1024L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(1L)))) {
            MemoryRange memory = one.host(SIZE);
            MemoryRange second = one.host(SIZE);
            MemoryRange replica = one.host(SIZE);
            CompatFile file = one.cached(SIZE);
            BatchRequest around =
                    BatchRequest.scattered(file, Operation.READ, 0, SIZE, replicas(SIZE, memory, replica));
            BatchRequest entry =
                    BatchRequest.scattered(file, Operation.READ, 0, SIZE, replicas(SIZE, second, replica));
            RequestContext context = one.engine.borrow(second, "of a caller, whose wait the limit of this test ends");
            one.beforeIo(() -> {
                one.beforeIo(null);
                assertThatThrownBy(() -> one.executor.execute(context, Operation.READ, entry, () -> true))
                        .isInstanceOf(CuFileInterruptedException.class);
            });
            assertThat(one.executor.execute(around)).isEqualTo(SIZE);
            assertThat(one.bytes(second, SIZE)).containsOnly(0);
            assertThat(one.executor.execute(context, Operation.READ, entry, Cancellation.NEVER)).isEqualTo(SIZE);
            one.engine.giveBack(context, second);
        }
    }

    private static List<ScatterCopy> replicas(long size, MemoryRange... memories) {
        return Arrays.stream(memories).map(memory -> new ScatterCopy(0, size, memory, 0)).toList();
    }

    @ParameterizedTest
    @EnumSource(names = {"CALL_WITH_REPORT", "ENTRY"})
    void gpusOfFragmentsLendTheirWorkersInTurn(Way way) {
        CompatFile file = rig.cached(SHARED);
        MemoryRange host = rig.host(SHARED);
        List<MemoryRange> memories = List.of(rig.gpu(0, SHARED), rig.gpu(1, SHARED), rig.gpu(2, SHARED));
        long largest = rig.planner.largestPiece();
        for (MemoryRange memory : memories) { // the first GPU has the workers of the host
            rig.engine.enter(memory, SHARED, largest);
            rig.engine.leave(memory, SHARED, largest);
        }
        List<Integer> turns = new ArrayList<>();
        BatchRequest read = BatchRequest.scattered(file, Operation.READ, 0, SHARED,
                replicas(SHARED, host, memories.get(1), memories.get(2)));
        for (int i = 0; i < 3; i++) {
            Set<Integer> lenders = ConcurrentHashMap.newKeySet();
            rig.beforeIo(() -> {
                for (int gpu = 0; gpu < 3; gpu++) {
                    if (rig.engine.load().requests(memories.get(gpu)) > 0) {
                        lenders.add(gpu);
                    }
                }
            });
            assertThat(serve(way, read)).isEqualTo(SHARED);
            turns.addAll(lenders);
        }
        assertThat(turns).containsExactly(1, 2, 1);
        for (MemoryRange memory : List.of(host, memories.get(1), memories.get(2))) {
            assertThat(rig.bytes(memory, SHARED)).isEqualTo(ExecutorRig.content(SHARED));
        }
    }

    /** Returns memory of a GPU, or of the host for "h". */
    private static MemoryRange memory(String name, long address) {
        return name.equals("h") ? MemoryRange.ofAddress(address, 10, MemoryKind.HOST)
                : MemoryRange.ofAddress(address, 10, MemoryKind.CUDA_DEVICE, Integer.parseInt(name));
    }

    /** Each GPU of a request has its turn; the first of its fragments decides. GPUs without a number of their own never have one. */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', textBlock = """
            # memory of the fragments | which of them decides in turn 0, 1, 2 and so on
            h           | 0 0 0
            h h         | 0 0 0
            0           | 0 0 0
            h 0         | 1 1 1
            0 1         | 0 1 0 1
            1 0         | 1 0 1 0
            0 0 1       | 0 2 0 2
            h 3 1 3 5   | 2 1 4 2 1 4
            1 2 3       | 0 1 2 0
            63 62       | 1 0 1 0
            64 1        | 1 1 1
            h 64 65     | 1 1 1
            h 64 3      | 2 2 2
            """)
    void gpusOfARequestTakeTurns(String names, String deciders) {
        List<ScatterCopy> copies = new ArrayList<>();
        for (String name : names.split(" ")) {
            copies.add(new ScatterCopy(copies.size() * 10L, 10, memory(name, 4096L * (copies.size() + 1)), 0));
        }
        List<Integer> expected = Arrays.stream(deciders.split(" ")).map(Integer::valueOf).toList();
        for (int turn = 0; turn < expected.size(); turn++) {
            assertThat(RequestExecutor.decisive(copies, turn).address() / 4096 - 1).as("turn %s", turn)
                    .isEqualTo((long) expected.get(turn));
        }
        // the counter of turns wraps
        assertThat(RequestExecutor.decisive(copies, Integer.MIN_VALUE)).isNotNull();
        int gpus = (int) expected.stream().distinct().count();
        assertThat(RequestExecutor.decisive(copies, -gpus)).isEqualTo(RequestExecutor.decisive(copies, 0));
        assertThat(RequestExecutor.decisive(copies, -1)).isEqualTo(RequestExecutor.decisive(copies, gpus - 1));
    }

    /** Beside requests of several threads and requests of one: launches of many kernels cost no more than one request takes. */
    @ParameterizedTest
    @CsvSource({"CUDA_DEVICE, 95999, 0, 0, false", "CUDA_DEVICE, 96000, 0, 0, true", "CUDA_MANAGED, 96000, 0, 0, false",
            "CUDA_DEVICE, 32000, 0, 2, false", "CUDA_DEVICE, 32000, 0, 3, true", "CUDA_DEVICE, 32000, 1, 2, true",
            "CUDA_DEVICE, 32000, 3, 0, true", "CUDA_DEVICE, 32000, 2, 0, false", "CUDA_DEVICE, 31999, 0, 9, false"})
    void kernelCopiesWhatPays(MemoryKind kind, int size, int shared, int alone, boolean gathered) {
        MemoryRange memory = rig.gpu(0, kind, size);
        long largest = rig.planner.largestPiece();
        int least = (int) TransferCosts.MEASURED.leastGathered();
        for (int i = 0; i < shared + alone; i++) {
            rig.engine.enter(memory, i < shared ? SHARED : least, largest);
        }
        assertThat(isGathered(memory, size)).isEqualTo(gathered);
        for (int i = 0; i < shared + alone; i++) {
            rig.engine.leave(memory, i < shared ? SHARED : least, largest);
        }
    }

    /** Slabs hold the bytes until a kernel has copied them. */
    @ParameterizedTest
    @CsvSource({"0, true", "1, false"})
    void kernelsCopyWhatTheProcessorsCachesHold(int more, boolean gathered) {
        MemoryRange memory = rig.gpu(0, SIZE);
        long others = TransferCosts.MEASURED.cacheBytes() - SIZE + more;
        long largest = rig.planner.largestPiece();
        rig.engine.enter(memory, others, largest);
        assertThat(isGathered(memory, SIZE)).isEqualTo(gathered);
        rig.engine.leave(memory, others, largest);
    }

    /** Reads as the first request of a GPU whose kernel is loaded. */
    private boolean isGathered(MemoryRange memory, int size) {
        CompatFile file = rig.cached(size);
        rig.gpus.of(memory).prepare();
        boolean[] gathered = new boolean[1];
        assertThat(serve(Way.CALL_WITH_REPORT, request(Operation.READ, file, memory, size),
                idle -> gathered[0] = idle.deviceTransfer().plan().isGathered())).isEqualTo(size);
        assertThat(rig.bytes(memory, size)).isEqualTo(ExecutorRig.content(size));
        return gathered[0];
    }

    @ParameterizedTest
    @CsvSource({"READ, true", "WRITE, false"})
    void kernelCopiesFragmentsOfAReadToOneGpu(Operation operation, boolean gathered) {
        CompatFile file = rig.cached(SIZE);
        MemoryRange memory = rig.gpu(0, SIZE);
        rig.gpus.of(memory).prepare();
        BatchRequest request = BatchRequest.scattered(file, operation, 0, SIZE, replicas(SIZE, memory));
        assertThat(serve(Way.CALL_WITH_REPORT, request, idle -> assertThat(idle.scatterTransfer().plan().isGathered())
                .isEqualTo(gathered))).isEqualTo(SIZE);
    }

    /** Pieces of cached bytes for several GPUs are short enough for a processor's cache. */
    @ParameterizedTest
    @CsvSource({"READ, 1, 4194304", "READ, 2, 2097152", "WRITE, 2, 4194304"})
    void fragmentsOfSeveralGpusAreReadInShortPieces(Operation operation, int gpus, long pieceSize) {
        int size = 8 << 20;
        int half = size / 2;
        CompatFile file = rig.cached(size);
        MemoryRange one = rig.gpu(0, half);
        MemoryRange other = rig.gpu(gpus - 1, half);
        long largest = rig.planner.largestPiece();
        int busy = TransferCosts.MEASURED.linkThreads(); // beside so many requests each has one thread
        for (int i = 0; i < busy; i++) {
            rig.engine.enter(one, SHARED, largest);
        }
        BatchRequest request = BatchRequest.scattered(file, operation, 0, size,
                List.of(new ScatterCopy(0, half, one, 0), new ScatterCopy(half, half, other, 0)));
        assertThat(serve(Way.CALL_WITH_REPORT, request,
                idle -> assertThat(idle.scatterTransfer().plan().pieceSize()).isEqualTo(pieceSize))).isEqualTo(size);
        for (int i = 0; i < busy; i++) {
            rig.engine.leave(one, SHARED, largest);
        }
    }

    @ParameterizedTest
    @CsvSource({"READ, true", "WRITE, false"})
    void gpusPassOnBytesThatSeveralNeed(Operation operation, boolean passOn) {
        int size = (int) TransferCosts.PEER_BYTES;
        CompatFile file = rig.cached(2 * size);
        MemoryRange one = rig.gpu(0, size);
        MemoryRange other = rig.gpu(1, size);
        rig.gpus.prepare(0);
        rig.gpus.prepare(1);
        List<ScatterCopy> copies = passOn ? replicas(size, one, other)
                : List.of(new ScatterCopy(0, size, one, 0), new ScatterCopy(size, size, other, 0));
        long before = rig.cuda.calls(CudaFunction.MEMCPY_PEER_ASYNC);
        long bytes = passOn ? size : 2L * size;
        assertThat(executor.execute(BatchRequest.scattered(file, operation, 0, bytes, copies))).isEqualTo(bytes);
        assertThat(rig.cuda.calls(CudaFunction.MEMCPY_PEER_ASYNC) > before).isEqualTo(passOn);
        if (passOn) {
            byte[] content = Arrays.copyOf(ExecutorRig.content(2 * size), size);
            assertThat(rig.bytes(one, size)).isEqualTo(content);
            assertThat(rig.bytes(other, size)).isEqualTo(content);
        }
    }

    /** The driver's copies of managed memory wait for all streams, of which one may wait for the request. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void processorsCopyManagedMemoryWhereStreamsMayWait(boolean mayWait) {
        CompatFile file = rig.cached(SIZE);
        MemoryRange memory = rig.gpu(0, MemoryKind.CUDA_MANAGED, SIZE);
        MemoryRange second = rig.gpu(0, MemoryKind.CUDA_MANAGED, SIZE);
        MemoryRange device = rig.gpu(0, SIZE);
        rig.gpus.of(memory).prepare();
        if (mayWait) {
            rig.pool.waits().expect();
        }
        assertThat(executor.copiesByProcessor(memory)).isEqualTo(mayWait);
        assertThat(executor.copiesByProcessor(device)).isFalse();
        long copies = rig.cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC);
        assertThat(executor.execute(Operation.READ, file, memory, SIZE, 0, 0)).isEqualTo(SIZE);
        assertThat(rig.cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC) == copies).as("of a call").isEqualTo(mayWait);
        copies = rig.cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC);
        BatchRequest scattered = BatchRequest.scattered(file, Operation.READ, 0, SIZE, replicas(SIZE, second));
        assertThat(serve(Way.ENTRY, scattered)).isEqualTo(SIZE);
        assertThat(rig.cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC) == copies).as("of fragments").isEqualTo(mayWait);
        for (MemoryRange read : List.of(memory, second)) {
            assertThat(rig.bytes(read, SIZE)).isEqualTo(ExecutorRig.content(SIZE));
        }
    }

    @Test
    void memoryOfAGpuIsRefusedWithoutADriver() {
        CompatFile file = rig.cached(SIZE);
        MemoryRange memory = rig.gpu(0, MemoryKind.CUDA_MANAGED, SIZE);
        RequestExecutor without = rig.executor(null);
        assertThat(without.copiesByProcessor(memory)).isFalse();
        Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID,
                () -> without.execute(Operation.READ, file, memory, SIZE, 0, 0));
        Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID, () -> without.execute(
                BatchRequest.scattered(file, Operation.READ, 0, SIZE, replicas(SIZE, memory))));
        assertThat(without.execute(Operation.READ, file, rig.host(SIZE), SIZE, 0, 0)).isEqualTo(SIZE);
    }
}
