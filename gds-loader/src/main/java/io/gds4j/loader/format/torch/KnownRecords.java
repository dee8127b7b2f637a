package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.zip.ZipArchive;
import io.gds4j.loader.internal.zip.ZipArchive.Member;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Describes records of one tensor. The layers of a model have records that differ in checksums, ids and the bytes of the tensor only;
 * one that equals an earlier record in all other bytes means the same, and is not parsed again. Parsing takes 50 times as long.
 */
final class KnownRecords {
    /** Most bytes before or behind a tensor that are kept. */
    private static final long MAX_AROUND = 16 << 10;
    private static final int MAX_KNOWN = 256;

    private record Range(long begin, long end) {
    }

    /**
     * Bytes before or behind a tensor, with zeros in the ranges that the description does not depend on.
     *
     * @param begin offset in the record
     * @param unread these ranges, in {@code bytes}
     */
    private record Around(long begin, byte[] bytes, List<Range> unread) {
        static Around of(FileHead record, long begin, long end, List<Range> unread) {
            List<Range> here = unread.stream().filter(range -> range.begin < end && range.end > begin)
                    .map(range -> new Range(Math.max(range.begin, begin) - begin, Math.min(range.end, end) - begin))
                    .toList();
            return new Around(begin, read(record, begin, (int) (end - begin), here), here);
        }

        boolean isLike(FileHead record) {
            return Arrays.equals(bytes, read(record, begin, bytes.length, unread));
        }

        private static byte[] read(FileHead record, long begin, int length, List<Range> unread) {
            byte[] bytes = new byte[length];
            record.read(begin, length).get(bytes);
            for (Range range : unread) {
                Arrays.fill(bytes, (int) range.begin, (int) range.end, (byte) 0);
            }
            return bytes;
        }
    }

    /** What a record is. */
    private record Known(TensorInfo tensor, Around before, Around behind) {
        boolean isLike(FileHead record) {
            return before.isLike(record) && behind.isLike(record);
        }
    }

    /** By their shape and, behind it, their length. */
    private final Map<List<Long>, Known> records = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Long>, Known> eldest) {
            return size() > MAX_KNOWN;
        }
    };

    /**
     * Returns the tensor of a record; its offset counts from the record's first byte.
     *
     * @param expected shape by which like records are found
     * @throws CheckpointException if the record breaks a rule, or is anything else than one tensor
     */
    TensorInfo read(FileHead record, Path file, List<Long> expected) {
        List<Long> key = new ArrayList<>(expected);
        key.add(record.size());
        Known known = records.get(key);
        if (known != null && known.isLike(record)) {
            return known.tensor;
        }
        ZipArchive archive = ZipArchive.read(record, file);
        List<TensorInfo> all = TorchFormat.describe(record, file, archive).tensors();
        if (all.size() != 1 || !all.getFirst().name().equals(StateDict.LONE_TENSOR)) {
            throw CheckpointException.of(TorchRules.UNSUPPORTED_TENSOR, file, 0,
                    "it holds %s tensors without a class of their own, and not one".formatted(
                            all.stream().filter(one -> one.name().equals(StateDict.LONE_TENSOR)).count()));
        }
        TensorInfo tensor = all.getFirst();
        data(archive, tensor).ifPresent(data -> {
            if (data.begin <= MAX_AROUND && record.size() - data.end <= MAX_AROUND) {
                List<Range> unread = new ArrayList<>();
                archive.forEachUnread(TorchFormat::reads, (begin, end) -> unread.add(new Range(begin, end)));
                records.put(key, new Known(tensor, Around.of(record, 0, data.begin, unread),
                        Around.of(record, data.end, record.size(), unread)));
            }
        });
        return tensor;
    }

    private static Optional<Range> data(ZipArchive archive, TensorInfo tensor) {
        for (Member member : archive.members()) {
            if (tensor.length() > 0 && tensor.fileOffset() >= member.dataOffset()
                    && tensor.fileEnd() <= member.dataEnd() && !TorchFormat.reads(member)) {
                return Optional.of(new Range(member.dataOffset(), member.dataEnd()));
            }
        }
        return Optional.empty();
    }
}
