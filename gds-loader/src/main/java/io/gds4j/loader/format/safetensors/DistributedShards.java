package io.gds4j.loader.format.safetensors;

import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import io.gds4j.loader.internal.text.Tiling;
import io.gds4j.loader.internal.text.Tiling.Box;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Checkpoints of {@code torch.distributed.checkpoint} in safetensors form. Each rank's file has slices of tensors, and the
 * metadata entry {@code DCP_SHARDING_INFO} says where each slice begins.
 *
 * <p>
 * A slice of a tensor in several files gets a name with its range, such as {@code w[0:2,0:4]}, and metadata has the whole shape
 * under {@code w.global_shape}. A tensor that is whole in one file keeps its name.
 */
final class DistributedShards {
    /** Slices that do not describe one complete tensor. */
    static final CheckpointRule RULE = new CheckpointRule("DistributedShards", "broken distributed checkpoint");
    private static final String KEY = SafetensorsText.SHARDING;
    private static final String VERSION_KEY = "DCP_VERSION";
    private static final Collector<CharSequence, ?, String> RANGES = Collectors.joining(",", "[", "]");
    /** Name of a rank's file; ranks count from 1 here. */
    private static final String NAME = "shard-(\\d{5})-.*";
    private static final int JSON_START = 8;

    /** A part of a tensor, in a file. */
    private record Slice(int file, TensorInfo tensor, List<Long> begin) {
        long end(int dimension) {
            return begin.get(dimension) + tensor.shape().get(dimension);
        }
    }

    private final List<CheckpointFile> files;
    private final List<Integer> absent;
    private final Map<String, List<Slice>> slices = new LinkedHashMap<>();

    private DistributedShards(List<CheckpointFile> files) {
        this.files = files;
        this.absent = absent();
    }

    /** Returns whether a metadata key tells what is in each rank's file. */
    static boolean describesFiles(String key) {
        return key.equals(KEY) || key.equals(VERSION_KEY);
    }

    /** Returns the files with names of slices if they are a distributed checkpoint, else as they are. */
    static List<CheckpointFile> combine(List<CheckpointFile> files) {
        // no stream: a class archive lacks its lambda, which costs 2 ms of a first load
        for (CheckpointFile file : files) {
            if (file.metadata().containsKey(KEY)) {
                return new DistributedShards(files).named();
            }
        }
        return files;
    }

    /**
     * Returns the ranks below the last one that have no file. PyTorch writes none for a rank whose slices are all copies of those of
     * lower ranks, so that these may be complete without it. The number of all ranks is in no file.
     */
    private List<Integer> absent() {
        Pattern pattern = Pattern.compile(NAME, Pattern.DOTALL);
        BitSet ranks = new BitSet();
        for (CheckpointFile file : files) {
            Matcher name = pattern.matcher(String.valueOf(file.path().getFileName()));
            if (!name.matches()) {
                return List.of();
            }
            ranks.set(Integer.parseInt(name.group(1)));
        }
        return IntStream.range(1, ranks.length()).filter(rank -> !ranks.get(rank)).mapToObj(rank -> rank - 1).toList();
    }

    private static String listed(List<Integer> ranks) {
        return (ranks.size() == 1 ? "rank " : "ranks ")
                + InertText.list(ranks.stream().map(String::valueOf).toList());
    }

    private List<CheckpointFile> named() {
        for (int i = 0; i < files.size(); i++) {
            CheckpointFile file = files.get(i);
            Map<String, List<Long>> offsets = offsets(file);
            for (TensorInfo tensor : file.tensors()) {
                slices.computeIfAbsent(tensor.name(), name -> new ArrayList<>())
                        .add(new Slice(i, tensor, begin(file, tensor, offsets.get(tensor.name()))));
            }
        }
        List<List<TensorInfo>> tensors = new ArrayList<>();
        files.forEach(file -> tensors.add(new ArrayList<>()));
        Map<String, String> shapes = new LinkedHashMap<>();
        slices.forEach((name, all) -> {
            List<Slice> parts = withElements(all);
            List<Long> shape = globalShape(name, parts, all);
            boolean whole = parts.size() == 1;
            if (!whole) {
                shapes.put(name + ".global_shape", shape.toString());
            }
            for (Slice part : parts) {
                tensors.get(part.file).add(whole ? named(part, name, shape) : renamed(part));
            }
        });
        List<String> warnings = new ArrayList<>(files.getFirst().warnings());
        if (!absent.isEmpty()) {
            // last: messages about slices name the tensor
            if (absent.getFirst() == 0) {
                throw broken(files.getFirst(), null, "the file of %s is missing; ranks that others copy are higher ones"
                        .formatted(listed(absent)));
            }
            warnings.add(("there is no file of %s: the slices of each tensor are complete, "
                    + "but a tensor that only such a file had would be missing").formatted(listed(absent)));
        }
        List<CheckpointFile> named = new ArrayList<>(files.size());
        for (int i = 0; i < files.size(); i++) {
            CheckpointFile file = files.get(i);
            named.add(file.with(tensors.get(i), file.typedMetadata()));
        }
        CheckpointFile first = named.getFirst();
        named.set(0, CheckpointFile.of(
                first.path(), first.version(), first.dataOffset(), first.tensors(),
                Metadata.merged(List.of(first.typedMetadata(), Metadata.ofStrings(shapes))), warnings));
        return named;
    }

    /** Returns the slices with elements: ranks beyond the rows of a tensor save empty ones. Returns the first one of an empty tensor. */
    private static List<Slice> withElements(List<Slice> parts) {
        List<Slice> filled = parts.stream().filter(part -> part.tensor.length() > 0).toList();
        return filled.isEmpty() ? List.of(parts.getFirst()) : filled;
    }

    private static TensorInfo renamed(Slice slice) {
        TensorInfo tensor = slice.tensor;
        List<String> ranges = new ArrayList<>();
        for (int i = 0; i < tensor.shape().size(); i++) {
            ranges.add(slice.begin.get(i) + ":" + slice.end(i));
        }
        return named(slice, tensor.name() + ranges.stream().collect(RANGES), tensor.shape());
    }

    private static TensorInfo named(Slice slice, String name, List<Long> shape) {
        TensorInfo tensor = slice.tensor;
        return new TensorInfo(
                name,
                tensor.dtype(),
                shape,
                tensor.file(),
                tensor.fileOffset(),
                tensor.length(),
                tensor.order());
    }

    private static List<Long> begin(CheckpointFile file, TensorInfo tensor, @Nullable List<Long> saved) {
        if (saved == null || saved.size() != tensor.shape().size()) {
            throw broken(
                    file,
                    tensor.name(),
                    "%s has no saved_offsets for the %s dimensions of tensor %s"
                            .formatted(KEY, tensor.shape().size(), CheckpointException.quote(tensor.name())));
        }
        for (int i = 0; i < saved.size(); i++) {
            long size = tensor.shape().get(i);
            if (size < 0 || saved.get(i) > Long.MAX_VALUE - size) {
                throw broken(
                        file,
                        tensor.name(),
                        "the slice of tensor %s ends beyond 2^63-1"
                                .formatted(CheckpointException.quote(tensor.name())));
            }
        }
        return saved;
    }

    /** Returns the shape that all slices span, and checks that those with elements fill it. Empty ones lie at the end of a dimension. */
    private List<Long> globalShape(String name, List<Slice> parts, List<Slice> all) {
        TensorInfo first = parts.getFirst().tensor;
        List<Long> shape = new ArrayList<>(Collections.nCopies(first.shape().size(), 0L));
        long bytes = 0;
        Map<List<Long>, Slice> begins = new HashMap<>();
        for (Slice part : parts) {
            CheckpointFile file = files.get(part.file);
            if (part.begin.size() != shape.size() || !part.tensor.dtype().equals(first.dtype())) {
                throw broken(
                        file,
                        name,
                        "the slices of tensor %s differ in type or number of dimensions, here %s of %s, in %s %s of %s"
                                .formatted(
                                        CheckpointException.quote(name),
                                        part.tensor.dtype(),
                                        part.begin.size(),
                                        first.file().getFileName(),
                                        first.dtype(),
                                        shape.size()));
            }
            Slice other = begins.putIfAbsent(part.begin, part);
            if (other != null) {
                throw broken(
                        file,
                        name,
                        "tensor %s has a slice at %s here and in %s"
                                .formatted(
                                        CheckpointException.quote(name),
                                        part.begin,
                                        other.tensor.file().getFileName()));
            }
            bytes += part.tensor.length();
        }
        for (Slice slice : all) {
            for (int i = 0; i < Math.min(shape.size(), slice.begin.size()); i++) {
                shape.set(i, Math.max(shape.get(i), slice.end(i)));
            }
        }
        OptionalLong needed = first.dtype().bytes(shape);
        if (needed.isEmpty() || needed.getAsLong() != bytes) {
            throw broken(
                    files.get(parts.getFirst().file),
                    name,
                    "the slices of tensor %s have %s bytes, but its global shape %s needs %s; %s"
                            .formatted(
                                    CheckpointException.quote(name),
                                    bytes,
                                    shape,
                                    needed.isEmpty() ? "more than 64 bits can count" : needed.getAsLong(),
                                    uncovered(parts, shape)));
        }
        if (bytes > 0) {
            checkTiling(name, shape, parts);
        }
        return shape;
    }

    /** Names the first elements that no slice has, and the ranks without a file. */
    private String uncovered(List<Slice> parts, List<Long> shape) {
        String ranks = absent.isEmpty() ? "" : ", nor is there one of " + listed(absent);
        return Tiling.gap(shape, boxes(parts))
                .map(gap -> "a shard is missing: no file has " + gap + ranks)
                .orElse("a shard is missing or slices overlap");
    }

    /** Checks that slices cover each element of the shape once. */
    private void checkTiling(String name, List<Long> shape, List<Slice> parts) {
        List<Box> boxes = boxes(parts);
        String quoted = CheckpointException.quote(name);
        Tiling.fault(shape, boxes).ifPresent(fault -> {
            throw broken(files.get(parts.getFirst().file), name, Tiling.excess(shape, boxes)
                    .map(excess -> "tensor %s %s".formatted(quoted, excess))
                    .orElseGet(() -> "the slices of tensor %s overlap and leave a gap: %s"
                            .formatted(quoted, uncovered(parts, shape))));
        });
    }

    private static List<Box> boxes(List<Slice> parts) {
        return parts.stream().map(part -> new Box(part.begin, part.tensor.shape())).toList();
    }

    /** Parses the metadata entry: for each tensor an object with saved_offsets. */
    private static Map<String, List<Long>> offsets(CheckpointFile file) {
        String text = file.metadata().get(KEY);
        if (text == null) {
            throw broken(
                    file, null, "another file has %s in its metadata and this one has not".formatted(KEY));
        }
        Map<String, List<Long>> offsets = new HashMap<>();
        try {
            StrictJson in = new StrictJson(text.getBytes(StandardCharsets.UTF_8));
            in.expect(Token.START_OBJECT, KEY, "an object");
            while (in.next() == Token.NAME) {
                String name = in.text();
                in.expect(Token.START_OBJECT, "the sharding of a tensor", "an object");
                List<Long> saved = null;
                while (in.next() == Token.NAME) {
                    if (in.text().equals("saved_offsets")) {
                        saved = numbers(in);
                    } else {
                        in.next();
                        in.skip();
                    }
                }
                if (saved == null || offsets.putIfAbsent(name, saved) != null) {
                    throw in.here("tensor %s has no saved_offsets, or occurs twice"
                            .formatted(CheckpointException.quote(name)));
                }
            }
            in.end();
        } catch (Malformed e) {
            throw broken(file, null, "%s, character %s: %s".formatted(KEY, e.offset(), e.detail()));
        }
        return offsets;
    }

    private static List<Long> numbers(StrictJson in) throws Malformed {
        in.expect(Token.START_ARRAY, "saved_offsets", "an array of numbers");
        List<Long> numbers = new ArrayList<>();
        while (in.next() != Token.END_ARRAY) {
            long number = in.unsigned("an offset");
            if (number < 0 || numbers.size() == SafetensorsText.MAX_DIMENSIONS) {
                throw in.here("saved_offsets must be at most %s numbers of at most 2^63-1"
                        .formatted(SafetensorsText.MAX_DIMENSIONS));
            }
            numbers.add(number);
        }
        return numbers;
    }

    private static CheckpointException broken(CheckpointFile file, @Nullable String tensor, String detail) {
        return tensor == null
                ? CheckpointException.of(RULE, file.path(), JSON_START, detail)
                : CheckpointException.of(RULE, file.path(), JSON_START, tensor, detail);
    }
}
