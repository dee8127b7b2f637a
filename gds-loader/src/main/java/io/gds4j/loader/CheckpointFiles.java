package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointParts;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.ShardIndex;
import io.gds4j.loader.internal.text.OneLine;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The files that a path leads to: one file, a set, the shards of an index, or the files of a folder.
 *
 * @param format format of all files
 * @param files the files with their headers read
 * @param warnings findings that are no errors, one line each
 */
record CheckpointFiles(CheckpointFormat format, List<CheckpointFile> files, List<String> warnings) {

    private static final String JSON_SUFFIX = ".json";
    private static final int LONGEST_WARNING = 4096;

    CheckpointFiles {
        files = List.copyOf(files);
        warnings = oneLineEach(warnings);
    }

    private static List<String> oneLineEach(List<String> warnings) {
        List<String> lines = new ArrayList<>(warnings.size());
        for (String warning : warnings) {
            lines.add(OneLine.of(warning, LONGEST_WARNING));
        }
        return List.copyOf(lines);
    }

    /** Finds the files, recognises their format and reads their headers. */
    static CheckpointFiles open(Path path) {
        if (FormatInput.isFolder(path)) {
            return openFolder(CheckpointFolder.open(path));
        }
        CheckpointFormat format = formatOf(path);
        if (format == null) {
            return openIndex(path, null);
        }
        return readNamed(path, format);
    }

    /** Finds the files of a format and reads their headers. */
    static CheckpointFiles open(Path path, CheckpointFormat format) {
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
        return read(format, parts, NoCheckpoint.leftOut(folder, parts, Formats.all()));
    }

    /** Reads the files that belong to a file which the user named. */
    private static CheckpointFiles readNamed(Path path, CheckpointFormat format) {
        CheckpointParts parts = format.partsOf(path);
        return read(format, parts, parts.files().size() == 1 ? NoCheckpoint.partAlone(path) : List.of());
    }

    private static CheckpointFiles openIndex(Path path, @Nullable CheckpointFormat format) {
        CheckpointParts parts = CheckpointParts.of(ShardIndex.read(path));
        CheckpointFormat known = format;
        if (known == null) {
            for (Path file : parts.files()) {
                CheckpointFormat ofFile = formatOf(file);
                if (ofFile == null) {
                    throw CheckpointException.of(
                            CheckpointRule.UNKNOWN_FORMAT, file, "an index names this file, which is an index");
                }
                if (known != null && !known.id().equals(ofFile.id())) {
                    throw CheckpointException.of(
                            CheckpointRule.MIXED_FORMATS,
                            path,
                            "the index names files of %s and %s".formatted(known.id(), ofFile.id()));
                }
                known = ofFile;
            }
        }
        return read(known == null ? Formats.all().getFirst() : known, parts, List.of());
    }

    private static CheckpointFiles read(CheckpointFormat format, CheckpointParts parts, List<String> findings) {
        List<CheckpointFile> files = new ArrayList<>(parts.files().size());
        for (Path path : parts.files()) {
            try (FormatInput in = FormatInput.open(path)) {
                Recognition recognition = format.recognize(in);
                if (recognition instanceof Recognition.Unrecognized) {
                    recognition = Recognition.ofForeign(in);
                }
                if (recognition instanceof Recognition.Unsupported unsupported) {
                    throw unsupported(path, unsupported);
                }
                files.add(format.read(in));
            }
        }
        List<String> warnings = new ArrayList<>(findings);
        if (parts.index().isPresent()) {
            ShardIndex index = parts.index().get();
            warnings.addAll(index.warnings(files));
            files = index.select(files);
        }
        List<CheckpointFile> combined = format.combine(files);
        for (CheckpointFile file : combined) {
            for (String warning : file.warnings()) {
                warnings.add(file.path() + ": " + warning);
            }
        }
        return new CheckpointFiles(format, combined, warnings);
    }

    /** Returns the format of a file; null for an index. */
    private static @Nullable CheckpointFormat formatOf(Path path) {
        try (FormatInput in = FormatInput.open(path)) {
            Recognition.Unsupported unsupported = null;
            for (CheckpointFormat format : Formats.all()) {
                Recognition recognition = format.recognize(in);
                if (recognition instanceof Recognition.Recognized) {
                    return format;
                }
                if (recognition instanceof Recognition.Unsupported one && unsupported == null) {
                    unsupported = one;
                }
            }
            if (unsupported == null && Recognition.ofForeign(in) instanceof Recognition.Unsupported foreign) {
                unsupported = foreign;
            }
            if (unsupported != null) {
                throw unsupported(path, unsupported);
            }
            if (isIndex(in)) {
                return null;
            }
            return bySuffix(in);
        }
    }

    /** Returns the format that explains best what is wrong with a file that no format recognises. */
    private static CheckpointFormat bySuffix(FormatInput in) {
        String name = in.path().toString();
        for (CheckpointFormat format : Formats.all()) {
            if (format.suffixes().stream().anyMatch(name::endsWith)) {
                return format;
            }
        }
        throw CheckpointException.of(
                CheckpointRule.UNKNOWN_FORMAT,
                in.path(),
                "%s; known are %s and an index (JSON)"
                        .formatted(in.size() == 0 ? "the file is empty" : "its content matches none", known()));
    }

    static CheckpointException unsupported(Path path, Recognition.Unsupported unsupported) {
        return CheckpointException.of(
                CheckpointRule.UNSUPPORTED_FORMAT,
                path,
                "this is %s; %s".formatted(unsupported.what(), unsupported.remedy()));
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

    private static String known() {
        return known(Formats.all());
    }

    /** Lists formats, such as {@code safetensors *.safetensors}. */
    static String known(List<CheckpointFormat> formats) {
        return formats.stream()
                .map(format -> format.suffixes().stream().map(suffix -> " *" + suffix)
                        .collect(Collectors.joining("", format.id(), "")))
                .collect(Collectors.joining(", "));
    }
}
