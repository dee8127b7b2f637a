package io.gds4j.dataset.source;

import io.gds4j.error.CuFileException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Makes sources of records from files. Each method reads and checks headers only. Several files are one data set: the records of
 * the second file follow those of the first.
 *
 * <pre>{@code
 * RecordSource images = RecordFiles.fixed(List.of(train0, train1), 150_528);
 * RecordSource rows = RecordFiles.open(Path.of("embeddings.npy"));
 * }</pre>
 *
 * <p>
 * All methods are thread-safe.
 *
 * @since 0.1
 */
public final class RecordFiles {
    private static final String NPY = ".npy";
    private static final String TAR = ".tar";
    private static final String ARROW = ".arrow";
    private static final String FEATHER = ".feather";
    private static final String MDS = "index.json";
    private static final String TFRECORD = ".tfrecord";
    private static final String BIN = ".bin";
    private static final String IDX = ".idx";

    /** Files that are opened at a time: a disk that is asked for one header by each has as much to do as it likes. */
    private static final int AT_ONCE = 16;

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

    /** Opens one file as {@link #fixed(List, long)} does. */
    public static RecordSource fixed(Path file, long length) {
        return fixed(List.of(file), length);
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
     * Opens shards of a WebDataset: plain tars (ustar, pax, GNU). A record is a sample: neighbouring files whose names are equal up to
     * the first dot of the last name. Its {@link RecordSource#parts parts} are the extensions in lower case, its key what is in front.
     * Links, folders and files such as {@code __meta__} are passed over, as WebDataset's reader does.
     *
     * <p>
     * A record reaches from its first part to the end of its last, with the tar's headers between them; of one part, it is that part
     * alone. The tars' headers are read once, now. The source keeps 32 bytes of memory for a sample of one part, 16 for each other.
     *
     * <p>
     * Known elsewhere as: {@code webdataset.WebDataset}, {@code torchdata}'s {@code load_from_tar().webdataset()}.
     *
     * @param files the tars, at least one
     * @param parts extensions of the parts that records have; all if none is named
     * @return the samples
     * @throws RecordFormatException for a file that is missing, malformed or compressed, for sparse files, for a sample with two parts of
     *         one extension, and for a part that no sample has
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files
     */
    public static RecordSource webDataset(List<Path> files, String... parts) {
        Set<String> wanted = new LinkedHashSet<>();
        for (String part : parts) {
            wanted.add(part.toLowerCase(Locale.ROOT));
        }
        RecordSource samples = join(map(files, file -> TarSamples.read(file, wanted)));
        wanted.removeAll(samples.parts());
        if (!wanted.isEmpty() && samples.records() > 0) {
            throw RecordFormatException.malformed(files.getFirst(),
                    "no sample has a part " + String.join(", ", wanted));
        }
        return samples;
    }

    /**
     * Opens files of TFRecord. A record is what the writer was given, most often a {@code tf.train.Example}; its length varies. The
     * lengths and their checksums are read and checked once, now; {@link io.gds4j.dataset.RecordLoader.Builder#verify} checks those of
     * the records. The source keeps 16 bytes of memory for each record.
     *
     * <p>
     * Known elsewhere as: {@code tf.data.TFRecordDataset}.
     *
     * @param files the files, at least one
     * @return the records
     * @throws RecordFormatException for a file that is missing, malformed or compressed
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files
     */
    public static RecordSource tfRecords(List<Path> files) {
        return join(map(files, TfRecords::read));
    }

    /**
     * Opens a column of Arrow IPC files or streams, also of Feather version 2 and of Hugging Face's datasets. A record is a row, which has
     * one length: a number, FixedSizeBinary, or FixedSizeList of these; {@link RecordSource#shape} has the lengths of the lists. Loaders of
     * two columns with the same seed bring the same rows.
     *
     * <p>
     * Known elsewhere as: {@code pyarrow.ipc.open_file(…).read_all()[column]}.
     *
     * @param files the files, at least one, with one element type and one shape of rows
     * @param column name of the column
     * @return the rows
     * @throws RecordFormatException for a file that is missing, malformed or unlike the first, for columns with nulls, dictionaries or
     *         rows of different lengths, and for compressed record batches
     * @throws CuFileException INVALID_VALUE (EINVAL) for no files
     */
    public static RecordSource arrow(List<Path> files, String column) {
        Objects.requireNonNull(column, "column");
        return arrowColumn(files, column);
    }

    private static RecordSource arrowColumn(List<Path> files, @Nullable String column) {
        return FixedRecords
                .of(map(files, file -> ArrowFile.read(file, column)).stream().flatMap(List::stream).toList());
    }

    /**
     * Opens a data set of MosaicML's Streaming. A record is a sample; its {@link RecordSource#parts parts} are the columns, with the
     * bytes that the writer's encoding made. A shard may be a link as far as indexes of {@link #open}. The source keeps 8 bytes of memory
     * for each sample. {@link io.gds4j.dataset.RecordLoader.Builder#verify} compares shards with their hashes of md5, sha1, sha2 or sha3.
     *
     * <p>
     * Known elsewhere as: {@code streaming.StreamingDataset}, {@code MDSWriter}.
     *
     * @param index the index.json beside the shards
     * @param links {@link FileVisitOption#FOLLOW_LINKS} if shards may be links to anywhere
     * @return the samples
     * @throws RecordFormatException for a file that is missing, malformed or unlike its index, for shards of other formats, and for a
     *         compressed shard without the plain one beside it
     */
    public static RecordSource mds(Path index, FileVisitOption... links) {
        return join(MdsIndex.shards(index, Optional.empty(), follow(links)));
    }

    /**
     * Opens a data set of MosaicML's Streaming, as {@link #mds(Path, FileVisitOption...)}, also with shards that are compressed by zstd. A
     * shard without the plain one beside it is unpacked into a folder, now, by the library {@code com.github.luben:zstd-jni}, which the
     * program adds.
     *
     * <p>
     * Unpacked shards stay, each readable for this user alone, and a later call finds them; the program removes the folder when it
     * likes, though not below an open loader. An unpacked shard has the size that its index says: one that unpacks to another is refused. Until
     * it is whole it has another name, and a call that fails or is interrupted removes it. Unpacking takes up to 130 MiB of memory.
     *
     * @param index the index.json beside the shards
     * @param unpacked a folder of this user on a local disk; created for this user alone unless it exists
     * @param links {@link FileVisitOption#FOLLOW_LINKS} if shards may be links to anywhere
     * @return the samples
     * @throws RecordFormatException as the other method; also for a shard that is no zstd, for a folder that is a link or of another
     *         user, for a full disk, and without the library, which the message names
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted
     */
    public static RecordSource mds(Path index, Path unpacked, FileVisitOption... links) {
        try (UnpackedShards folder = UnpackedShards.in(unpacked)) {
            return join(MdsIndex.shards(index, Optional.of(folder), follow(links)));
        }
    }

    /**
     * Opens files whose names tell the format: .npy, the extensions of {@link #vectors}, .tar, .tfrecord, index.json of
     * MDS, .arrow or .feather with one column, or .bin next to a Megatron index .idx.
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
        Path first = checked(files).getFirst();
        String name = name(first);
        if (name.endsWith(NPY)) {
            return npy(files);
        }
        if (VectorFile.of(first).isPresent()) {
            return vectors(files);
        }
        if (name.endsWith(BIN)) {
            return join(
                    VariableRecords.ofOneType(map(files, bin -> MegatronIndex.read(bin, index(bin, follow(links))))));
        }
        if (name.contains(TAR) || name.endsWith(".tgz")) {
            return webDataset(files); // which says what to do with .tar.gz
        }
        if (name.equals(MDS)) {
            return join(map(files, index -> mds(index, links)));
        }
        if (name.endsWith(ARROW) || name.endsWith(FEATHER)) {
            return arrowColumn(files, null);
        }
        if (name.contains(TFRECORD)) {
            return tfRecords(files); // train.tfrecord-00000-of-00128, too
        }
        throw RecordFormatException.malformed(
                first,
                "the name does not tell the format, allowed: a record size, or .npy, .tar, .tfrecord, index.json, .arrow, .feather, .bin with .idx, "
                        + String.join(", ", VectorFile.extensions().stream().map(e -> "." + e).toList()));
    }

    /** Opens one file as {@link #open(List, FileVisitOption...)} does. */
    public static RecordSource open(Path file, FileVisitOption... links) {
        return open(List.of(file), links);
    }

    private static Path index(Path bin, boolean followLinks) {
        String name = String.valueOf(bin.getFileName());
        Path index = bin.resolveSibling(name.substring(0, Math.max(0, name.length() - BIN.length())) + IDX);
        if (Files.exists(bin) && Files.notExists(index, LinkOption.NOFOLLOW_LINKS)) {
            throw RecordFormatException.malformed(bin,
                    "it has no index %s of Megatron; records of one size need their size: RecordFiles.fixed, or --record of gds records"
                            .formatted(index.getFileName()));
        }
        if (!followLinks) {
            HeaderFile.checkLink(bin, index);
        }
        return index;
    }

    private static boolean follow(FileVisitOption... links) {
        return List.of(links).contains(FileVisitOption.FOLLOW_LINKS);
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

    /**
     * Opens each file, several at a time: who looks for headers waits for one short read after the other. Returns what came of them in
     * their order, or throws the failure of the first one that has any.
     */
    private static <T> List<T> map(List<Path> files, Function<Path, T> open) {
        checked(files);
        if (files.size() == 1) {
            return List.of(open.apply(files.getFirst()));
        }
        ExecutorService threads = Executors.newFixedThreadPool(
                Math.min(files.size(), AT_ONCE), Thread.ofPlatform().daemon().name("gds4j-index-", 0).factory());
        try {
            List<Future<T>> opening = new ArrayList<>(files.size());
            files.forEach(file -> opening.add(threads.submit(() -> open.apply(file))));
            List<T> parts = new ArrayList<>(files.size());
            for (Future<T> part : opening) {
                parts.add(part.get());
            }
            return parts;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) e.getCause(); // a function throws no others
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw RecordFormatException.of(files.getFirst(), new ClosedByInterruptException());
        } finally {
            // Ends those that have begun, and begins no others.
            threads.shutdownNow();
            threads.close();
        }
    }

    private static List<Path> checked(List<Path> files) {
        if (files.isEmpty()) {
            throw RecordFormatException.invalid("there are no files, allowed: 1 or more");
        }
        return files;
    }
}
