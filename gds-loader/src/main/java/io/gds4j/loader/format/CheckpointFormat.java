package io.gds4j.loader.format;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A format of checkpoints. It turns the header of a file into checked, named extents. {@link java.util.ServiceLoader} finds
 * formats of programs.
 *
 * <p>
 * Contract of an implementation: it has a public constructor without parameters, is immutable and thread-safe, and opens quickly.
 * It recognises files by content, never by name. For a broken file it throws a {@link CheckpointException} that names the rule,
 * the byte and the tensor. It allocates no memory and recurses to no depth that an unchecked number of the file decides, and its
 * time is linear in the size of the metadata.
 *
 * @since 0.1
 */
public interface CheckpointFormat {
    /** Returns the name in reports: lower case, such as {@code safetensors}. */
    String id();

    /**
     * Returns endings of file names, such as {@code .safetensors}. A file that no format recognises is read as if it were of the
     * format with its ending, so that the message names the broken rule. In a folder whose files are of the format, a file with
     * its ending that is not must be repaired or removed.
     */
    default List<String> suffixes() {
        return List.of();
    }

    /** Says whether a file is of this format, by its content. The file may be broken, empty or of any other format. */
    Recognition recognize(FileHead head);

    /**
     * Reads and checks the header of one file.
     *
     * @throws CheckpointException if the file breaks a rule of the format
     */
    CheckpointFile read(FormatInput in);

    /**
     * Returns the files that belong to a file which the user named: the file alone, all files of a split set, or the shards of
     * an index.
     *
     * @throws CheckpointException if a file of a set is missing
     */
    default CheckpointParts partsOf(Path file) {
        return CheckpointParts.of(List.of(file));
    }

    /**
     * Returns the files of this format in a folder which the user named; empty if it has none. By default all files that this
     * format recognises, and with them those with its ending.
     *
     * @throws CheckpointException NO_CHECKPOINT if the folder has several checkpoints of this format and the user must choose;
     *         MISSING_SHARD if a part of a set is missing
     */
    default Optional<CheckpointParts> partsIn(CheckpointFolder folder) {
        List<Path> files = folder.complete(this, folder.recognizedBy(this));
        return files.isEmpty() ? Optional.empty() : Optional.of(CheckpointParts.of(files));
    }

    /**
     * Returns whether a folder that the user named is read as the other format where both formats have files in it. For a format
     * whose files lie beside a model of the other format as copies, or as what a trainer keeps.
     */
    default boolean yieldsTo(CheckpointFormat other) {
        return false;
    }

    /**
     * Returns whether a metadata key describes the files of a checkpoint and not its tensors or its model, such as the number of a
     * part. {@link io.gds4j.loader.save.SavePlan.Builder#checkpoint} leaves such entries out: they would be wrong for other files.
     */
    default boolean describesFiles(String key) {
        return false;
    }

    /**
     * Checks files against each other after each was read, and returns the files to load.
     *
     * @param files files in the order of {@link CheckpointParts#files}
     * @return the same files, unless the format derives facts from the whole set, such as global shapes
     * @throws CheckpointException if the files do not form a complete checkpoint
     */
    default List<CheckpointFile> combine(List<CheckpointFile> files) {
        return files;
    }
}
