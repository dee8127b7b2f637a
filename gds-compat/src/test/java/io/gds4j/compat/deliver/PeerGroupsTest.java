package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.PeerLinks;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.engine.staging.PreparedGpus;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which copies of the same bytes GPUs pass on to each other. */
class PeerGroupsTest {
    private static final long BYTES = TransferCosts.PEER_BYTES;

    private final FakeCuda cuda = new FakeCuda(3, 64 << 20);
    private final CudaContexts contexts = cuda.available().cudaContexts().orElseThrow();
    private final BouncePool pool =
            new BouncePool(FfmPosix.instance(), CuFileConfig.defaults());
    private final PreparedGpus gpus = new PreparedGpus(contexts, pool);
    private final List<ScatterCopy> copies = new ArrayList<>();
    private long now;
    private int reading;

    @AfterEach
    void nothingIsLeft() {
        assertThat(pool.bytesInUse()).isZero();
        pool.close();
        assertThat(cuda.violations()).isEmpty();
    }

    private static MemoryRange memory(MemoryKind kind, int gpu) {
        return MemoryRange.ofAddress(1L << 32, 1L << 30, kind, kind.isCuda() ? gpu : MemoryRange.NO_DEVICE);
    }

    private void copy(long offset, long width, MemoryKind kind, int gpu) {
        copies.add(new ScatterCopy(offset, width, memory(kind, gpu), 0));
    }

    private void rows(int gpu) {
        copies.add(new ScatterCopy(0, 2 * BYTES, BYTES, 2, memory(MemoryKind.CUDA_DEVICE, gpu), 0, BYTES));
    }

    /** @param peerNanos what a copy from another GPU takes; one from the host takes 100 */
    private List<List<Integer>> groups(long peerNanos) {
        ScatterTransfer transfer = new ScatterTransfer(new TransferRequest(), null);
        describe(transfer);
        PeerLinks links = new PeerLinks(contexts, pool, () -> {
            boolean ends = reading % 2 == 1;
            boolean ofPeer = reading % 4 == 3;
            reading++;
            now += !ends ? 0 : ofPeer ? peerNanos : 100;
            return now;
        });
        return PeerGroups.of(copies, transfer, links).stream()
                .map(group -> Arrays.stream(group).boxed().toList())
                .toList();
    }

    @Test
    void copiesOfTheSameBytesToLinkedGpusAreAGroup() {
        copy(0, BYTES, MemoryKind.CUDA_DEVICE, 2);
        copy(BYTES, BYTES, MemoryKind.CUDA_DEVICE, 0);
        copy(0, BYTES, MemoryKind.CUDA_DEVICE, 1);
        copy(0, BYTES, MemoryKind.CUDA_DEVICE, 0);
        copy(0, BYTES + 1, MemoryKind.CUDA_DEVICE, 1);
        copy(BYTES, BYTES, MemoryKind.CUDA_DEVICE, 1);
        List<Integer> three = List.of(0, 2, 3);
        List<Integer> two = List.of(1, 5);
        assertThat(groups(50)).containsExactly(three, two, three, three, List.of(), two);
    }

    @Test
    void copiesThatAPeerCannotServeAreAlone() {
        copy(0, BYTES - 1, MemoryKind.CUDA_DEVICE, 0);
        copy(0, BYTES - 1, MemoryKind.CUDA_DEVICE, 1);
        copy(0, BYTES, MemoryKind.CUDA_MANAGED, 0);
        copy(0, BYTES, MemoryKind.CUDA_DEVICE, 1);
        copy(0, BYTES, MemoryKind.HOST, 0);
        rows(0);
        rows(1);
        copy(5, BYTES, MemoryKind.CUDA_DEVICE, 1);
        copy(5, BYTES, MemoryKind.CUDA_DEVICE, 1);
        copy(9, BYTES, MemoryKind.CUDA_DEVICE, 1);
        assertThat(groups(50)).isEmpty();
    }

    @Test
    void theHostServesGpusWhoseLinkIsSlow() {
        copy(0, BYTES, MemoryKind.CUDA_DEVICE, 0);
        copy(0, BYTES, MemoryKind.CUDA_DEVICE, 1);
        assertThat(groups(150)).isEmpty();
    }

    /** One kernel copies fragments that are whole parts of the file in memory of one GPU, and no managed memory. */
    @Test
    void oneGpuMayHaveAllFragments() {
        ScatterTransfer transfer = new ScatterTransfer(new TransferRequest(), null);
        assertThat(onlyGpu(transfer, MemoryKind.CUDA_DEVICE)).isEqualTo("0 of 1");
        assertThat(onlyGpu(transfer, MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_POOL)).isEqualTo("0 of 1");
        assertThat(onlyGpu(transfer, MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_MANAGED)).isEqualTo("none of 1");
        assertThat(onlyGpu(transfer, MemoryKind.CUDA_MANAGED, MemoryKind.CUDA_DEVICE)).isEqualTo("none of 1");
        assertThat(onlyGpu(transfer, MemoryKind.CUDA_DEVICE, MemoryKind.HOST)).isEqualTo("none of 1");
        assertThat(onlyGpu(transfer, MemoryKind.HOST)).isEqualTo("none of 0");
        copies.clear();
        copy(0, BYTES, MemoryKind.CUDA_DEVICE, 2);
        copy(BYTES, BYTES, MemoryKind.CUDA_DEVICE, 1);
        copy(2 * BYTES, BYTES, MemoryKind.CUDA_DEVICE, 2);
        describe(transfer);
        assertThat(transfer.gpus()).isEqualTo(2);
        assertThat(transfer.onlyGpu()).isNull();
        assertThat(transfer.gpuOf(0)).isSameAs(transfer.gpuOf(2)).isNotSameAs(transfer.gpuOf(1));
        copies.clear();
        rows(0);
        describe(transfer);
        assertThat(transfer.onlyGpu()).isNull();
        transfer.addSame();
        assertThat(transfer.gpuOf(1)).isSameAs(transfer.gpuOf(0));
    }

    private void describe(ScatterTransfer transfer) {
        transfer.target(copies);
        for (ScatterCopy copy : copies) {
            MemoryRange memory = copy.destination().range();
            if (memory.kind().isCuda()) {
                transfer.addGpu(gpus.of(contexts.primary(memory.device())), memory.kind());
            } else {
                transfer.addHost(memory);
            }
        }
    }

    private String onlyGpu(ScatterTransfer transfer, MemoryKind... kinds) {
        copies.clear();
        for (MemoryKind kind : kinds) {
            copy(copies.size() * BYTES, BYTES, kind, 0);
        }
        describe(transfer);
        PreparedGpu only = transfer.onlyGpu();
        return (only == null ? "none" : only == gpus.of(contexts.primary(0)) ? "0" : "another") + " of "
                + transfer.gpus();
    }

    /** A request that is over holds no memory of its program. */
    @Test
    void endedTransferForgetsItsFragments() {
        ScatterTransfer transfer = new ScatterTransfer(new TransferRequest(), null);
        try (Arena arena = Arena.ofShared()) {
            copies.add(new ScatterCopy(0, 100, MemoryRange.ofSegment(arena.allocate(100)), 0));
            describe(transfer);
            assertThat(transfer.isArenaClosed()).isFalse();
        }
        assertThat(transfer.isArenaClosed()).isTrue();
        transfer.end();
        assertThat(transfer.isArenaClosed()).isFalse();
        copies.clear();
        copy(0, 100, MemoryKind.CUDA_DEVICE, 1);
        describe(transfer);
        assertThat(transfer.gpus()).isEqualTo(1);
        transfer.end();
        assertThat(transfer.gpus()).isZero();
    }
}
