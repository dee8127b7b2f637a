package io.gds4j.loader.parallel;

import io.gds4j.loader.format.TensorInfo;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A tensor of a file, and the tensor of which it is a part. Distributed checkpoints store a tensor in several pieces, whose names
 * end with their ranges, such as {@code w[0:2,0:4]}; any other tensor is its own whole.
 *
 * @param stored the tensor in the file
 * @param info the whole: its name, type and shape
 * @param begin indices of the stored tensor's first element in the whole
 */
record WholeTensor(TensorInfo stored, TensorInfo info, List<Long> begin) {

    private static final Pattern PIECE = Pattern.compile("(.+)\\[(\\d{1,18}:\\d{1,18}(?:,\\d{1,18}:\\d{1,18})*)]");

    /** A tensor whose name ends with its ranges. */
    private record Piece(TensorInfo stored, List<Long> begin) {
    }

    boolean isPiece() {
        return stored != info;
    }

    String name() {
        return info.name();
    }

    /** Returns the wholes of tensors, in their order. */
    static List<WholeTensor> of(List<TensorInfo> tensors) {
        Map<String, List<Piece>> pieces = new HashMap<>();
        for (TensorInfo tensor : tensors) {
            Matcher name = tensor.name().endsWith("]") ? PIECE.matcher(tensor.name()) : null;
            if (name != null && name.matches()) {
                List<Long> begin = begin(name.group(2), tensor.shape());
                if (begin != null) {
                    pieces.computeIfAbsent(name.group(1), key -> new ArrayList<>()).add(new Piece(tensor, begin));
                }
            }
        }
        Map<TensorInfo, WholeTensor> wholes = new HashMap<>();
        pieces.forEach((name, parts) -> {
            TensorInfo whole = whole(name, parts);
            if (whole != null) {
                parts.forEach(part -> wholes.put(part.stored, new WholeTensor(part.stored, whole, part.begin)));
            }
        });
        List<WholeTensor> all = new ArrayList<>(tensors.size());
        for (TensorInfo tensor : tensors) {
            WholeTensor known = wholes.isEmpty() ? null : wholes.get(tensor);
            all.add(known == null
                    ? new WholeTensor(tensor, tensor, Collections.nCopies(tensor.shape().size(), 0L))
                    : known);
        }
        return all;
    }

    /** Returns the tensors by the names of their wholes. */
    static Map<String, TensorInfo> byName(List<WholeTensor> wholes) {
        Map<String, TensorInfo> byName = LinkedHashMap.newLinkedHashMap(wholes.size());
        wholes.forEach(whole -> byName.putIfAbsent(whole.name(), whole.info));
        return byName;
    }

    /** Returns where ranges begin; null if they are not those of the shape. */
    private static @Nullable List<Long> begin(String ranges, List<Long> shape) {
        String[] parts = ranges.split(",");
        if (parts.length != shape.size()) {
            return null;
        }
        List<Long> begin = new ArrayList<>(parts.length);
        for (int i = 0; i < parts.length; i++) {
            int colon = parts[i].indexOf(':');
            begin.add(Long.parseLong(parts[i].substring(0, colon)));
            if (Long.parseLong(parts[i].substring(colon + 1)) - begin.getLast() != shape.get(i)) {
                return null;
            }
        }
        return begin;
    }

    /** Returns the tensor that pieces fill; null if they do not. */
    private static @Nullable TensorInfo whole(String name, List<Piece> pieces) {
        TensorInfo first = pieces.getFirst().stored;
        List<Long> shape = new ArrayList<>(Collections.nCopies(first.shape().size(), 0L));
        long bytes = 0;
        for (Piece piece : pieces) {
            if (piece.begin.size() != shape.size() || !piece.stored.dtype().equals(first.dtype())) {
                return null;
            }
            for (int i = 0; i < shape.size(); i++) {
                shape.set(i, Math.max(shape.get(i), piece.begin.get(i) + piece.stored.shape().get(i)));
            }
            bytes += piece.stored.length();
        }
        OptionalLong needed = first.dtype().bytes(shape);
        return needed.isPresent() && needed.getAsLong() == bytes
                ? new TensorInfo(name, first.dtype(), shape, first.file(), first.fileOffset(), bytes)
                : null;
    }
}
