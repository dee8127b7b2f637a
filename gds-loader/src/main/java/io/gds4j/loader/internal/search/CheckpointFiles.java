package io.gds4j.loader.internal.search;

import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointParts;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.ShardIndex;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.OpenFiles;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.internal.file.Links;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.loader.internal.text.Tiling;
import io.gds4j.source.FileVersion;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The files that a path leads to: one file, a set, the shards of an index, or the files of a folder.
 *
 * @param format format of all files
 * @param files the files with their headers read
 * @param warnings findings that are no errors, one line each
 * @param hasIndex whether an index names the files
 */
public record CheckpointFiles(
        CheckpointFormat format, List<CheckpointFile> files, List<String> warnings, boolean hasIndex) {

    /** The formats whose files are zip archives: they explain what is wrong with one, and nothing about other files. */
    private static final Set<String> ZIPPED = Set.of("torch", "npz");
    private static final byte[] ZIP = {'P', 'K'};
    private static final String JSON_SUFFIX = ".json";
    /** Number of looks at a folder that is being saved: a save of shards replaces the index twice. */
    private static final int MAX_LOOKS = 8;
    /** What a look meets while a save replaces the index and the files. */
    private static final Set<CheckpointRule> SEEN_BESIDE_A_SAVE = Set.of(
            CheckpointRule.FILE_NOT_FOUND,
            CheckpointRule.FILE_CHANGED,
            CheckpointRule.LINK_OUTSIDE,
            CheckpointRule.NO_CHECKPOINT,
            CheckpointRule.MISSING_SHARD,
            CheckpointRule.TENSOR_NOT_IN_SHARD,
            CheckpointRule.TENSOR_IN_TWO_FILES);
    private static final int MAX_WARNING = 4096;

    public CheckpointFiles {
        files = List.copyOf(files);
        warnings = oneLineEach(warnings);
    }

    /**
     * Returns the tensors by name, file by file in the order of their data.
     *
     * @throws CheckpointException TENSOR_IN_TWO_FILES
     */
    public Map<String, TensorInfo> tensors() {
        Map<String, TensorInfo> byName = new LinkedHashMap<>();
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                TensorInfo other = byName.putIfAbsent(tensor.name(), tensor);
                if (other != null) {
                    throw CheckpointException.inTwoFiles(tensor.name(), tensor.file(), other.file());
                }
            }
        }
        return byName;
    }

    private static List<String> oneLineEach(List<String> warnings) {
        List<String> lines = new ArrayList<>(warnings.size());
        for (String warning : warnings) {
            lines.add(InertText.line(warning, MAX_WARNING));
        }
        return List.copyOf(lines);
    }

    /** Finds the files, recognises their format and reads their headers. */
    public static CheckpointFiles open(Path path, boolean followLinks) {
        return settled(() -> bound(path, followLinks, () -> look(path)));
    }

    /** Finds the files of a format and reads their headers. */
    public static CheckpointFiles open(Path path, CheckpointFormat format, boolean followLinks) {
        return settled(() -> bound(path, followLinks, () -> look(path, format)));
    }

    /** Finds the files of a variant in a folder, recognises their format and reads their headers. */
    public static CheckpointFiles ofVariant(Path path, String variant, boolean followLinks) {
        return settled(() -> bound(path, followLinks, () -> {
            if (!FormatInput.isFolder(path)) {
                throw CheckpointException.of(CheckpointRule.NO_CHECKPOINT, path,
                        "a variant is chosen in a folder, and this is a file: name its folder, or the file alone");
            }
            CheckpointFolder folder = CheckpointFolder.open(path).ofVariant(variant);
            if (folder.endingWith("").isEmpty()) {
                throw CheckpointException.of(CheckpointRule.NO_CHECKPOINT, path,
                        "the folder has no file of the variant %s".formatted(CheckpointException.quote(variant)));
            }
            return openFolder(folder);
        }));
    }

    private static CheckpointFiles bound(Path path, boolean followLinks, Supplier<CheckpointFiles> look) {
        if (followLinks) {
            return look.get();
        }
        try {
            return Links.bind(path, look);
        } catch (IOException e) {
            throw CheckpointException.of(path, OpenedFile.loopOr(path, e));
        }
    }

    /** Looks again after what a save beside causes. The same failure twice is no accident. */
    private static CheckpointFiles settled(Supplier<CheckpointFiles> look) {
        String before = "";
        for (int looks = 1;; looks++) {
            try {
                return look.get();
            } catch (CheckpointException e) {
                if (looks == MAX_LOOKS || !SEEN_BESIDE_A_SAVE.contains(e.rule()) || e.getMessage().equals(before)) {
                    throw e;
                }
                before = e.getMessage();
            }
        }
    }

    private static CheckpointFiles look(Path path) {
        if (FormatInput.isFolder(path)) {
            return openFolder(CheckpointFolder.open(path));
        }
        CheckpointFormat format = formatOf(path);
        if (format == null) {
            return openIndex(path, null);
        }
        return readNamed(path, format);
    }

    private static CheckpointFiles look(Path path, CheckpointFormat format) {
        if (FormatInput.isFolder(path)) {
            CheckpointFolder folder = CheckpointFolder.open(path);
            return read(folder, format,
                    format.partsIn(folder).orElseThrow(() -> NoCheckpoint.in(folder, List.of(format))));
        }
        boolean index;
        try (FormatInput in = FormatInput.open(path)) {
            index = format.recognize(in) instanceof Recognition.Unrecognized && isIndex(in);
        }
        return index ? openIndex(path, format) : readNamed(path, format);
    }

    private static CheckpointFiles openFolder(CheckpointFolder folder) {
        Map<CheckpointFormat, CheckpointParts> found = new LinkedHashMap<>();
        for (CheckpointFormat format : Formats.all()) {
            // before its index is read: files of a copy may be missing
            if (found.keySet().stream().noneMatch(format::yieldsTo)) {
                Optional<CheckpointParts> parts = format.partsIn(folder);
                if (parts.isPresent() && parts.get().index().isPresent()) {
                    // an index decides; no other file is asked for, which may be many objects of a bucket
                    return read(folder, format, parts.get());
                }
                parts.ifPresent(known -> found.put(format, known));
            }
        }
        if (found.isEmpty()) {
            throw NoCheckpoint.in(folder, Formats.all());
        }
        if (found.size() > 1) {
            throw CheckpointException.of(
                    CheckpointRule.MIXED_FORMATS,
                    folder.path(),
                    "the folder has checkpoints of %s; name a file or an index in it, or pass the format to Checkpoint.open"
                            .formatted(found.keySet().stream().map(CheckpointFormat::id)
                                    .collect(Collectors.joining(" and "))));
        }
        Map.Entry<CheckpointFormat, CheckpointParts> one = found.entrySet().iterator().next();
        return read(folder, one.getKey(), one.getValue());
    }

    private static CheckpointFiles read(CheckpointFolder folder, CheckpointFormat format, CheckpointParts parts) {
        List<String> findings = new ArrayList<>(NoCheckpoint.rankAlone(folder.path()));
        findings.addAll(NoCheckpoint.leftOut(folder, parts, Formats.all()));
        return read(format, parts, findings);
    }

    /** Reads the files that belong to a file which the user named. */
    private static CheckpointFiles readNamed(Path path, CheckpointFormat format) {
        CheckpointParts parts = format.partsOf(path);
        return read(format, parts, parts.files().size() == 1 ? NoCheckpoint.partAlone(path) : List.of());
    }

    private static CheckpointFiles openIndex(Path path, @Nullable CheckpointFormat format) {
        CheckpointParts parts = CheckpointParts.of(ShardIndex.read(path));
        CheckpointFormat known = format == null ? existing(parts, () -> commonFormat(parts, path)) : format;
        return read(known, parts, List.of());
    }

    private static CheckpointFormat commonFormat(CheckpointParts parts, Path index) {
        CheckpointFormat known = null;
        for (Path file : parts.files()) {
            CheckpointFormat ofFile = formatOf(file);
            if (ofFile == null) {
                throw CheckpointException.of(
                        CheckpointRule.UNKNOWN_FORMAT, file, "an index names this file, which is an index");
            }
            if (known != null && !known.id().equals(ofFile.id())) {
                throw CheckpointException.of(
                        CheckpointRule.MIXED_FORMATS,
                        index,
                        "the index names files of %s and %s".formatted(known.id(), ofFile.id()));
            }
            known = ofFile;
        }
        return known == null ? Formats.all().getFirst() : known;
    }

    /**
     * Returns what is read from the files. If that fails and a file of an index does not exist, the caller hears of that file. A look at each
     * file before would be a request for each object of a bucket.
     */
    private static <T> T existing(CheckpointParts parts, Supplier<T> read) {
        try {
            return read.get();
        } catch (CheckpointException e) {
            parts.index().ifPresent(ShardIndex::files);
            throw e;
        }
    }

    private static CheckpointFiles read(CheckpointFormat format, CheckpointParts parts, List<String> findings) {
        List<CheckpointFile> files = new ArrayList<>(parts.files().size());
        Map<Path, FileVersion> versions = new HashMap<>();
        for (Headers.Header header : existing(parts, () -> Headers.of(format, parts.files()))) {
            versions.put(header.file().path(), header.version());
            files.add(header.file());
        }
        List<String> warnings = new ArrayList<>(findings);
        if (parts.index().isPresent()) {
            ShardIndex index = parts.index().get();
            warnings.addAll(index.warnings(files));
            files = index.select(files);
            if (!index.isCurrent()) {
                throw OpenFiles.changed(index.path(), "the index was replaced while the headers were read");
            }
        }
        List<CheckpointFile> combined = new ArrayList<>();
        for (CheckpointFile file : format.combine(files)) {
            combined.add(file.withVersion(identified(
                    file.path(), versions.getOrDefault(file.path(), file.version()))));
            for (String warning : file.warnings()) {
                warnings.add(file.path() + ": " + warning);
            }
        }
        Map<Path, Long> sizes = HashMap.newHashMap(combined.size());
        combined.forEach(file -> sizes.put(file.path(), file.size()));
        combined.forEach(file -> check(file, sizes));
        return new CheckpointFiles(format, combined, warnings, parts.index().isPresent());
    }

    /** Returns a version that tells the file from others: a format may know the size only, and never have opened the file. */
    private static FileVersion identified(Path path, FileVersion version) {
        if (!version.file().isEmpty() || path.getFileSystem() != FileSystems.getDefault()) {
            return version;
        }
        try (FormatInput in = FormatInput.open(path)) {
            OpenFiles.check(path, version, in.version());
            return in.version();
        }
    }

    /** Checks what every format must tell: one that a program adds may not have checked it. */
    private static void check(CheckpointFile file, Map<Path, Long> sizes) {
        for (TensorInfo tensor : file.tensors()) {
            String name = tensor.name();
            if (name.length() > SafetensorsText.MAX_NAME) {
                throw refused(CheckpointRule.TENSOR_NAME, file, name.substring(0, SafetensorsText.MAX_NAME),
                        "the name of tensor %s has %s characters, at most %s are allowed"
                                .formatted(CheckpointException.quote(name), name.length(), SafetensorsText.MAX_NAME));
            }
            OptionalLong needed = tensor.dtype().bytes(tensor.shape());
            if (needed.isEmpty() || needed.getAsLong() != tensor.length()) {
                throw refused(CheckpointRule.TENSOR_INVALID_INFO, file, name,
                        "tensor %s has %s bytes, which is not the size of %s of shape %s".formatted(
                                CheckpointException.quote(name), tensor.length(), tensor.dtype(), tensor.shape()));
            }
            if (!tensor.isInOnePlace()) {
                checkBoxes(file, tensor, sizes);
                continue;
            }
            boolean within = tensor.fileOffset() >= 0 && tensor.fileOffset() <= file.size() - tensor.length();
            if (!tensor.file().equals(file.path()) || tensor.length() > 0 && !within) {
                throw refused(CheckpointRule.INVALID_OFFSET, file, name,
                        "tensor %s has %s bytes at %s of %s, but belongs to this file of %s bytes".formatted(
                                CheckpointException.quote(name), tensor.length(), tensor.fileOffset(), tensor.file(),
                                file.size()));
            }
        }
    }

    private static void checkBoxes(CheckpointFile file, TensorInfo tensor, Map<Path, Long> sizes) {
        List<Tiling.Box> boxes = new ArrayList<>(tensor.boxes().size());
        for (TensorBox box : tensor.boxes()) {
            boolean fits = box.shape().size() == tensor.shape().size() && box.begin().size() == tensor.shape().size();
            long length = fits ? tensor.dtype().bytes(box.shape()).orElse(-1) : -1;
            long size = sizes.getOrDefault(box.file(), -1L);
            if (length < 1 || box.fileOffset() < 0 || box.fileOffset() > size - length
                    || hasNegative(box.begin())) {
                throw CheckpointException.of(CheckpointRule.TENSOR_BOXES, box.file(), box.fileOffset(), tensor.name(),
                        "tensor %s has a part of %s at %s, %s bytes at %s of a file of %s bytes".formatted(
                                CheckpointException.quote(tensor.name()), box.shape(), box.begin(), length,
                                box.fileOffset(), size));
            }
            boxes.add(new Tiling.Box(box.begin(), box.shape()));
        }
        Optional<String> fault = Tiling.fault(tensor.shape(), boxes);
        if (fault.isPresent() || !tensor.file().equals(file.path())) {
            throw refused(CheckpointRule.TENSOR_BOXES, file, tensor.name(), "tensor %s %s".formatted(
                    CheckpointException.quote(tensor.name()), fault.orElse("belongs to another file")));
        }
    }

    private static boolean hasNegative(List<Long> numbers) {
        for (long number : numbers) {
            if (number < 0) {
                return true;
            }
        }
        return false;
    }

    private static CheckpointException refused(CheckpointRule rule, CheckpointFile file, String tensor,
            String detail) {
        return CheckpointException.of(rule, file.path(), -1, tensor, detail);
    }

    /** Returns the format of a file; null for an index. */
    private static @Nullable CheckpointFormat formatOf(Path path) {
        try (FormatInput in = FormatInput.open(path)) {
            Recognition known = Recognition.UNRECOGNIZED;
            for (CheckpointFormat format : Formats.all()) {
                Recognition recognition = format.recognize(in);
                if (recognition instanceof Recognition.Recognized) {
                    return format;
                }
                if (known instanceof Recognition.Unrecognized) {
                    known = recognition;
                }
            }
            NoCheckpoint.check(in, known);
            return isIndex(in) ? null : bySuffix(in);
        }
    }

    /** Returns the format that explains best what is wrong with a file that no format recognises. */
    private static CheckpointFormat bySuffix(FormatInput in) {
        String name = in.path().toString();
        for (CheckpointFormat format : Formats.all()) {
            if (NoCheckpoint.endsWithOne(name, format.suffixes())
                    && (in.startsWith(ZIP) || !ZIPPED.contains(format.id()))) {
                return format;
            }
        }
        throw CheckpointException.of(
                CheckpointRule.UNKNOWN_FORMAT,
                in.path(),
                "%s; known are %s and an index (JSON)"
                        .formatted(in.size() == 0 ? "the file is empty" : "its content matches none",
                                NoCheckpoint.known(Formats.all())));
    }

    /** Returns whether a file is JSON. An empty or broken file whose name ends with .json gets the message of an index. */
    private static boolean isIndex(FormatInput in) {
        ByteBuffer first = in.first();
        while (first.hasRemaining()) {
            byte b = first.get();
            if (b == '{') {
                return true;
            }
            if (b != ' ' && b != '\t' && b != '\n' && b != '\r') {
                break;
            }
        }
        return in.path().toString().endsWith(JSON_SUFFIX);
    }
}
