package io.gds4j.dataset.source;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.TrustedFolder;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;

/**
 * Makes sources of records from files. Each method reads and checks headers only. Several files are one data set: the records of
 * the second file follow those of the first.
 *
 * <pre>{@code
 * RecordSource images = RecordFiles.fixed(List.of(train0, train1), 150_528);
 * RecordSource rows = RecordFiles.open(List.of(Path.of("embeddings.npy")));
 * }</pre>
 *
 * <p>
 * All methods are thread-safe.
 *
 * @since 0.1
 */
public final class RecordFiles {
    private static final String NPY = ".npy";
    private static final String BIN = ".bin";
    private static final String IDX = ".idx";

    private RecordFiles() {
    }

    /**
     * Opens files that consist of records of equal size.
     *
     * @param files the files, at least one
     * @param length bytes of a record, 1 or more
     * @return the records
     * @throws RecordFormatException for a file that is missing or does not consist of whole records
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files and for a number out of range
     */
    public static RecordSource fixed(List<Path> files, long length) {
        return afterHeader(files, 0, length);
    }

    /**
     * Opens files with records of equal size that follow a header and each other.
     *
     * @param files the files, at least one
     * @param header bytes in front of the first record of each file, 0 or more
     * @param length bytes of a record, 1 or more
     * @return the records
     * @throws RecordFormatException for a file that is missing or does not consist of a header and whole records
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files and for a number out of range
     */
    public static RecordSource afterHeader(List<Path> files, long header, long length) {
        return afterHeader(files, header, length, length);
    }

    /**
     * Opens files with records of equal size at equal distances, after a header.
     *
     * @param files the files, at least one
     * @param header bytes in front of the first record of each file, 0 or more
     * @param length bytes of a record, 1 or more
     * @param stride bytes from the begin of a record to the next, {@code length} or more
     * @return the records
     * @throws RecordFormatException for a file that is missing or does not consist of a header and whole records; the gap after
     *         the last record may be missing
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files and for a number out of range
     */
    public static RecordSource afterHeader(List<Path> files, long header, long length, long stride) {
        if (header < 0 || length < 1 || stride < length) {
            throw RecordFormatException.invalid(
                    "header %s, record %s and stride %s bytes, allowed: header 0 or more, record 1 or more, stride of a record or more"
                            .formatted(header, length, stride));
        }
        return FixedRecords.of(map(files, path -> {
            try (HeaderFile file = HeaderFile.open(path)) {
                return RecordRows.toTheEnd(path, file.size(), header, length, stride);
            }
        }));
    }

    /**
     * Opens arrays of NumPy (.npy, version 1 to 3, C order). A record is a row along the first axis.
     *
     * @param files the files, at least one, with one element type and one shape of rows
     * @return the rows
     * @throws RecordFormatException for a file that is missing, malformed or unlike the first
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files
     */
    public static RecordSource npy(List<Path> files) {
        return FixedRecords.of(map(files, NpyHeader::read));
    }

    /**
     * Opens files of vectors: .fvecs, .ivecs and .bvecs with the dimension in front of each vector; .fbin, .ibin, .u8bin and .i8bin
     * with one header. A record is a vector without its dimension. Of prefixed vectors, the first and the last prefix are checked.
     *
     * @param files the files, at least one, with one element type and one dimension
     * @return the vectors
     * @throws RecordFormatException for a file that is missing, malformed, unlike the first or of another extension
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files
     */
    public static RecordSource vectors(List<Path> files) {
        return FixedRecords.of(map(files, path -> VectorFile.of(path)
                .orElseThrow(() -> RecordFormatException.malformed(
                        path, "unknown extension, allowed: " + String.join(", ", VectorFile.extensions())))
                .rows(path)));
    }

    /**
     * Opens a data set of Megatron. A record is a sequence of tokens; its length varies. The source keeps 8 bytes of memory for
     * each sequence.
     *
     * @param bin the file of the tokens
     * @param idx the index
     * @return the sequences
     * @throws RecordFormatException for a file that is missing or malformed, and for an index that does not fit the tokens
     */
    public static RecordSource megatron(Path bin, Path idx) {
        return MegatronIndex.read(bin, idx);
    }

    /**
     * Opens files whose names tell the format: .npy, the extensions of {@link #vectors}, or .bin next to a Megatron index .idx.
     * Files may be links. An index may be a link to a file below its folder or, in the Hugging Face cache, to a blob of the same
     * repository.
     *
     * @param files the files, at least one, all of one format
     * @param links {@link FileVisitOption#FOLLOW_LINKS} if indexes may be links to anywhere
     * @return the records
     * @throws RecordFormatException for a file that is missing, malformed, unlike the first or of no known format, and for an
     *         index outside
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files
     */
    public static RecordSource open(List<Path> files, FileVisitOption... links) {
        Path first = map(files, path -> path).getFirst();
        String name = name(first);
        if (name.endsWith(NPY)) {
            return npy(files);
        }
        if (VectorFile.of(first).isPresent()) {
            return vectors(files);
        }
        if (name.endsWith(BIN)) {
            boolean follow = List.of(links).contains(FileVisitOption.FOLLOW_LINKS);
            return VariableRecords.join(map(files, bin -> MegatronIndex.read(bin, index(bin, follow))));
        }
        throw RecordFormatException.malformed(
                first,
                "the name does not tell the format, allowed: a record size, or .npy, .bin with .idx, "
                        + String.join(", ", VectorFile.extensions().stream().map(e -> "." + e).toList()));
    }

    private static Path index(Path bin, boolean followLinks) {
        String name = String.valueOf(bin.getFileName());
        Path index = bin.resolveSibling(name.substring(0, Math.max(0, name.length() - BIN.length())) + IDX);
        if (Files.exists(bin) && Files.notExists(index, LinkOption.NOFOLLOW_LINKS)) {
            throw RecordFormatException.malformed(bin,
                    "it has no index %s of Megatron; records of one size need their size: RecordFiles.fixed, or --record of gds records"
                            .formatted(index.getFileName()));
        }
        if (!followLinks && bin.getFileSystem() == FileSystems.getDefault()) {
            try {
                Path folder = Objects.requireNonNullElse(bin.getParent(), Path.of("."));
                new TrustedFolder(folder.toRealPath()).check(index, index.toRealPath());
            } catch (IOException e) {
                throw RecordFormatException.of(index, e);
            }
        }
        return index;
    }

    private static String name(Path path) {
        return String.valueOf(path.getFileName()).toLowerCase(Locale.ROOT);
    }

    /**
     * Joins sources into one data set: the records of the second source follow those of the first.
     *
     * @param sources the sources, at least one
     * @return all records
     * @throws CuFileException INVALID_VALUE (EINVAL) for no sources
     */
    public static RecordSource join(List<? extends RecordSource> sources) {
        List<RecordSource> copy = List.copyOf(sources);
        if (copy.isEmpty()) {
            throw RecordFormatException.invalid("there are no sources, allowed: 1 or more");
        }
        return copy.size() == 1 ? copy.getFirst() : new JoinedRecords(copy);
    }

    private static <T> List<T> map(List<Path> files, Function<Path, T> open) {
        if (files.isEmpty()) {
            throw RecordFormatException.invalid("there are no files, allowed: 1 or more");
        }
        List<T> parts = new ArrayList<>(files.size());
        for (Path file : files) {
            parts.add(open.apply(file));
        }
        return parts;
    }
}
