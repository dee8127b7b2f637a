package io.gds4j.loader.internal.load;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.CallSite;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.OpenFiles;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.loader.internal.load.Layout.BlockSpec;
import io.gds4j.loader.internal.load.Layout.Placed;
import io.gds4j.loader.internal.load.LoadJob.PlacedTensors;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Maps the chosen part of each file for reading, by java.nio alone: no driver and no native access is needed. A mapping stays valid
 * without its descriptor, so one file is open at a time.
 */
public final class MappedFiles {
    private static final String FUNCTION = "LoadPlan.map";

    private final Layout plan;
    private final List<BlockSpec> specs = new ArrayList<>();
    private final List<DestinationBlock> blocks = new ArrayList<>();
    private final Map<Path, Extent> extents = new HashMap<>();

    /** The part of a file from its first to its last byte of a tensor; without any, it is empty. */
    private static final class Extent {
        private final int block;
        private long begin;
        private long end;

        Extent(int block) {
            this.block = block;
        }

        /** A tensor without elements may name any place, also one outside of the file. */
        void add(TensorInfo tensor) {
            if (tensor.length() > 0) {
                begin = end == 0 ? tensor.fileOffset() : Math.min(begin, tensor.fileOffset());
                end = Math.max(end, tensor.fileEnd());
            }
        }

        long length() {
            return end - begin;
        }

        Placed place(Placed whole) {
            TensorInfo tensor = whole.slice().tensor();
            long offset = tensor.length() == 0 ? 0 : tensor.fileOffset() - begin;
            return new Placed(whole.slice(), whole.tensor(), block, offset);
        }
    }

    private MappedFiles(Layout plan) {
        this.plan = plan;
    }

    /**
     * Maps all files, or none.
     *
     * @param plan layout of whole tensors
     * @throws CheckpointException FILE_CHANGED if a file is not the one whose header was read
     */
    public static PlacedTensors map(Layout plan) {
        MappedFiles files = new MappedFiles(plan);
        return Undo.ifFails(
                () -> Closing.all(files.blocks, DestinationBlock::release), () -> CallSite.ofCaller().of(files::map));
    }

    private PlacedTensors map() {
        for (TensorInfo tensor : plan.tensors()) {
            if (!tensor.isInOnePlace()) {
                throw CuFileException.of(CuFileError.IO_NOT_SUPPORTED, FUNCTION, tensor.file(),
                        "tensor %s lies in %s places; load gathers them".formatted(
                                CheckpointException.quote(tensor.name()), tensor.boxes().size()));
            }
        }
        for (CheckpointFile file : plan.files()) {
            extents.put(file.path(), new Extent(extents.size()));
        }
        plan.tensors().forEach(tensor -> extent(tensor).add(tensor));
        for (CheckpointFile file : plan.files()) {
            Extent extent = extents.get(file.path());
            specs.add(new BlockSpec(0, extent.length(), 1, MemoryKind.HOST, MemoryRange.NO_DEVICE, null));
            blocks.add(map(file, extent));
        }
        List<Placed> slices = plan.slices().stream().map(whole -> extent(whole.slice().tensor()).place(whole)).toList();
        Layout mapped = new Layout(
                plan.files(), specs, plan.tensors(), slices, List.of(), plan.aliases(), plan.names());
        return new PlacedTensors(mapped, blocks, DataFiles.versions(plan.files()), null);
    }

    private Extent extent(TensorInfo tensor) {
        return extents.get(tensor.file());
    }

    private static DestinationBlock map(CheckpointFile file, Extent extent) {
        Path path = file.path();
        if (path.getFileSystem() != FileSystems.getDefault()) {
            throw CuFileException.of(
                    CuFileError.IO_NOT_SUPPORTED, FUNCTION, path,
                    "only files of this machine are mapped; load reads others");
        }
        try (OpenedFile opened = OpenedFile.open(path)) {
            OpenFiles.check(path, file.version(), opened.version());
            Arena arena = Arena.ofShared();
            return Undo.ifFails(arena::close, () -> {
                MemorySegment memory = map(file, extent, opened, arena);
                // what was cut before is refused; what is cut later faults at its first use
                OpenFiles.check(path, file.version(), opened.version());
                return DestinationBlock.of(MemoryAllocation.of(
                        MemoryRange.ofSegment(memory), () -> Uninterruptibly.close(arena)));
            });
        } catch (IOException e) {
            throw OpenFiles.unopened(path, CheckpointException.of(path, e));
        }
    }

    private static MemorySegment map(CheckpointFile file, Extent extent, OpenedFile opened, Arena arena)
            throws IOException {
        if (extent.length() == 0) {
            return arena.allocate(1).asSlice(0, 0).asReadOnly(); // a mapping without bytes has no address
        }
        try {
            return opened.channel().map(FileChannel.MapMode.READ_ONLY, extent.begin, extent.length(), arena);
        } catch (IOException e) {
            OpenFiles.check(file.path(), file.version(), opened.version());
            if (e.getCause() instanceof OutOfMemoryError) {
                throw CuFileException.of(CuFileError.NOMEM_ERROR, FUNCTION, file.path(),
                        "the system has no room for a mapping of %s bytes (vm.max_map_count, ulimit -v)"
                                .formatted(extent.length()));
            }
            throw e;
        }
    }
}
