package io.gds4j.engine.staging;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The choice between copies from the host and from another GPU. */
class PeerLinksTest {
    private final FakeCuda cuda = new FakeCuda(2, 64 << 20);
    private final CudaContexts contexts = cuda.available().cudaContexts().orElseThrow();
    private final BouncePool pool =
            new BouncePool(FfmPosix.instance(), CuFileConfig.defaults());
    private final PreparedGpus gpus = new PreparedGpus(contexts, pool);

    @AfterEach
    void nothingIsLeft() {
        assertThat(pool.bytesInUse()).isZero();
        pool.close();
        assertThat(cuda.violations()).isEmpty();
    }

    private PreparedGpu context(int device) {
        return gpus.of(contexts.primary(device));
    }

    /** @param durations of copies from the host and from the peer, in turns; the last two again and again */
    private boolean isFaster(long... durations) {
        List<Long> times = new ArrayList<>();
        long now = 0;
        for (int i = 0; i < 8; i++) {
            times.add(now);
            now += durations[i < durations.length ? i : durations.length - 2 + i % 2];
            times.add(now);
        }
        Iterator<Long> clock = times.iterator();
        PeerLinks links = new PeerLinks(contexts, pool, clock::next);
        boolean answer = links.isFaster(context(0), 0, context(1), 1);
        assertThat(links.isFaster(context(0), 0, context(1), 1)).as("asked once").isEqualTo(answer);
        return answer;
    }

    @Test
    void fasterWayIsChosen() {
        assertThat(isFaster(100, 50)).isTrue();
        assertThat(isFaster(100, 150)).isFalse();
    }

    @Test
    void disturbedCopiesDoNotCount() {
        assertThat(isFaster(100, 150, 100, 50)).as("GPUs that are prepared meanwhile slow a copy down").isTrue();
        assertThat(isFaster(300, 150, 100, 150)).isFalse();
    }

    @Test
    void hostServesGpusThatCannotReachEachOther() {
        cuda.failAlways(CudaFunction.CTX_ENABLE_PEER_ACCESS, FakeCuda.ERROR_NOT_SUPPORTED);
        assertThat(isFaster(100, 50)).isFalse();
    }
}
