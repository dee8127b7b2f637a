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

    private record Key(long length, List<Long> shape) {
    }

    private record Range(long begin, long end) {
    }

    /**
     * What a record is.
     *
     * @param data range of the member that has the tensor's bytes
     * @param unread ranges that the description does not depend on
     * @param before bytes before {@code data}, with zeros in these ranges
     * @param behind bytes behind it, too
     */
    private record Known(TensorInfo tensor, Range data, List<Range> unread, byte[] before, byte[] behind) {
        static Known of(FileHead record, TensorInfo tensor, Range data, List<Range> unread) {
            return new Known(tensor, data, unread, bytes(record, 0, data.begin, unread),
                    bytes(record, data.end, record.size(), unread));
        }

        boolean isLike(FileHead record) {
            return Arrays.equals(before, bytes(record, 0, data.begin, unread))
                    && Arrays.equals(behind, bytes(record, data.end, record.size(), unread));
        }

        private static byte[] bytes(FileHead record, long begin, long end, List<Range> unread) {
            byte[] bytes = new byte[(int) (end - begin)];
            record.read(begin, bytes.length).get(bytes);
            for (Range range : unread) {
                if (range.begin < end && range.end > begin) {
                    Arrays.fill(bytes, (int) (Math.max(range.begin, begin) - begin),
                            (int) (Math.min(range.end, end) - begin), (byte) 0);
                }
            }
            return bytes;
        }
    }

    private final Map<Key, Known> records = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, Known> eldest) {
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
        Key key = new Key(record.size(), expected);
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
                records.put(key, Known.of(record, tensor, data, unread));
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
