package io.gds4j.dataset.source;

import io.gds4j.internal.text.InertText;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The samples of a WebDataset shard: neighbouring files of a tar whose names differ in their extensions only. A record reaches from
 * the first part to the end of the last; the tar's headers between them come with it.
 */
final class TarSamples extends OneFile {
    private static final int NAME_BITS = 10;
    private static final int MAX_NAMES = 1 << NAME_BITS;
    private static final int MAX_PARTS = Longs.MAX - 1;
    /** Names under which WebDataset's reader keeps what it knows of a sample. */
    private static final Set<String> TAKEN = Set.of("__key__", "__url__", "__bad__");

    private final List<String> names;
    private final Map<String, Integer> numbers;
    /** Where the first header of each sample is. */
    private final long[] headers;
    /** First part of each sample, and the number of parts at the end. */
    private final long[] firsts;
    private final long[] begins;
    /** Length of each part, and in the lowest bits the number of its name. */
    private final long[] lengths;

    private TarSamples(Index index) {
        super(index.file, index.headers.size(), index.longest);
        this.numbers = index.numbers;
        this.names = numbers.keySet().stream()
                .filter(name -> index.wanted.isEmpty() || index.wanted.contains(name))
                .sorted(Comparator.comparing(numbers::get))
                .toList();
        this.headers = index.headers.toArray();
        this.firsts = index.firsts.toArray();
        this.begins = index.begins.toArray();
        this.lengths = index.lengths.toArray();
    }

    /**
     * Reads the headers of a shard.
     *
     * @param wanted names of the parts that records have; empty for all
     */
    static TarSamples read(Path file, Collection<String> wanted) {
        Index index = new Index(file, Set.copyOf(wanted));
        try (TarMembers members = TarMembers.open(file, 0)) {
            while (members.advance()) {
                if (members.isRegular() && !isMeta(members.name())) {
                    index.add(members);
                }
            }
        }
        index.firsts.add(index.begins.size());
        return new TarSamples(index);
    }

    /** The arrays while they grow. */
    private static final class Index {
        private final Path file;
        private final Set<String> wanted;
        private final Map<String, Integer> numbers = new HashMap<>();
        private final Longs headers = new Longs();
        private final Longs firsts = new Longs();
        private final Longs begins = new Longs();
        private final Longs lengths = new Longs();
        /** Names of all parts of the last sample, wanted or not. */
        private final BitSet present = new BitSet();
        private @Nullable String key;
        /** Where the last record begins; negative if it has no part yet. */
        private long begin;
        private long longest;

        Index(Path file, Set<String> wanted) {
            this.file = file;
            this.wanted = wanted;
        }

        void add(TarMembers member) {
            String path = member.name();
            int dot = splitAt(path);
            if (dot < 0) {
                return;
            }
            if (path.indexOf('\n') >= 0) {
                throw malformed(member, "has a line break in a name");
            }
            String prefix = path.substring(0, dot);
            String name = decoded(path.substring(dot + 1)).toLowerCase(Locale.ROOT);
            if (headers.size() == MAX_PARTS || begins.size() == MAX_PARTS) {
                throw malformed(member, "has more than %s samples or parts".formatted(MAX_PARTS));
            }
            if (!prefix.equals(key)) {
                key = prefix;
                present.clear();
                headers.add(member.header());
                firsts.add(begins.size());
                begin = -1;
            }
            int number = number(member, name);
            if (present.get(number) || TAKEN.contains(name)) {
                throw malformed(member, "sample %s has part %s twice".formatted(
                        InertText.quote(decoded(prefix)), InertText.quote(name)));
            }
            present.set(number);
            if (wanted.isEmpty() || wanted.contains(name)) {
                begin = begin < 0 ? member.data() : begin;
                longest = Math.max(longest, member.data() + member.size() - begin);
                begins.add(member.data());
                lengths.add(member.size() << NAME_BITS | number);
            }
        }

        private int number(TarMembers member, String name) {
            int number = numbers.computeIfAbsent(name, added -> numbers.size());
            if (number == MAX_NAMES) {
                throw malformed(member,
                        "has more than %s extensions; a name is split at the first dot behind its folder".formatted(
                                MAX_NAMES));
            }
            return number;
        }

        private RecordFormatException malformed(TarMembers member, String detail) {
            return RecordFormatException.malformed(file, member.header(), detail);
        }
    }

    /** Tells whether WebDataset passes over a file: its name, or its first folder, is like {@code __name__}. */
    private static boolean isMeta(String name) {
        int slash = name.indexOf('/');
        String first = slash < 0 ? name : name.substring(0, slash);
        boolean marked = first.startsWith("__") && first.endsWith("__");
        return marked && (slash < 0 || first.length() >= 4);
    }

    /** Returns the dot between key and extension, the first of the last name; negative if the file belongs to no sample. */
    private static int splitAt(String path) {
        int slash = path.lastIndexOf('/');
        int dot = path.indexOf('.', slash + 1);
        if (dot != slash + 1) {
            return dot;
        }
        // A hidden file: WebDataset takes its folder for the key, if the folder has no dot.
        int folder = path.lastIndexOf('/', slash - 1) + 1;
        int folderDot = path.indexOf('.', folder);
        return slash >= 0 && folderDot == dot ? dot : -1;
    }

    private static String decoded(String bytes) {
        return new String(bytes.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    }

    @Override
    public Optional<String> key(long record) {
        try (TarMembers member = TarMembers.open(files().getFirst(), headers[(int) record])) {
            member.advance();
            String path = member.name();
            return Optional.of(decoded(path.substring(0, Math.max(0, splitAt(path)))));
        }
    }

    @Override
    public List<String> parts() {
        return names;
    }

    @Override
    public long partOffset(long record, String part, ByteBuffer head) {
        int found = find(record, part);
        return found < 0 ? -1 : begins[found] - fileOffset(record);
    }

    @Override
    public long partLength(long record, String part, ByteBuffer head) {
        int found = find(record, part);
        return found < 0 ? -1 : lengths[found] >> NAME_BITS;
    }

    private int find(long record, String part) {
        Integer number = numbers.get(part);
        int end = (int) firsts[(int) record + 1];
        for (int i = (int) firsts[(int) record]; number != null && i < end; i++) {
            if ((lengths[i] & MAX_NAMES - 1) == number) {
                return i;
            }
        }
        return -1;
    }

    @Override
    public long fileOffset(long record) {
        int first = (int) firsts[(int) record];
        return first == firsts[(int) record + 1] ? headers[(int) record] : begins[first];
    }

    @Override
    public long length(long record) {
        int last = (int) firsts[(int) record + 1] - 1;
        return last < firsts[(int) record] ? 0 : begins[last] + (lengths[last] >> NAME_BITS) - fileOffset(record);
    }
}
