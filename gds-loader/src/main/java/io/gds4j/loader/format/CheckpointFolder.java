package io.gds4j.loader.format;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.loader.internal.file.OpenedFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A folder in which formats look for checkpoints. Keeps what it found: each format looks at the same list. Not thread-safe.
 *
 * @since 0.1
 */
public final class CheckpointFolder {
    private static final String INDEX = ".index.json";
    private static final String PART = "-\\d{1,9}-of-\\d{1,9}";
    private final Path path;
    private final List<Path> entries;
    private final @Nullable Pattern variant;
    private final Map<CheckpointFormat, List<Path>> recognized = new HashMap<>();
    private final Map<Path, CuFileException> unreadable = new LinkedHashMap<>();
    /** The first bytes of the regular files; read once for all formats. */
    private @Nullable List<Head> heads;

    private CheckpointFolder(Path path, List<Path> entries, @Nullable Pattern variant) {
        this.path = path;
        this.entries = List.copyOf(entries);
        this.variant = variant;
    }

    /**
     * Lists a folder.
     *
     * @throws CheckpointException FILE_NOT_FOUND, FILE_TYPE, FILE_NOT_READABLE or READ_FAILED
     */
    public static CheckpointFolder open(Path path) {
        List<Path> entries = new ArrayList<>();
        try {
            for (Path entry : OpenedFile.list(path)) {
                if (!String.valueOf(entry.getFileName()).startsWith(".")) {
                    entries.add(entry);
                }
            }
        } catch (IOException e) {
            throw CheckpointException.of(path, e);
        }
        Collections.sort(entries);
        return new CheckpointFolder(path, entries, null);
    }

    /**
     * Returns this folder as formats see it for a variant: {@code model.fp16.safetensors} is there as {@code model.safetensors},
     * {@code model.safetensors.index.fp16.json} as its index, and files without the variant are not there.
     *
     * @param variant what stands before the ending or the number of a part, such as {@code fp16}
     */
    public CheckpointFolder ofVariant(String variant) {
        return new CheckpointFolder(path, entries, Pattern.compile(
                "(.*)\\." + Pattern.quote(variant) + "((?:" + PART + ")?\\.[^.].*)", Pattern.DOTALL));
    }

    /** Returns the name under which formats see an entry; empty for an entry without the variant. */
    private String seenAs(Path entry) {
        String name = String.valueOf(entry.getFileName());
        if (variant == null) {
            return name;
        }
        Matcher matcher = variant.matcher(name);
        return matcher.matches() ? matcher.group(1) + matcher.group(2) : "";
    }

    /** Returns the path of the folder. */
    public Path path() {
        return path;
    }

    /** Returns all entries except hidden ones, sorted by name: files, folders and others. */
    public List<Path> entries() {
        return entries;
    }

    /** Returns the entries whose names end with {@code suffix}. */
    public List<Path> endingWith(String suffix) {
        return entries.stream()
                .filter(entry -> !seenAs(entry).isEmpty() && seenAs(entry).endsWith(suffix)).toList();
    }

    /**
     * Returns the checkpoint that the names of files tell: an index {@code NAME.index.json}, else the file {@code NAME}, else the
     * only other index. A file {@code NAME} takes the place of an index whose files are gone. Empty if there is none of them.
     *
     * @param name usual name of a checkpoint of one file, such as {@code model.safetensors}
     * @param indexSuffix ending of the names of indexes, such as {@code .safetensors.index.json}
     * @throws CheckpointException NO_CHECKPOINT if there are several other indexes; as {@link ShardIndex#read}
     */
    public Optional<CheckpointParts> named(String name, String indexSuffix) {
        Optional<Path> single = seenAs(name);
        Optional<Path> usual = seenAs(name + INDEX);
        if (usual.isPresent()) {
            ShardIndex index = ShardIndex.read(usual.get());
            if (single.isEmpty() || index.missing().isEmpty()) {
                return Optional.of(CheckpointParts.of(index));
            }
        }
        if (single.isPresent()) {
            return Optional.of(CheckpointParts.of(List.of(single.get())));
        }
        List<Path> indexes = new ArrayList<>(endingWith(indexSuffix));
        if (!indexes.isEmpty()) {
            List<Path> others = new ArrayList<>(indexes);
            others.addAll(endingWith(indexSuffix.replace(INDEX, "")));
            List<Path> plain = withoutVariants(others);
            if (!plain.containsAll(indexes)) {
                Set<String> tensors = new HashSet<>();
                indexes.stream().filter(plain::contains)
                        .forEach(index -> tensors.addAll(ShardIndex.read(index).tensors()));
                indexes.removeIf(
                        index -> !plain.contains(index) && (tensors.isEmpty() || isOneOf(index, tensors)));
            }
        }
        if (indexes.size() > 1) {
            throw CheckpointException.of(
                    CheckpointRule.NO_CHECKPOINT,
                    path,
                    "the folder has %s indexes and none is %s; name one of them"
                            .formatted(indexes.size(), name + INDEX));
        }
        return indexes.stream().findFirst().map(index -> CheckpointParts.of(ShardIndex.read(index)));
    }

    /** Returns whether an index has one of some tensors, or tells none. */
    private static boolean isOneOf(Path index, Set<String> tensors) {
        try {
            return !Collections.disjoint(ShardIndex.read(index).tensors(), tensors);
        } catch (CheckpointException e) {
            return true;
        }
    }

    private Optional<Path> seenAs(String name) {
        for (Path entry : entries) {
            if (seenAs(entry).equals(name)) {
                return Optional.of(entry);
            }
        }
        return Optional.empty();
    }

    /** Returns files without variants of others among them: {@code X.fp16.safetensors} beside {@code X.safetensors}, or in parts. */
    private static List<Path> withoutVariants(List<Path> files) {
        if (files.size() < 2) {
            return files;
        }
        Set<String> names = new HashSet<>();
        files.forEach(file -> names.add(withoutPart(file)));
        return files.stream().filter(file -> !isVariant(withoutPart(file), names)).toList();
    }

    /** Returns the name of the set of a part or index; for another file its own. */
    private static String withoutPart(Path file) {
        return String.valueOf(file.getFileName()).replaceAll(PART + "(?=\\.)", "").replaceFirst("\\.index\\.json$", "");
    }

    private static boolean isVariant(String name, Set<String> names) {
        int ending = name.lastIndexOf('.');
        for (int dot = name.lastIndexOf('.', ending - 1); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
            boolean number = name.substring(dot + 1, ending).chars().allMatch(Character::isDigit);
            if (!number && names.contains(name.substring(0, dot) + name.substring(ending))) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns files as {@link #complete}, but no variants of others among them: {@code X.fp16.safetensors} beside
     * {@code X.safetensors}, if a tensor of it is there, too. A variant has the same tensors in another precision.
     *
     * @throws CheckpointException as {@link #complete}
     */
    public List<Path> completeWithoutVariants(CheckpointFormat format, List<Path> files) {
        List<Path> all = together(format, files);
        List<Path> plain = withoutVariants(all);
        if (plain.size() < all.size()) {
            Set<String> tensors = new HashSet<>();
            plain.forEach(file -> tensors(format, file).ifPresent(tensors::addAll));
            // a file whose tensors nobody knows is what its name says
            Set<String> variants = all.stream()
                    .filter(file -> !plain.contains(file)
                            && tensors(format, file).filter(own -> Collections.disjoint(own, tensors)).isEmpty())
                    .map(CheckpointFolder::withoutPart).collect(Collectors.toSet());
            all.removeIf(file -> !plain.contains(file) && variants.contains(withoutPart(file)));
        }
        PartName.requireComplete(path, all);
        return List.copyOf(all);
    }

    /** Returns the names of a file's tensors; empty if it cannot be read. */
    private static Optional<Set<String>> tensors(CheckpointFormat format, Path file) {
        try (FormatInput in = FormatInput.open(file)) {
            return Optional.of(
                    format.read(in).tensors().stream().map(TensorInfo::name).collect(Collectors.toSet()));
        } catch (CheckpointException e) {
            return Optional.empty();
        }
    }

    /**
     * Returns files of a format and the files that must be read with them. Those have an ending of the format or are parts of the
     * same sets, whatever they contain. A file that is empty or broken then ends the load instead of being left out.
     *
     * @throws CheckpointException MISSING_SHARD if a part of a set such as {@code model-00001-of-00003} is missing
     */
    public List<Path> complete(CheckpointFormat format, List<Path> files) {
        List<Path> all = together(format, files);
        PartName.requireComplete(path, all);
        return List.copyOf(all);
    }

    private List<Path> together(CheckpointFormat format, List<Path> files) {
        if (files.isEmpty()) {
            return new ArrayList<>();
        }
        Set<Path> chosen = new HashSet<>(files);
        Set<String> sets = new HashSet<>();
        for (Path file : files) {
            PartName.of(file).ifPresent(part -> sets.add(part.set()));
        }
        List<Path> all = new ArrayList<>();
        for (Path entry : entries) {
            boolean belongs = !seenAs(entry).isEmpty() && (hasSuffix(entry, format) || isPartOf(entry, sets));
            if (chosen.contains(entry) || belongs && !Files.isDirectory(entry)) {
                all.add(entry);
            }
        }
        return all;
    }

    private static boolean isPartOf(Path file, Set<String> sets) {
        return !sets.isEmpty() && PartName.of(file).map(PartName::set).filter(sets::contains).isPresent();
    }

    private static boolean hasSuffix(Path file, CheckpointFormat format) {
        String name = file.toString();
        for (String suffix : format.suffixes()) {
            if (name.endsWith(suffix)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the readable regular files that a format recognises by their content, sorted by name. A file that cannot be read is
     * in {@link #unreadable} afterwards.
     */
    public List<Path> recognizedBy(CheckpointFormat format) {
        return recognized.computeIfAbsent(format, this::recognize);
    }

    /** Returns why files could not be read, by file, as far as formats asked for their content. */
    public Map<Path, CuFileException> unreadable() {
        return Collections.unmodifiableMap(unreadable);
    }

    private List<Head> heads() {
        List<Head> known = heads;
        if (known == null) {
            known = new ArrayList<>();
            for (Path entry : entries) {
                Optional<Head> head = head(entry);
                if (head.isPresent()) {
                    known.add(head.get());
                }
            }
            heads = known;
        }
        return known;
    }

    private Optional<Head> head(Path entry) {
        try {
            // unlike isRegularFile, tells what may not be read from what is no file
            if (!Files.readAttributes(entry, BasicFileAttributes.class).isRegularFile()) {
                return Optional.empty();
            }
            try (FormatInput in = FormatInput.open(entry)) {
                return Optional.of(new Head(entry, in.size(), in.first()));
            }
        } catch (CuFileInterruptedException e) {
            throw e;
        } catch (NoSuchFileException e) {
            return Optional.empty(); // a link that leads nowhere
        } catch (IOException e) {
            unreadable.put(entry, CheckpointException.of(entry, OpenedFile.loopOr(entry, e)));
            return Optional.empty();
        } catch (CuFileException e) {
            // an object of a bucket that may not be read is often no part of the checkpoint
            unreadable.put(entry, e);
            return Optional.empty();
        }
    }

    /** A file that is open only while a format reads more than the first bytes. */
    private static final class Head implements FileHead {
        private final Path path;
        private final long size;
        private final ByteBuffer first;

        Head(Path path, long size, ByteBuffer first) {
            this.path = path;
            this.size = size;
            this.first = first;
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public ByteBuffer first() {
            return first.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        }

        @Override
        public ByteBuffer read(long offset, int length) {
            try (FormatInput in = FormatInput.open(path)) {
                return in.read(offset, length);
            }
        }
    }

    private List<Path> recognize(CheckpointFormat format) {
        List<Path> found = new ArrayList<>();
        for (Head head : heads()) {
            if (!seenAs(head.path).isEmpty() && format.recognize(head) instanceof Recognition.Recognized) {
                found.add(head.path);
            }
        }
        return List.copyOf(found);
    }
}
