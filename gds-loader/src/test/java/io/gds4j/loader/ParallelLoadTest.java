package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Loads for several ranks: bytes, reads, memory and failures. */
@Timeout(60)
class ParallelLoadTest {
    private static final TensorPattern PATTERN = new TensorPattern(9);
    private static final ParallelPlan LLAMA = ParallelPlan.llama(new AttentionHeads(12, 12));

    @TempDir
    Path folder;

    private final FileChannelBackend backend = new FileChannelBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);

    @AfterEach
    void everythingIsReleased() {
        driver.close();
        assertThat(backend.openFiles()).as("open files").isZero();
        assertThat(backend.allocator().open()).as("allocations").isZero();
    }

    private Checkpoint llama() {
        SafetensorsWriter writer = new SafetensorsWriter(folder.resolve("llama.safetensors"));
        writer.tensor("model.embed_tokens.weight", DType.BF16, 1200, 256);
        for (int i = 0; i < 2; i++) {
            String layer = "model.layers." + i + ".";
            writer.tensor(layer + "self_attn.q_proj.weight", DType.BF16, 384, 256)
                    .tensor(layer + "self_attn.o_proj.weight", DType.BF16, 256, 384)
                    .tensor(layer + "mlp.down_proj.weight", DType.F32, 252, 516)
                    .tensor(layer + "mlp.up_proj.weight", DType.U8, 516, 251)
                    .tensor(layer + "input_layernorm.weight", DType.BF16, 251);
        }
        writer.write(PATTERN);
        return Checkpoint.open(folder.resolve("llama.safetensors"));
    }

    private static List<LoadDestination> destinations(int count) {
        List<LoadDestination> destinations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            destinations.add(i % 2 == 0 ? LoadDestination.host() : LoadDestination.gpu(i));
        }
        return destinations;
    }

    private static long dataBytes(Checkpoint checkpoint) {
        return checkpoint.files().stream().mapToLong(file -> file.size() - file.dataOffset()).sum();
    }

    private static void check(ParallelLoadPlan plan, ParallelTensors tensors) {
        for (int rank : plan.ranks()) {
            LoadedTensors own = tensors.rank(rank);
            assertThat(own.names()).hasSize(plan.slices(rank).size());
            for (TensorSlice slice : plan.slices(rank)) {
                LoadedTensor tensor = own.get(slice.tensor().name());
                assertThat(tensor.info().shape()).isEqualTo(slice.shape());
                assertThat(tensor.address() % plan.alignment()).isZero();
                assertThat(TrackingAllocator.raw(tensor.range()).toArray(ValueLayout.JAVA_BYTE))
                        .as("rank %d of %s", rank, slice.tensor().name())
                        .isEqualTo(SliceBytes.of(PATTERN, slice));
            }
            assertThat(CheckpointVerifier.verify(own).mismatches()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 6})
    void everyRankReceivesItsSlicesAndEveryByteIsReadOnce(int world) {
        Checkpoint checkpoint = llama();
        for (ParallelPlan rules : List.of(LLAMA, ParallelPlan.replicate())) {
            backend.reads().clear();
            ParallelLoadPlan plan = checkpoint.plan().requestSize(1 << 20).across(destinations(world), rules);
            try (ParallelTensors tensors = plan.load(driver)) {
                check(plan, tensors);
                ParallelReport report = tensors.report();
                assertThat(report.storageBytes()).isEqualTo(dataBytes(checkpoint)).isEqualTo(plan.storageBytes());
                assertThat(report.load().bytes()).isEqualTo(checkpoint.bytes());
                assertThat(report.load().requests()).isEqualTo(plan.requests().size());
                assertThat(report.ranks()).extracting(RankReport::bytes).allMatch(bytes -> bytes > 0);
                assertThat(report.ranks().stream().mapToLong(RankReport::bytes).sum()).isEqualTo(plan.deliveredBytes());
            }
            readOnce(plan.storageBytes());
        }
    }

    @Test
    void fileThatShrinksDuringAReadForSeveralRanksIsReportedWithItsNewEnd() {
        Checkpoint checkpoint = llama();
        ParallelLoadPlan plan =
                checkpoint.plan().requestsInFlight(1).across(destinations(2), ParallelPlan.replicate());
        long shorter = checkpoint.files().getFirst().size() - 1000;
        AtomicBoolean cut = new AtomicBoolean();
        backend.hook((path, offset) -> {
            if (!cut.getAndSet(true)) {
                try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                    channel.truncate(shorter);
                }
            }
        });
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> plan.load(driver).close());
        assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
        assertThat(e.fileOffset()).hasValue(shorter);
    }

    private void readOnce(long bytes) {
        List<FileChannelBackend.Read> reads = new ArrayList<>(backend.reads());
        reads.sort(Comparator.comparingLong(FileChannelBackend.Read::fileOffset));
        long sum = 0;
        for (int i = 0; i < reads.size(); i++) {
            sum += reads.get(i).size();
            if (i > 0) {
                FileChannelBackend.Read before = reads.get(i - 1);
                assertThat(before.fileOffset() + before.size()).isLessThanOrEqualTo(reads.get(i).fileOffset());
            }
        }
        assertThat(sum).isEqualTo(bytes);
    }

    @Test
    void oneRankReadsColumnsExactlyAndRowsWhole() {
        Checkpoint checkpoint = llama();
        ParallelLoadPlan plan = checkpoint.plan().rank(1, 2, LLAMA);
        long exact = 0;
        for (TensorInfo tensor : checkpoint.tensors().values()) {
            boolean whole = tensor.name().contains("norm") || tensor.name().contains("o_proj")
                    || tensor.name().contains("down_proj");
            exact += whole ? tensor.length() : tensor.length() / 2;
        }
        assertThat(plan.storageBytes()).isEqualTo(exact);
        try (ParallelTensors tensors = plan.load(driver)) {
            assertThat(tensors.ranks()).containsExactly(1);
            check(plan, tensors);
        }
        readOnce(exact);
    }

    @Test
    void longRowsAreReadByThemselves() {
        new SafetensorsWriter(folder.resolve("wide.safetensors"))
                .tensor("down_proj.weight", DType.U8, 3, 2 << 17)
                .write(PATTERN);
        ParallelLoadPlan plan = Checkpoint.open(folder.resolve("wide.safetensors")).plan().rank(0, 2, LLAMA);
        assertThat(plan.storageBytes()).isEqualTo(3 << 17);
        try (ParallelTensors tensors = plan.load(driver)) {
            check(plan, tensors);
        }
    }

    @Test
    void memoryIsStatedBeforeItIsAllocated() {
        Checkpoint checkpoint = llama();
        ParallelLoadPlan plan = checkpoint.plan().across(destinations(3), LLAMA);
        long stated = plan.ranks().stream().mapToLong(plan::destinationBytes).sum();
        for (int rank : plan.ranks()) {
            assertThat(plan.destinationBytes(rank)).isBetween(plan.bytes(rank), plan.bytes(rank) + 256 * 12);
        }
        try (ParallelTensors tensors = plan.load(driver)) {
            assertThat(tensors.ranks()).hasSize(3);
            assertThat(backend.allocator().bytes()).isEqualTo(stated);
        }
        CuFileConfig config = CuFileConfig.defaults();
        try (CuFileDriver compat = CuFileDriver.open(config, "compat");
                ParallelTensors tensors = checkpoint.plan()
                        .across(Collections.nCopies(3, LoadDestination.host()), LLAMA)
                        .load(compat)) {
            check(plan, tensors);
            assertThat(tensors.report().load().peakStagingBytes()).isBetween(1L, plan.stagingBytes(config));
            assertThat(tensors.report().load().ioPaths().values().stream().mapToLong(Long::longValue).sum())
                    .isEqualTo(plan.storageBytes());
            assertThat(tensors.report().load().bytesAsked()).isEqualTo(plan.storageBytes());
            assertThat(tensors.report().load().whyNotDirect()).isPresent();
        }
    }

    @Test
    void selectionsAndMemoryOfTheCallerAreObeyed() {
        LoadPlan base = llama().plan().include("proj").alignment(4096);
        ParallelLoadPlan sizes = base.across(destinations(2), LLAMA);
        try (MemoryAllocation first = driver.allocator().allocate(MemoryKind.HOST, sizes.destinationBytes(0));
                MemoryAllocation second =
                        driver.allocator().allocate(MemoryKind.CUDA_DEVICE, sizes.destinationBytes(1), 0)) {
            ParallelLoadPlan plan = base.across(
                    List.of(LoadDestination.into(first.range()), LoadDestination.into(second.range())), LLAMA);
            try (ParallelTensors tensors = plan.load(driver)) {
                check(plan, tensors);
                assertThat(backend.allocator().open()).isEqualTo(2);
            }
            MemoryRange small = second.range().slice(0, 4096);
            assertThatThrownBy(() -> base.across(List.of(LoadDestination.host(), LoadDestination.into(small)), LLAMA))
                    .hasMessageContaining("the destination of rank 1 has 4096 bytes");
            assertThatThrownBy(() -> base.across(
                    List.of(LoadDestination.into(second.range()), LoadDestination.into(small)), LLAMA))
                    .hasMessageContaining("the destinations of ranks 0 and 1 overlap");
        }
    }

    @Test
    void failureAtOneDestinationFreesAll() {
        ParallelLoadPlan plan = llama().plan().across(destinations(3), LLAMA);
        backend.allocator().failAfter(2);
        assertThatThrownBy(() -> plan.load(driver)).hasMessageContaining("bytes left");
        assertThat(backend.reads()).isEmpty();
        backend.allocator().failAfter(Integer.MAX_VALUE);
        backend.hook((path, offset) -> {
            if (offset > 200_000) {
                throw new IOException("broken disk");
            }
        });
        assertThatThrownBy(() -> plan.load(driver)).isInstanceOf(CuFileException.class);
    }

    @Test
    void cancellingFreesAll() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        backend.hook((path, offset) -> {
            begun.countDown();
            new CountDownLatch(1).await();
        });
        CompletableFuture<ParallelTensors> future = llama().plan().across(destinations(2), LLAMA).loadAsync(driver);
        begun.await();
        assertThat(future.cancel(true)).isTrue();
        assertThat(backend.allocator().open()).isZero();
        assertThatThrownBy(future::join).isInstanceOf(CancellationException.class);
    }

    @Test
    void progressCountsWhatAllRanksReceive() {
        Checkpoint checkpoint = llama();
        ParallelLoadPlan plan = checkpoint.plan().requestSize(1 << 20).across(destinations(2), LLAMA);
        List<Long> progress = new ArrayList<>();
        List<String> placed = new ArrayList<>();
        ProgressListener listener = new ProgressListener() {
            @Override
            public void progress(LoadProgress now) {
                assertThat(now.bytesTotal()).isEqualTo(plan.deliveredBytes());
                progress.add(now.bytesDone());
            }

            @Override
            public void tensorPlaced(TensorInfo tensor) {
                placed.add(tensor.name());
            }
        };
        plan.load(driver, listener).close();
        assertThat(progress).isSorted().last().isEqualTo(plan.deliveredBytes());
        assertThat(placed).containsExactlyInAnyOrderElementsOf(checkpoint.tensors().keySet());
    }

    @Test
    void piecesOfTensorsFillTheRanks() {
        new SafetensorsWriter(folder.resolve("pieces.safetensors"))
                .tensor("l.up_proj.weight[0:4,0:8]", DType.F32, 4, 8)
                .tensor("l.up_proj.weight[4:12,0:8]", DType.F32, 8, 8)
                .tensor("l.down_proj.weight[0:8,0:3]", DType.F32, 8, 3)
                .tensor("l.down_proj.weight[0:8,3:12]", DType.F32, 8, 9)
                .write(PATTERN);
        ParallelLoadPlan plan =
                Checkpoint.open(folder.resolve("pieces.safetensors")).plan().across(destinations(2), LLAMA);
        try (ParallelTensors tensors = plan.load(driver)) {
            check(plan, tensors);
            assertThat(plan.bytes(0)).isEqualTo(plan.bytes(1)).isEqualTo(2 * 4 * 6 * 8);
        }
    }

    @Test
    void ownersKeepWholeTensorsAlone() {
        ParallelPlan rules = ParallelPlan.of("owners", List.of(
                new ParallelRule("embed_tokens", new Split.Owner(1)), new ParallelRule("*", new Split.Owner(0))));
        ParallelLoadPlan plan = llama().plan().across(destinations(2), rules);
        try (ParallelTensors tensors = plan.load(driver)) {
            check(plan, tensors);
            assertThat(tensors.rank(1).names()).containsExactly("model.embed_tokens.weight");
        }
    }

    @Test
    void wrongArgumentsAreRefusedBeforeTheFirstRead() {
        LoadPlan plan = llama().plan();
        assertThatThrownBy(() -> plan.across(List.of(), LLAMA)).hasMessageContaining("there are no destinations");
        assertThatThrownBy(() -> plan.rank(2, 2, LLAMA)).hasMessageContaining("the rank is 2; 2 ranks are 0 to 1");
        assertThatThrownBy(() -> plan.rank(0, 0, LLAMA)).hasMessageContaining("the number of ranks is 0");
        assertThatThrownBy(() -> plan.across(destinations(7), LLAMA)).hasMessageContaining("7 ranks do not divide");
        assertThatThrownBy(() -> plan.include("nothing").across(destinations(2), LLAMA))
                .hasMessageContaining("matches none");
        assertThatThrownBy(() -> plan.across(destinations(2), LLAMA).bytes(2)).hasMessageContaining("rank 2 is not");
        assertThat(backend.reads()).isEmpty();
    }

    @Test
    void verificationFindsAnotherByteOfASlice() {
        ParallelLoadPlan plan = llama().plan().across(destinations(2), LLAMA);
        try (ParallelTensors tensors = plan.load(driver)) {
            LoadedTensor tensor = tensors.rank(1).get("model.layers.1.self_attn.o_proj.weight");
            MemorySegment bytes = TrackingAllocator.raw(tensor.range());
            byte right = bytes.get(ValueLayout.JAVA_BYTE, 70_001);
            bytes.set(ValueLayout.JAVA_BYTE, 70_001, (byte) ~right);
            VerificationReport report = CheckpointVerifier.verify(tensors.rank(1));
            assertThat(report.mismatches()).hasSize(1);
            assertThat(report.mismatches().getFirst().offset()).isEqualTo(70_001);
        }
    }

    @Test
    void rangesWithoutBytesOfTheRankAreNotRead() {
        new SafetensorsWriter(folder.resolve("wide.safetensors"))
                .tensor("down_proj.weight", DType.U8, 3, 3 << 20)
                .write(PATTERN);
        ParallelLoadPlan plan =
                Checkpoint.open(folder.resolve("wide.safetensors")).plan().requestSize(1 << 20).rank(5, 64, LLAMA);
        try (ParallelTensors tensors = plan.load(driver)) {
            check(plan, tensors);
        }
        assertThat(plan.requests()).hasSize(3);
        readOnce(plan.storageBytes());
    }

    @Test
    void smallSlicesReachEachRankInOneCopy() {
        SafetensorsWriter writer = new SafetensorsWriter(folder.resolve("scales.safetensors"))
                .sorted(false);
        for (int i = 0; i < 5; i++) {
            writer.tensor("w" + i, DType.U8, 2 << 20).tensor(i + ".up_proj.scale", DType.F32, 4, 6);
        }
        writer.write(PATTERN);
        ParallelPlan halves = ParallelPlan.of("halves", List.of(new ParallelRule("w*", new Split.Owner(0)),
                new ParallelRule("*", new Split.Dimension(1, Split.WHOLE, false))));
        LoadPlan scales = Checkpoint.open(folder.resolve("scales.safetensors")).plan().include("scale");
        List<LoadDestination> gpus = List.of(LoadDestination.gpu(0), LoadDestination.gpu(1), LoadDestination.gpu(2));
        ParallelLoadPlan plan = scales.across(gpus, halves);
        try (ParallelTensors tensors = plan.load(driver)) {
            check(plan, tensors);
        }
        assertThat(plan.requests()).hasSize(5).allMatch(LoadRequest::gathered);
        assertThat(backend.allocator().copies()).isEqualTo(3);
        readOnce(5 * 4 * 6 * 4);
    }
}
