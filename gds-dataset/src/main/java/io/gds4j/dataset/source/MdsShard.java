package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A shard of an MDS data set: the number of samples, where each begins, and the samples. A sample has the lengths of those columns
 * that vary in front, then its columns.
 */
final class MdsShard extends VariableRecords {
    private final List<String> columns;
    /** Bytes of each column; 0 where they vary. */
    private final int[] sizes;
    private final int headBytes;
    private final Optional<Checksum> checksum;

    private MdsShard(
            Path file, List<String> columns, int[] sizes, int headBytes, long[] offsets, Optional<Checksum> checksum) {
        super(file, Optional.empty(), offsets, 0, new long[0]);
        this.columns = columns;
        this.sizes = sizes;
        this.headBytes = headBytes;
        this.checksum = checksum;
    }

    /** Reads where samples begin, and checks that the shard is as its index says. */
    static MdsShard read(
            Path path, long bytes, long samples, List<String> columns, int[] sizes, Optional<Checksum> checksum) {
        try (HeaderFile file = HeaderFile.open(path)) {
            file.checkSize(bytes);
            HeaderScan scan = new HeaderScan(file);
            long found = Integer.toUnsignedLong(scan.at(0, Integer.BYTES, "the number of samples").getInt());
            long most = Math.min(file.size() / Integer.BYTES - 2, Longs.MAX - 1L);
            if (found != samples || samples > most) {
                throw RecordFormatException.malformed(path, 0,
                        "%s samples, allowed in this file: 0 to %s; its index says %s".formatted(found, most, samples));
            }
            long[] offsets = new long[(int) samples + 1];
            long least = Integer.BYTES * (samples + 2);
            for (int i = 0; i <= samples; i++) {
                long at = Integer.BYTES * (i + 1L);
                offsets[i] = Integer.toUnsignedLong(scan.at(at, Integer.BYTES, "the offsets of samples").getInt());
                if (offsets[i] < least || offsets[i] > file.size()) {
                    throw RecordFormatException.malformed(path, at, "a sample begins or ends at %s, allowed: %s to %s"
                            .formatted(offsets[i], least, file.size()));
                }
                least = offsets[i];
            }
            int varying = 0;
            for (int size : sizes) {
                varying += size == 0 ? Integer.BYTES : 0;
            }
            return new MdsShard(path, columns, sizes, varying, offsets, checksum);
        }
    }

    @Override
    public void verifyFiles() {
        checksum.ifPresent(known -> {
            try (HeaderFile file = HeaderFile.open(files().getFirst())) {
                known.check(file);
            }
        });
    }

    @Override
    public List<String> parts() {
        return columns;
    }

    @Override
    public int headBytes() {
        return headBytes;
    }

    @Override
    public long partOffset(long record, String part, ByteBuffer head) {
        int wanted = columns.indexOf(part);
        return wanted < 0 ? -1 : end(record, wanted - 1, head);
    }

    @Override
    public long partLength(long record, String part, ByteBuffer head) {
        int wanted = columns.indexOf(part);
        return wanted < 0 ? -1 : end(record, wanted, head) - end(record, wanted - 1, head);
    }

    /** Returns where a column of a sample ends; the lengths in front are column -1. */
    private long end(long record, int column, ByteBuffer head) {
        long at = headBytes;
        int varying = 0;
        for (int i = 0; i <= column && at <= length(record); i++) {
            if (sizes[i] > 0) {
                at += sizes[i];
            } else {
                at += Integer.toUnsignedLong(head.getInt(varying));
                varying += Integer.BYTES;
            }
        }
        if (at > length(record)) {
            throw RecordFormatException.malformed(files().getFirst(), fileOffset(record),
                    "a sample of %s bytes ends inside its columns".formatted(length(record)));
        }
        return at;
    }
}
