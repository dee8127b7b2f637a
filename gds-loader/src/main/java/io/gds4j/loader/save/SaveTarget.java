package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.SourcePath;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * Where a plan writes, and the names there.
 *
 * @param path the file or folder of the program
 * @param folder folder of all files
 * @param stem first part of all names, such as {@code model}
 * @param isFolder whether the program named a folder
 */
record SaveTarget(Path path, Path folder, String stem, boolean isFolder) {

    private static final String SUFFIX = ".safetensors";
    /** Ends the name of the folder in which the parts of a {@link ShardedSave} wait. */
    static final String SUFFIX_OF_PARTS = ".tmp";
    private static final String STEM = "model";
    private static final String ID = "[0-9a-f]{16}";
    private static final String NUMBERS = "-\\d{5}-of-\\d{5}";
    /** Longest stem, in bytes, whose hidden names have no more than the 255 bytes of a file name. */
    private static final int MAX_STEM = 255 - ".-12345-of-12345..safetensors.index.json".length() - 16;

    static SaveTarget folder(Path folder) {
        return new SaveTarget(folder, absolute(folder), STEM, true);
    }

    /** Returns the absolute path. Keeps two dots: behind a link, the kernel goes elsewhere than {@link Path#normalize}. */
    static Path absolute(Path path) {
        Path absolute = path.toAbsolutePath();
        for (Path name : absolute) {
            if (name.toString().equals("..")) {
                return absolute;
            }
        }
        return absolute.normalize();
    }

    /** @throws CuFileException INVALID_VALUE unless the name ends with {@code .safetensors} */
    static SaveTarget file(Path file) {
        Objects.requireNonNull(file, "file");
        Path absolute = absolute(file);
        Path parent = absolute.getParent();
        String name = String.valueOf(absolute.getFileName());
        if (parent == null || !name.endsWith(SUFFIX) || name.length() == SUFFIX.length() || name.startsWith(".")) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, SaveFailure.FUNCTION, file,
                    "the name of a checkpoint file ends with .safetensors and begins with no dot");
        }
        return new SaveTarget(file, parent, name.substring(0, name.length() - SUFFIX.length()), false);
    }

    /** Returns whether this is a file of {@link ShardedSave#part}, in a folder whose name others know before it is made. */
    boolean isShard() {
        return !isFolder && stem.matches("shard-\\d{5}-\\d+")
                && String.valueOf(folder.getFileName()).endsWith(SUFFIX_OF_PARTS);
    }

    /** Returns the target by another path of its folder. */
    SaveTarget within(Path held) {
        return new SaveTarget(path, held, stem, isFolder);
    }

    /** Returns whether the files are objects of a store. */
    boolean isStore() {
        return path instanceof SourcePath;
    }

    /** @throws CuFileException INVALID_VALUE for objects of a store */
    SaveTarget ofFiles(String function) {
        if (isStore()) {
            throw CuFileException.invalid(function,
                    "writes files only, not " + path + "; SavePlan.save writes objects");
        }
        return this;
    }

    /** Returns the final names of the files. */
    List<String> names(int files) {
        if (files == 1) {
            return List.of(stem + SUFFIX);
        }
        List<String> names = new ArrayList<>(files);
        for (int i = 1; i <= files; i++) {
            names.add(String.format(Locale.ROOT, "%s-%05d-of-%05d%s", stem, i, files, SUFFIX));
        }
        return names;
    }

    String indexName() {
        return stem + ".safetensors.index.json";
    }

    /**
     * Checks that no folder has a name of the new checkpoint; a rename over one fails.
     *
     * @throws CuFileException EISDIR
     */
    void checkAreNoFolders(int files) {
        List<String> all = new ArrayList<>(names(files));
        if (isFolder) {
            all.add(indexName());
        }
        for (String name : all) {
            if (Files.isDirectory(folder.resolve(name))) {
                throw CuFileException.builder(SaveFailure.FUNCTION)
                        .error(CuFileError.INVALID_FILE_TYPE)
                        .errno(Errno.EISDIR)
                        .path(folder.resolve(name))
                        .detail("a folder has this name")
                        .build();
            }
        }
    }

    String lockName() {
        return "." + hiddenStem() + ".lock";
    }

    /** Returns the first part of hidden names: the stem, or a digest of one that leaves no room for the rest. */
    private String hiddenStem() {
        return fitting(stem, MAX_STEM);
    }

    /** Returns a name, or a digest of one with more bytes than this. */
    static String fitting(String name, int most) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        return bytes.length <= most ? name : UUID.nameUUIDFromBytes(bytes).toString();
    }

    /** Returns the hidden name of a file while it is written. Readers of a folder skip hidden files. */
    String temporaryName(String name, String id) {
        int dot = name.indexOf(SUFFIX, stem.length());
        return "." + hiddenStem() + name.substring(stem.length(), dot) + "." + id + name.substring(dot);
    }

    /** Returns true for names of {@link #temporaryName}. */
    boolean isTemporary(String name) {
        return name.startsWith(".") && Pattern.matches(
                "\\." + Pattern.quote(hiddenStem()) + "(" + NUMBERS + ")?\\." + ID
                        + "\\.safetensors(\\.index\\.json)?",
                name);
    }

    /** Returns true for names that a checkpoint of this stem has in a folder. */
    boolean isPart(String name) {
        return Pattern.matches(
                Pattern.quote(stem) + "(" + NUMBERS + ")?\\.safetensors(\\.index\\.json)?", name);
    }
}
