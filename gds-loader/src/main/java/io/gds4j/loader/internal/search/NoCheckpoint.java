package io.gds4j.loader.internal.search;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointParts;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.PartName;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.loader.internal.file.RankName;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Explains what a load does not take: folders without a checkpoint, and files beside one. */
final class NoCheckpoint {
    /** Endings of weights that no format reads. */
    private static final List<String> FOREIGN = List.of(
            ".ckpt", ".h5", ".hdf5", ".keras", ".msgpack", ".nemo", ".ot", ".pt2");
    /** Most folders of a folder that are searched for weights. */
    private static final int MAX_FOLDERS = 32;
    private static final int SEARCHED_LEVELS = 2;
    /** Begins the names of files of ranks of a distributed checkpoint. */
    private static final String RANK = "shard-0";

    private NoCheckpoint() {
    }

    /** Returns the exception for a folder in which none of these formats found a file. */
    static CuFileException in(CheckpointFolder folder, List<CheckpointFormat> formats) {
        String hint = "";
        for (Path entry : folder.entries()) {
            if (folder.unreadable().containsKey(entry)) {
                continue;
            }
            boolean weights = isWeights(entry, formats);
            Optional<CuFileException> reason = reason(entry, formats, weights);
            if (reason.isPresent()) {
                return reason.get();
            }
            if (weights && hint.isEmpty()) {
                hint = "; the content of %s is of none of them"
                        .formatted(CheckpointException.quote(String.valueOf(entry.getFileName())));
            }
        }
        if (!folder.unreadable().isEmpty()) {
            return folder.unreadable().values().iterator().next();
        }
        if (ForeignFile.recognize(folder.path()) instanceof Recognition.Unsupported foreign) {
            return unsupported(folder.path(), foreign);
        }
        // each folder of a bucket costs requests
        boolean local = folder.path().getFileSystem().equals(FileSystems.getDefault());
        Optional<Path> below = below(folder.path(), formats, local ? SEARCHED_LEVELS : 0);
        if (below.isPresent() && hint.isEmpty()) {
            hint = (RankName.hasOthers(below.get())
                    ? "; %s is of one rank of several, which have slices of the tensors; convert them into one checkpoint"
                    : "; there are weights in %s")
                    .formatted(CheckpointException.quote(folder.path().relativize(below.get()).toString()));
        }
        return CheckpointException.of(
                CheckpointRule.NO_CHECKPOINT,
                folder.path(),
                "the folder has neither an index such as model.safetensors.index.json nor a file of a known format (%s)%s"
                        .formatted(known(formats), hint));
    }

    /** Returns what is wrong with a file that formats know and do not read; for a file of weights, whatever is wrong. */
    private static Optional<CuFileException> reason(Path path, List<CheckpointFormat> formats, boolean weights) {
        if (!Files.isRegularFile(path)) {
            return Optional.empty();
        }
        try (FormatInput in = FormatInput.open(path)) {
            for (CheckpointFormat format : formats) {
                if (format.recognize(in) instanceof Recognition.Unsupported unsupported) {
                    return Optional.of(unsupported(path, unsupported));
                }
            }
            if (weights && ForeignFile.recognize(in) instanceof Recognition.Unsupported foreign) {
                return Optional.of(unsupported(path, foreign));
            }
            return weights && in.size() == 0
                    ? Optional.of(CheckpointException.of(CheckpointRule.UNKNOWN_FORMAT, path, "the file is empty"))
                    : Optional.empty();
        }
    }

    private static boolean isWeights(Path file, List<CheckpointFormat> formats) {
        String name = String.valueOf(file.getFileName());
        // an index, such as model.safetensors.index.json, or model.safetensors.index.fp16.json for a variant
        boolean index = name.contains(".index.") && name.endsWith(".json");
        if (index || endsWithOne(name, FOREIGN)) {
            return true;
        }
        for (CheckpointFormat format : formats) {
            if (endsWithOne(name, format.suffixes())) {
                return true;
            }
        }
        return false;
    }

    static boolean endsWithOne(String name, List<String> suffixes) {
        for (String suffix : suffixes) {
            if (name.endsWith(suffix)) {
                return true;
            }
        }
        return false;
    }

    /** Finds the first folder with files of weights, up to some levels below a folder. */
    private static Optional<Path> below(Path folder, List<CheckpointFormat> formats, int levels) {
        if (levels == 0) {
            return Optional.empty();
        }
        List<Path> folders = new ArrayList<>();
        try {
            OpenedFile.list(folder).stream().filter(entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))
                    .limit(MAX_FOLDERS).forEach(folders::add);
        } catch (IOException | CuFileException e) {
            return Optional.empty(); // a hint only
        }
        folders.sort(null);
        for (Path one : folders) {
            try {
                if (OpenedFile.list(one).stream().anyMatch(file -> isWeights(file, formats))) {
                    return Optional.of(one);
                }
            } catch (IOException | CuFileException e) {
                continue;
            }
            Optional<Path> deeper = below(one, formats, levels - 1);
            if (deeper.isPresent()) {
                return deeper;
            }
        }
        return Optional.empty();
    }

    /** Returns warnings that name the weights and the unreadable files of a folder which are no part of its checkpoint. */
    static List<String> leftOut(CheckpointFolder folder, CheckpointParts parts, List<CheckpointFormat> formats) {
        List<String> weights = new ArrayList<>();
        List<String> unreadable = new ArrayList<>();
        Set<Path> taken = new HashSet<>(parts.files());
        if (parts.index().isPresent()) {
            taken.add(parts.index().get().path());
        }
        for (Path entry : folder.entries()) {
            boolean used = taken.contains(entry);
            String name = CheckpointException.quote(String.valueOf(entry.getFileName()));
            if (!used && isWeights(entry, formats)) {
                weights.add(name);
            } else if (!used && folder.unreadable().containsKey(entry)) {
                unreadable.add(name);
            }
        }
        List<String> warnings = new ArrayList<>();
        add(warnings, folder, "no part of the checkpoint, not loaded", weights);
        add(warnings, folder, "cannot be read, left out", unreadable);
        return warnings;
    }

    private static void add(List<String> warnings, CheckpointFolder folder, String what, List<String> names) {
        if (!names.isEmpty()) {
            warnings.add("%s: %s: %s".formatted(folder.path(), what, InertText.list(names)));
        }
    }

    /** Returns a warning for a file that is loaded alone although its name says that there are others. */
    static List<String> partAlone(Path file) {
        String name = String.valueOf(file.getFileName());
        Optional<PartName> part = PartName.of(file);
        if (part.isPresent()) {
            return List
                    .of("%s: only part %s of %s is loaded, as the name says; open the index or the folder for all parts"
                            .formatted(file, part.get().number(), part.get().count()));
        }
        if (name.startsWith(RANK)) {
            return List.of("%s: only the file of one rank is loaded, as the name says; open the folder for all ranks"
                    .formatted(file));
        }
        Path folder = file.getParent();
        return RankName.hasOthers(file) || folder == null ? rankAlone(file) : rankAlone(folder);
    }

    /** Returns a warning for a file or folder of one rank beside those of others. */
    static List<String> rankAlone(Path path) {
        return RankName.hasOthers(path)
                ? List.of(("%s: only what one rank has is loaded, as the name says; "
                        + "tensors may be its slices: convert those of all ranks into one checkpoint").formatted(path))
                : List.of();
    }

    /**
     * Refuses a file that a format knows and does not read, and a file of another program that no format knows.
     *
     * @throws CheckpointException UNSUPPORTED_FORMAT
     */
    static void check(FormatInput in, Recognition byFormat) {
        Recognition known = byFormat instanceof Recognition.Unrecognized ? ForeignFile.recognize(in) : byFormat;
        if (known instanceof Recognition.Unsupported unsupported) {
            throw unsupported(in.path(), unsupported);
        }
    }

    private static CheckpointException unsupported(Path path, Recognition.Unsupported unsupported) {
        return CheckpointException.of(
                CheckpointRule.UNSUPPORTED_FORMAT,
                path,
                "this is %s; %s".formatted(unsupported.what(), unsupported.remedy()));
    }

    /** Lists formats, such as {@code safetensors *.safetensors}. */
    static String known(List<CheckpointFormat> formats) {
        return formats.stream()
                .map(format -> format.suffixes().stream().map(suffix -> " *" + suffix)
                        .collect(Collectors.joining("", format.id(), "")))
                .collect(Collectors.joining(", "));
    }
}
