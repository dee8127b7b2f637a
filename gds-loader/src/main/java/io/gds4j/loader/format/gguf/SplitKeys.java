package io.gds4j.loader.format.gguf;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.MetadataValue;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The keys by which a file says that it is a part of a split set.
 *
 * @param number number of the part from 0; -1 if the file has no such key
 * @param count number of parts; 0 or 1 for a file that is no part
 * @param tensors number of tensors in all parts; -1 if the file has no such key
 */
record SplitKeys(long number, long count, long tensors) {

    private static final String NUMBER = "split.no";
    private static final String COUNT = "split.count";
    private static final String TENSORS = "split.tensors.count";
    private static final Set<String> KEYS = Set.of(NUMBER, COUNT, TENSORS);

    static boolean isKey(String key) {
        return KEYS.contains(key);
    }

    static SplitKeys of(CheckpointFile file) {
        return new SplitKeys(whole(file, NUMBER, -1), whole(file, COUNT, 0), whole(file, TENSORS, -1));
    }

    private static long whole(CheckpointFile file, String key, long none) {
        MetadataValue value = file.typedMetadata().get(key).orElse(null);
        if (value == null) {
            return none;
        }
        if (value instanceof MetadataValue.Whole(long number, boolean unsigned) && number >= 0) {
            return number;
        }
        throw failure(file.path(), "%s must be a number of 0 or more".formatted(key));
    }

    boolean isPart() {
        return count > 1;
    }

    /** Returns the files of the set that begins with a file. */
    List<Path> files(Path file, SplitName name) {
        if (!isPart()) {
            return List.of(file);
        }
        if (name.count() != count || name.number() - 1 != number) {
            throw failure(
                    file,
                    String.format(
                            Locale.ROOT,
                            "the file is part %d of %d, but its name says part %d of %d; rename it to *-%05d-of-%05d.gguf",
                            number + 1, count, name.number(), name.count(), number + 1, count));
        }
        if (number != 0 && Files.exists(name.part(1))) {
            throw failure(
                    file,
                    "this is part %s of %s; open the first part, %s"
                            .formatted(number + 1, count, CheckpointException.quote(fileName(name.part(1)))));
        }
        List<Path> parts = new ArrayList<>();
        for (int i = 1; i <= name.count(); i++) {
            Path part = i - 1 == number ? file : name.part(i);
            if (!Files.exists(part)) {
                throw CheckpointException.of(
                        CheckpointRule.MISSING_SHARD,
                        file,
                        "part %s of %s, %s, does not exist"
                                .formatted(i, count, CheckpointException.quote(fileName(part))));
            }
            parts.add(part);
        }
        return parts;
    }

    private static String fileName(Path file) {
        return String.valueOf(file.getFileName());
    }

    /** Checks that files are all parts of one set in its order, or a single file that is no part. */
    static void check(List<CheckpointFile> files) {
        if (files.isEmpty()) {
            return;
        }
        CheckpointFile first = files.getFirst();
        SplitKeys keys = of(first);
        if (!keys.isPart() && files.size() == 1) {
            return;
        }
        long tensors = 0;
        for (int i = 0; i < files.size(); i++) {
            CheckpointFile file = files.get(i);
            SplitKeys own = of(file);
            if (own.number != i || own.count != files.size()) {
                throw failure(
                        file.path(),
                        own.isPart()
                                ? "the file is part %s of %s, but it was opened as part %s of %s; the parts of a set are named"
                                        .formatted(own.number + 1, own.count, i + 1, files.size())
                                        + String.format(Locale.ROOT, " *-00001-of-%05d.gguf and so on", own.count)
                                : "the file was opened as part %s of %s, but it has no %s and %s"
                                        .formatted(i + 1, files.size(), NUMBER, COUNT));
            }
            tensors += file.tensors().size();
        }
        if (keys.tensors >= 0 && keys.tensors != tensors) {
            throw failure(
                    first.path(), "%s is %s, but the parts have %s tensors".formatted(TENSORS, keys.tensors, tensors));
        }
    }

    private static CheckpointException failure(Path path, String detail) {
        return CheckpointException.of(GgufRules.SPLIT, path, detail);
    }
}
