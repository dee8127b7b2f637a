package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Layout.Direct;
import io.gds4j.loader.Layout.Extent;
import io.gds4j.loader.Layout.Gather;
import io.gds4j.loader.Layout.Placed;
import io.gds4j.loader.Layout.Work;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.Workers;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Loads whole tensors for one destination: large ones by reads straight to their place, small ones through host memory. */
final class TensorLoad extends LoadJob<LoadedTensors> {
    private final LoadPlan plan;
    private final Layout layout;
    private final LoadListener listener;

    TensorLoad(LoadPlan plan, Layout layout, CuFileDriver driver, LoadListener listener) {
        super(
                plan.checkpoint().path(),
                plan.checkpoint().headerNanos(),
                layout.files(),
                layout.blocks(),
                layout.works().size(),
                plan.options().io().inFlight(layout, Runtime.getRuntime().availableProcessors()),
                plan.options(),
                driver,
                new ProgressCount(layout.files(), layout.works(), tensorsOf(layout), layout.aliases(), listener));
        this.plan = plan;
        this.layout = layout;
        this.listener = listener;
    }

    private static List<TensorInfo> tensorsOf(Layout layout) {
        List<TensorInfo> tensors = new ArrayList<>(layout.tensors().size());
        for (Placed placed : layout.tensors()) {
            tensors.add(placed.tensor());
        }
        return tensors;
    }

    @Override
    void started() {
        listener.started(plan);
    }

    @Override
    int tensors() {
        return layout.tensors().size();
    }

    @Override
    long bytes() {
        return layout.tensorBytes();
    }

    @Override
    LoadedTensors result(LoadReport report) {
        Map<String, LoadedTensors.Held> held = LinkedHashMap.newLinkedHashMap(tensors());
        for (Placed placed : layout.tensors()) {
            DestinationBlock block = blocks.get(placed.block());
            MemoryRange range = block.range(placed.offset(), placed.tensor().length());
            LoadedTensor tensor = new LoadedTensor(placed.tensor(), range, driver.allocator());
            held.put(placed.tensor().name(), new LoadedTensors.Held(tensor, block));
        }
        return new LoadedTensors(held, blocks, driver.allocator(), report, versions());
    }

    @Override
    public void discard(LoadedTensors result) {
        result.close();
    }

    @Override
    Workers.Worker worker() {
        return new Reader();
    }

    /** Does the reads of one thread; reuses its staging memory from one gather to the next. */
    private final class Reader implements Workers.Worker {
        private @Nullable StagingMemory staging;

        @Override
        public void work(int number) {
            Work work = layout.works().get(number);
            if (work instanceof Direct direct) {
                DestinationBlock block = blocks.get(direct.block());
                long bufferOffset = block.origin() + direct.blockOffset();
                read(direct.file(), block.memory(), direct.length(), direct.fileOffset(), bufferOffset);
            } else if (work instanceof Gather gather) {
                StagingMemory memory = staging();
                for (Extent extent : gather.extents()) {
                    read(gather.file(), memory.files(), extent.length(), extent.fileOffset(), extent.stagingOffset());
                }
                memory.place(layout, gather, blocks);
            }
            progress.done(work);
        }

        private StagingMemory staging() {
            StagingMemory known = staging;
            if (known == null) {
                long bytes = layout.gatherBytes();
                known = new StagingMemory(driver.allocator(), bytes);
                staging = known;
                stagingBytes.addAndGet(2 * bytes);
            }
            return known;
        }

        @Override
        public void close() {
            if (staging != null) {
                staging.close();
            }
        }
    }
}
