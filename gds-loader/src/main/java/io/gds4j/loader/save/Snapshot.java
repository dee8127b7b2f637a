package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.save.SnapshotBlocks.Pool;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Copies of the tensors of a plan. A copy lies at its file offset modulo a page, so that direct I/O writes it without another copy.
 */
final class Snapshot implements AutoCloseable {
    private static final int COPIES_IN_FLIGHT = 2;
    private static final long COPY = 256L << 20;

    private record Place(int file, int tensor, Pool pool, long offset) {
    }

    private record Copy(MemoryRange from, MemoryRange to) {
    }

    private final List<List<SaveTensor.Source>> sources = new ArrayList<>();
    private final List<Copy> copies = new ArrayList<>();

    private @Nullable SnapshotBlocks memory;
    private boolean ownsMemory;

    private Snapshot() {
    }

    /** Returns where the bytes of the tensors are without a snapshot. */
    static Snapshot none(SaveContent plan) {
        Snapshot none = new Snapshot();
        for (SaveFile file : plan.files()) {
            none.sources.add(new ArrayList<>(file.tensors().stream().map(SaveTensor::source).toList()));
        }
        return none;
    }

    /** Prepares copies of all tensors in memory, in the plan's snapshot memory if it has one. */
    static Snapshot prepare(SaveContent plan, CuFileDriver driver) {
        Snapshot snapshot = none(plan);
        List<Place> places = places(plan, driver.allocator());
        Map<Pool, Long> sizes = sizes(plan, places);
        Optional<SnapshotBlocks> given = plan.snapshotBlocks();
        SnapshotBlocks memory = given.orElseGet(() -> SnapshotBlocks.allocate(driver.allocator(), sizes));
        snapshot.ownsMemory = given.isEmpty();
        memory.use(sizes);
        snapshot.memory = memory;
        for (Place place : places) {
            SaveTensor tensor = plan.files().get(place.file).tensors().get(place.tensor);
            MemoryRange to = memory.range(place.pool).slice(place.offset, tensor.bytes());
            if (tensor.source() instanceof SaveTensor.InMemory original) {
                snapshot.cut(original.memory().range(), to);
            }
            snapshot.sources.get(place.file).set(place.tensor, new SaveTensor.InMemory(to, Optional.empty()));
        }
        return snapshot;
    }

    /** Returns the bytes that a snapshot of the plan takes of each kind of memory. */
    static Map<Pool, Long> sizes(SaveContent plan, MemoryAllocator allocator) {
        return sizes(plan, places(plan, allocator));
    }

    private static Map<Pool, Long> sizes(SaveContent plan, List<Place> places) {
        Map<Pool, Long> sizes = new LinkedHashMap<>();
        for (Place place : places) {
            SaveTensor tensor = plan.files().get(place.file).tensors().get(place.tensor);
            sizes.put(place.pool, Math.addExact(place.offset, tensor.bytes()));
        }
        return sizes;
    }

    private static List<Place> places(SaveContent plan, MemoryAllocator allocator) {
        List<Place> places = new ArrayList<>();
        Map<Pool, Long> ends = new HashMap<>();
        for (int f = 0; f < plan.files().size(); f++) {
            SaveFile file = plan.files().get(f);
            for (int t = 0; t < file.tensors().size(); t++) {
                SaveTensor tensor = file.tensors().get(t);
                if (tensor.bytes() > 0 && tensor.source() instanceof SaveTensor.InMemory memory) {
                    Pool pool = pool(plan.options().consistency(), memory.memory().range(), allocator);
                    long end = ends.getOrDefault(pool, 0L);
                    long offset = Math.addExact(end, Pages.offset(file.begin(t) - end));
                    places.add(new Place(f, t, pool, offset));
                    ends.put(pool, Math.addExact(offset, tensor.bytes()));
                }
            }
        }
        return places;
    }

    private static Pool pool(Consistency mode, MemoryRange memory, MemoryAllocator allocator) {
        if (mode == Consistency.DEVICE_SNAPSHOT && memory.kind().isCuda()) {
            return new Pool(MemoryKind.CUDA_DEVICE, memory.device());
        }
        boolean pinned = memory.kind().isCuda() && allocator.supports(MemoryKind.HOST_PINNED);
        return new Pool(pinned ? MemoryKind.HOST_PINNED : MemoryKind.HOST, MemoryRange.NO_DEVICE);
    }

    private void cut(MemoryRange from, MemoryRange to) {
        for (long at = 0; at < from.length(); at += COPY) {
            long length = Math.min(COPY, from.length() - at);
            copies.add(new Copy(from.slice(at, length), to.slice(at, length)));
        }
    }

    /** Returns the threads that copy the tensors. */
    Workers copier(MemoryAllocator allocator) {
        return new Workers("gds-snapshot-", COPIES_IN_FLIGHT, copies.size(), () -> number -> {
            Copy copy = copies.get(number);
            allocator.copy(copy.from, copy.to);
        });
    }

    /** Returns where the bytes of a tensor are that is to be written. */
    SaveTensor.Source source(int file, int tensor) {
        return sources.get(file).get(tensor);
    }

    /** Ends the use of the memory, and frees it unless it belongs to the program. */
    @Override
    public void close() {
        SnapshotBlocks used = memory;
        memory = null;
        if (used != null) {
            used.endUse();
            if (ownsMemory) {
                used.close();
            }
        }
    }
}
