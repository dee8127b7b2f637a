package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.torch.DistcpMetadata.Described;
import io.gds4j.loader.format.torch.DistcpMetadata.Part;
import io.gds4j.loader.format.torch.DistcpMetadata.Record;
import io.gds4j.loader.internal.text.Tiling;
import io.gds4j.source.FileVersion;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Finds the bytes of tensors in the records of a distributed checkpoint. Each record is a file of torch.save with one tensor. */
final class DistcpRecords {
    private static final int MAX_ORDERS = 8;

    /** A record and the tensor of which it has a part. */
    private record Wanted(Described tensor, Part part) {
    }

    /** A part whose bytes are known, and the order in which they lie. */
    private record Found(TensorBox box, DimensionOrder order) {
    }

    private final Path metadata;
    private final Map<Path, FileVersion> versions = new LinkedHashMap<>();
    private final KnownRecords known = new KnownRecords();
    private final Map<Part, Found> found = new IdentityHashMap<>();
    private final List<TensorInfo> tensors = new ArrayList<>();

    private DistcpRecords(Path metadata) {
        this.metadata = metadata;
    }

    /**
     * Reads the headers of all records, file by file in their order.
     *
     * @throws CheckpointException if a record is no tensor, or not the one that the metadata describes
     */
    static DistcpRecords read(Path path, DistcpMetadata metadata) {
        DistcpRecords records = new DistcpRecords(path);
        Map<Record, Wanted> wanted = new HashMap<>();
        for (Described tensor : metadata.tensors()) {
            for (Part part : tensor.parts()) {
                Wanted other = wanted.putIfAbsent(part.record(), new Wanted(tensor, part));
                if (other != null) {
                    throw CheckpointException.of(TorchRules.DISTRIBUTED, path, -1, tensor.name(),
                            "tensors %s and %s have one record".formatted(
                                    CheckpointException.quote(other.tensor.name()),
                                    CheckpointException.quote(tensor.name())));
                }
            }
        }
        Map<Path, List<Record>> byFile = new TreeMap<>();
        metadata.records()
                .forEach(record -> byFile.computeIfAbsent(record.file(), file -> new ArrayList<>()).add(record));
        byFile.forEach((file, own) -> records.file(file, own, wanted));
        for (Described tensor : metadata.tensors()) {
            records.tensors.add(records.tensor(tensor));
        }
        return records;
    }

    /** Returns the versions of the files that the metadata names. */
    Map<Path, FileVersion> versions() {
        return Collections.unmodifiableMap(versions);
    }

    /** Returns the tensors. One without bytes belongs to the metadata. */
    List<TensorInfo> tensors() {
        return tensors;
    }

    private void file(Path file, List<Record> own, Map<Record, Wanted> wanted) {
        own.sort(Comparator.comparingLong(Record::offset));
        try (FormatInput in = open(file)) {
            versions.put(file, in.version());
            RecordBlocks blocks = new RecordBlocks(in);
            long end = 0;
            for (Record record : own) {
                Wanted of = wanted.get(record);
                if (record.offset() < end || record.end() > in.size()) {
                    throw CheckpointException.of(TorchRules.DISTRIBUTED, file, record.offset(),
                            "a record of %s bytes at %s %s; the file is of another save, or cut".formatted(
                                    record.length(), record.offset(),
                                    record.offset() < end ? "overlaps the one before it, which ends at " + end
                                            : "reaches past the file of %s bytes".formatted(in.size())));
                }
                end = record.end();
                if (of != null) {
                    found.put(of.part, found(file, blocks.record(record.offset(), record.length()), of));
                }
            }
            if (end != in.size()) {
                throw CheckpointException.of(TorchRules.DISTRIBUTED, file, end,
                        "the records that the metadata names end at %s of %s bytes; the file is of another save"
                                .formatted(end, in.size()));
            }
        }
    }

    private FormatInput open(Path file) {
        try {
            return FormatInput.open(file);
        } catch (CheckpointException e) {
            throw e.rule().equals(CheckpointRule.FILE_NOT_FOUND)
                    ? CheckpointException.of(CheckpointRule.MISSING_SHARD, metadata,
                            "the metadata names %s, which does not exist"
                                    .formatted(CheckpointException.quote(String.valueOf(file.getFileName()))))
                    : e;
        }
    }

    /** Reads the header of a record. */
    private Found found(Path file, FileHead record, Wanted of) {
        Record place = of.part.record();
        String name = of.tensor.name();
        TensorInfo tensor;
        try {
            tensor = known.read(record, file, of.part.shape());
        } catch (CheckpointException e) {
            throw CheckpointException.of(e.rule(), file, place.offset() + e.fileOffset().orElse(0), name,
                    "the record of tensor %s at %s: %s".formatted(
                            CheckpointException.quote(name), place.offset(), e.detail()));
        }
        List<Long> begin = inElements(of.tensor, of.part.begin());
        List<Long> shape = inElements(of.tensor, of.part.shape());
        if (!tensor.dtype().equals(dtype(of.tensor)) || !tensor.shape().equals(shape)) {
            throw CheckpointException.of(TorchRules.DISTRIBUTED, file, place.offset(), name,
                    "the record of tensor %s at %s is %s of %s, and the metadata says %s of %s; the file is of another save"
                            .formatted(CheckpointException.quote(name), begin, tensor.dtype(), tensor.shape(),
                                    dtype(of.tensor), shape));
        }
        return new Found(TensorBox.of(file, place.offset() + tensor.fileOffset(), begin, shape), tensor.order());
    }

    private TensorInfo tensor(Described of) {
        DType dtype = dtype(of);
        List<Long> shape = inElements(of, of.shape());
        // loops: a stream for each tensor takes a quarter of the time of a cold load's headers
        List<Found> parts = new ArrayList<>(of.parts().size());
        List<TensorBox> boxes = new ArrayList<>(of.parts().size());
        List<Tiling.Box> places = new ArrayList<>(of.parts().size());
        for (Part part : of.parts()) {
            Found place = found.get(part);
            if (place == null) {
                throw new AssertionError("a part without a record");
            }
            parts.add(place);
            boxes.add(place.box);
            places.add(new Tiling.Box(place.box.begin(), place.box.shape()));
        }
        if (shape.contains(0L) && parts.isEmpty()) {
            return new TensorInfo(of.name(), dtype, shape, metadata, 0, 0);
        }
        Optional<String> fault = Tiling.fault(shape, places);
        if (fault.isPresent() || dtype.bytes(shape).isEmpty()) {
            throw CheckpointException.of(TorchRules.DISTRIBUTED, metadata, -1, of.name(), "tensor %s of shape %s %s"
                    .formatted(CheckpointException.quote(of.name()), shape, fault.orElse("does not fit 64 bits")));
        }
        return TensorInfo.ofBoxes(of.name(), dtype, shape, order(of, shape, parts), boxes);
    }

    /** Returns the order in which all parts of a tensor lie. One in which only dimensions of one element move is any order. */
    private DimensionOrder order(Described of, List<Long> shape, List<Found> parts) {
        List<DimensionOrder> candidates = new ArrayList<>();
        for (Found part : parts) {
            if (candidates.size() < MAX_ORDERS && !candidates.contains(part.order)) {
                candidates.add(part.order);
            }
        }
        for (DimensionOrder order : candidates) {
            if (candidates.size() == 1 || parts.stream().allMatch(part -> moved(part.order, part.box.shape()).equals(
                    moved(order, part.box.shape())))) {
                return order;
            }
        }
        throw CheckpointException.of(TorchRules.TENSOR_STRIDES, metadata, -1, of.name(),
                "the parts of tensor %s of shape %s lie in different orders; save tensor.contiguous()"
                        .formatted(CheckpointException.quote(of.name()), shape));
    }

    private static List<Integer> moved(DimensionOrder order, List<Long> shape) {
        return order.dimensions().stream().filter(i -> shape.get(i) != 1).toList();
    }

    private static DType dtype(Described of) {
        return TorchTypes.isPairOfF4(of.dtype()) && !of.shape().isEmpty() ? DType.F4 : of.dtype();
    }

    /** Returns indices of elements: the last dimension of F4 counts bytes of two. */
    private static List<Long> inElements(Described of, List<Long> numbers) {
        if (!TorchTypes.isPairOfF4(of.dtype()) || numbers.isEmpty()) {
            return numbers;
        }
        List<Long> elements = new ArrayList<>(numbers);
        elements.set(numbers.size() - 1, numbers.getLast() * 2);
        return elements;
    }
}
