package io.gds4j.loader.internal.load;

import io.gds4j.memory.MemoryAllocator;
import io.gds4j.source.FileVersion;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Tensors in place, of all ranks.
 *
 * @param layout where they are
 * @param blocks their memory, in the order of the layout
 * @param versions versions of the files when their headers were read
 * @param allocator copies them to host memory; null if each has a segment
 */
public record PlacedTensors(
        Layout layout,
        List<DestinationBlock> blocks,
        Map<Path, FileVersion> versions,
        @Nullable MemoryAllocator allocator) {
}
