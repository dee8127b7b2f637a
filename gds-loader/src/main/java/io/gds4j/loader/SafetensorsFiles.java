package io.gds4j.loader;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The safetensors files that a path leads to: one file, the shards of an index, or the files of a folder.
 *
 * @param files the files with their headers read
 * @param warnings findings that are no errors, one line each
 */
record SafetensorsFiles(List<CheckpointFile> files, List<String> warnings) {
    private static final String INDEX_NAME = "model.safetensors.index.json";
    private static final String SINGLE_NAME = "model.safetensors";
    private static final String SUFFIX = ".safetensors";
    private static final String INDEX_SUFFIX = ".safetensors.index.json";
    private static final String JSON_SUFFIX = ".json";

    /** Finds the files and reads their headers. */
    static SafetensorsFiles open(Path path) {
        if (HeaderFile.attributes(path).isDirectory()) {
            return openFolder(path);
        }
        return path.toString().endsWith(JSON_SUFFIX) ? openIndex(path) : read(List.of(path));
    }

    private static SafetensorsFiles read(List<Path> paths) {
        List<CheckpointFile> files = new ArrayList<>(paths.size());
        for (Path path : paths) {
            files.add(HeaderFile.readSafetensors(path));
        }
        return new SafetensorsFiles(files, List.of());
    }

    private static SafetensorsFiles openFolder(Path folder) {
        List<Path> indexes = new ArrayList<>();
        List<Path> singles = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
            for (Path entry : entries) {
                String name = String.valueOf(entry.getFileName());
                if (name.startsWith(".")) {
                    continue;
                }
                if (name.endsWith(INDEX_SUFFIX)) {
                    indexes.add(entry);
                } else if (name.endsWith(SUFFIX)) {
                    singles.add(entry);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw HeaderFile.failure(folder, e.getCause());
        } catch (IOException e) {
            throw HeaderFile.failure(folder, e);
        }
        Path index = folder.resolve(INDEX_NAME);
        if (indexes.contains(index)) {
            return openIndex(index);
        }
        if (indexes.size() == 1) {
            return openIndex(indexes.getFirst());
        }
        if (indexes.size() > 1) {
            throw CheckpointException.of(
                    CheckpointRule.NO_CHECKPOINT,
                    folder,
                    "the folder has %d indexes and none is %s; name one of them".formatted(indexes.size(), INDEX_NAME));
        }
        Path single = folder.resolve(SINGLE_NAME);
        if (singles.contains(single)) {
            return read(List.of(single));
        }
        if (singles.isEmpty()) {
            throw CheckpointException.of(
                    CheckpointRule.NO_CHECKPOINT,
                    folder,
                    "the folder has neither %s nor a *%s file".formatted(INDEX_NAME, SUFFIX));
        }
        Collections.sort(singles);
        return read(singles);
    }

    private static SafetensorsFiles openIndex(Path path) {
        CheckpointIndex index = CheckpointIndex.read(path);
        List<Path> shards = new ArrayList<>();
        for (String name : index.fileNames()) {
            Path shard = resolve(path, name);
            if (!Files.exists(shard)) {
                throw CheckpointException.of(
                        CheckpointRule.MISSING_SHARD,
                        path,
                        "the index names %s, which does not exist".formatted(CheckpointException.quote(name)));
            }
            shards.add(shard);
        }
        List<CheckpointFile> files = read(shards).files();
        index.check(files);
        return new SafetensorsFiles(files, index.warnings(files));
    }

    private static Path resolve(Path index, String name) {
        try {
            return index.resolveSibling(name);
        } catch (InvalidPathException e) {
            throw CheckpointException.of(
                    CheckpointRule.INDEX_FILE_NAME,
                    index,
                    "this machine cannot name a file %s: %s".formatted(CheckpointException.quote(name), e.getReason()));
        }
    }
}
