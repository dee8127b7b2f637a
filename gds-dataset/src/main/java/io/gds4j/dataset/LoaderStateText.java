package io.gds4j.dataset;

import io.gds4j.dataset.DoneRecords.Range;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import io.gds4j.internal.text.PythonLiteral;
import io.gds4j.internal.text.PythonLiteral.Value;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.zip.CRC32;

/** A state as JSON. Its numbers and texts are Python, too, so that one parser reads it and the headers of .npy. */
final class LoaderStateText {
    private static final int VERSION = 1;
    private static final int MAX_CHARACTERS = 8 << 20;
    /** Leaves room for epochs that are counted from a state on. */
    private static final long MAX_EPOCH = Long.MAX_VALUE / 2;

    private final Map<String, Value> fields = new HashMap<>();

    LoaderStateText(String json) {
        if (json.length() > MAX_CHARACTERS) {
            throw wrong("it has %s characters, allowed: %s".formatted(json.length(), MAX_CHARACTERS));
        }
        try {
            if (!(PythonLiteral.parse(json) instanceof Value.Mapping mapping)) {
                throw wrong("it is no JSON object");
            }
            for (int i = 0; i < mapping.entries().size(); i += 2) {
                if (!(mapping.entries().get(i) instanceof Value.Text name)
                        || fields.put(name.text(), mapping.entries().get(i + 1)) != null) {
                    throw wrong("a field comes twice, or has no name");
                }
            }
        } catch (PythonLiteral.Malformed e) {
            throw wrong("it is no JSON of whole numbers and texts: %s at character %s".formatted(
                    e.detail(), e.position()));
        }
    }

    /** Returns the text of a state, without line breaks. */
    static String of(LoaderState state) {
        String content = content(state);
        return "{" + content + ",\"crc32\":" + crc(content) + "}";
    }

    private static String content(LoaderState state) {
        RecordPlan plan = state.plan();
        String order = switch (plan.order()) {
            case RecordOrder.Sequential sequential -> "\"sequential\"";
            case RecordOrder.Shuffled(long seed) -> "\"shuffled\",\"seed\":" + seed;
            case RecordOrder.ShuffledBlocks(long seed, long block, long window) ->
                "\"shuffledBlocks\",\"seed\":%s,\"block\":%s,\"window\":%s".formatted(seed, block, window);
        };
        return "\"version\":%s,\"records\":%s,\"order\":%s,\"epoch\":%s,\"done\":[%s],\"world\":%s,\"batch\":%s,"
                .formatted(VERSION, plan.records(), order, plan.done().epochs(),
                        plan.done().ranges().stream()
                                .map(range -> list(range.epoch(), range.begin(), range.end()))
                                .collect(Collectors.joining(",")),
                        plan.world(), plan.batch())
                + "\"batches\":\"%s\",\"remainder\":\"%s\",\"ranks\":[%s]".formatted(
                        state.areBatchesWhole() ? "whole" : "any",
                        plan.remainder().name().toLowerCase(Locale.ROOT),
                        state.positions().entrySet().stream()
                                .map(rank -> list(rank.getKey(), rank.getValue()))
                                .collect(Collectors.joining(",")));
    }

    private static String list(long... numbers) {
        StringBuilder list = new StringBuilder();
        for (long number : numbers) {
            list.append(list.isEmpty() ? '[' : ',').append(number);
        }
        return list.append(']').toString();
    }

    private static long crc(String content) {
        CRC32 crc = new CRC32();
        crc.update(content.getBytes(StandardCharsets.US_ASCII));
        return crc.getValue();
    }

    LoaderState state() {
        if (whole("version", Long.MIN_VALUE, Long.MAX_VALUE) != VERSION) {
            throw wrong("its version is not " + VERSION);
        }
        long records = whole("records", 0, Long.MAX_VALUE);
        RecordOrder order = order();
        DoneRecords done = done(records);
        int world = (int) whole("world", 1, Integer.MAX_VALUE);
        int batch = (int) whole("batch", 1, RecordLoader.MAX_BATCH);
        boolean whole = text("batches", "whole", "any").equals("whole");
        Remainder remainder = Remainder.valueOf(text("remainder", "keep", "drop", "pad").toUpperCase(Locale.ROOT));
        Map<Integer, Long> positions = new TreeMap<>();
        for (long[] rank : lists("ranks", 2)) {
            if (rank[0] < 0 || rank[0] >= world || rank[1] < 0 || positions.put((int) rank[0], rank[1]) != null) {
                throw wrong("rank %s of %s after %s records, or it comes twice".formatted(rank[0], world, rank[1]));
            }
        }
        LoaderState state = new LoaderState(
                new RecordPlan(order, records, done, world, batch, remainder), whole, positions);
        long found = whole("crc32", 0, Long.MAX_VALUE);
        for (String unknown : fields.keySet()) {
            throw wrong("unknown field " + InertText.quote(unknown));
        }
        if (found != crc(content(state))) {
            throw wrong("it was changed: its crc32 is %s, that of its content %s".formatted(
                    found, crc(content(state))));
        }
        return state;
    }

    private RecordOrder order() {
        String name = text("order", "sequential", "shuffled", "shuffledBlocks");
        if (name.equals("sequential")) {
            return RecordOrder.sequential();
        }
        long seed = whole("seed", Long.MIN_VALUE, Long.MAX_VALUE);
        return name.equals("shuffled")
                ? RecordOrder.shuffled(seed)
                : RecordOrder.shuffledBlocks(
                        seed, whole("block", 1, Long.MAX_VALUE), whole("window", 1, Long.MAX_VALUE));
    }

    private DoneRecords done(long records) {
        long epochs = whole("epoch", 0, MAX_EPOCH);
        List<Range> ranges = new ArrayList<>();
        for (long[] range : lists("done", 3)) {
            if (range[0] < epochs || range[1] < 0 || range[1] >= range[2] || range[2] > records) {
                throw wrong("done has records %s to %s of %s of epoch %s".formatted(
                        range[1], range[2], records, range[0]));
            }
            ranges.add(new Range(range[0], range[1], range[2]));
        }
        DoneRecords done = DoneRecords.of(epochs, ranges, records);
        if (done.epochs() != epochs || !done.ranges().equals(ranges)) {
            throw wrong("done has ranges that touch, or are not sorted");
        }
        return done;
    }

    private Value field(String name) {
        Value value = fields.remove(name);
        if (value == null) {
            throw wrong(name + " is missing");
        }
        return value;
    }

    private long whole(String name, long least, long most) {
        if (!(field(name) instanceof Value.Whole(long value)) || value < least || value > most) {
            throw wrong("%s is no number from %s to %s".formatted(name, least, most));
        }
        return value;
    }

    private String text(String name, String... allowed) {
        if (!(field(name) instanceof Value.Text(String value)) || !List.of(allowed).contains(value)) {
            throw wrong("%s is none of %s".formatted(name, String.join(", ", allowed)));
        }
        return value;
    }

    private List<long[]> lists(String name, int length) {
        if (!(field(name) instanceof Value.Sequence sequence)) {
            throw wrong(name + " is no list");
        }
        List<long[]> lists = new ArrayList<>();
        for (Value element : sequence.elements()) {
            long[] numbers = element instanceof Value.Sequence list
                    ? list.elements().stream().filter(Value.Whole.class::isInstance)
                            .mapToLong(number -> ((Value.Whole) number).value()).toArray()
                    : new long[0];
            if (numbers.length != length || ((Value.Sequence) element).elements().size() != length) {
                throw wrong("%s is no list of lists of %s numbers".formatted(name, length));
            }
            lists.add(numbers);
        }
        return lists;
    }

    private static CuFileException wrong(String detail) {
        return Failures.invalid("the text is no state of a loader: " + detail);
    }
}
