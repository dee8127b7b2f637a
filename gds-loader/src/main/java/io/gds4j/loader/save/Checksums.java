package io.gds4j.loader.save;

import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;

/** The CRC32C of the tensors of a plan, from those of their pieces. Does nothing unless the options ask for checksums. */
final class Checksums {
    /** Number of the pieces that hold headers. */
    static final int HEAD = -1;

    private record Part(int tensor, int crc, long length) {
    }

    private final SaveContent plan;
    private final MemoryAllocator allocator;
    private final boolean wanted;
    private List<List<Part>> partsOfPieces = List.of();

    Checksums(SaveContent plan, MemoryAllocator allocator) {
        this.plan = plan;
        this.allocator = allocator;
        this.wanted = plan.options().checksums();
    }

    /** Forgets all pieces and expects so many new ones. */
    void expect(int pieces) {
        List<List<Part>> parts = new ArrayList<>(pieces);
        for (int i = 0; i < pieces; i++) {
            parts.add(new ArrayList<>(1));
        }
        partsOfPieces = parts;
    }

    /** Returns true if the bytes of the memory can be read where they are, or need not be read. */
    boolean canRead(IoMemory memory) {
        return !wanted || memory.range().segment().isPresent();
    }

    Calculator calculator() {
        return new Calculator();
    }

    /** Computes the checksums of one thread; the parts of one piece come in the order of the file. */
    final class Calculator {
        private final CRC32C crc = new CRC32C();
        private final List<Part> head = new ArrayList<>();
        private byte[] copy = {};

        /**
         * Adds a part of a tensor, of {@link WriteRange#BUFFER} bytes at most.
         *
         * @param piece number of the piece that contains it, or {@link #HEAD}
         */
        void add(int piece, int tensor, MemoryRange memory) {
            if (!wanted) {
                return;
            }
            crc.reset();
            Optional<MemorySegment> segment = memory.segment();
            if (segment.isPresent()) {
                crc.update(segment.get().asByteBuffer());
            } else {
                updateByCopy(memory);
            }
            List<Part> parts = piece == HEAD ? head : partsOfPieces.get(piece);
            parts.add(new Part(tensor, (int) crc.getValue(), memory.length()));
        }

        private void updateByCopy(MemoryRange memory) {
            if (copy.length == 0) {
                copy = new byte[(int) WriteRange.BUFFER];
            }
            int length = (int) memory.length();
            allocator.copyToHost(memory, MemorySegment.ofArray(copy).asSlice(0, length));
            crc.update(copy, 0, length);
        }

        /** Returns the checksums of the tensors of a file, after all its pieces and the head were added. */
        int[] ofTensors(int file, List<WriteRange> pieces) {
            int[] crcs = new int[plan.files().get(file).tensors().size()];
            head.forEach(part -> join(crcs, part));
            head.clear();
            for (int i = 0; wanted && i < pieces.size(); i++) {
                if (pieces.get(i).file() == file) {
                    partsOfPieces.get(i).forEach(part -> join(crcs, part));
                }
            }
            return crcs;
        }

        private static void join(int[] crcs, Part part) {
            crcs[part.tensor] = Crc32c.combine(crcs[part.tensor], part.crc, part.length);
        }
    }
}
