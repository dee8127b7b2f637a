package io.gds4j;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The reports of a call with several ranges, one for each range in the order of the call. A program may pass the same object to many calls;
 * each one clears it. Calls at the same time need one each.
 *
 * @since 0.1
 */
@Experimental
public final class IoResults implements Iterable<IoResult> {
    private final List<IoResult> results = new ArrayList<>();
    private final AtomicBoolean busy = new AtomicBoolean();
    private int size;

    /** Creates reports of no call. */
    public IoResults() {
        // no ranges
    }

    /** Clears the reports for a call, which {@link #over} ends. */
    void begin(List<RangeRead> ranges) {
        if (busy.getAndSet(true)) {
            throw Failures.invalid("cuFileRead", "another call fills these reports");
        }
        size = 0;
        boolean begun = false;
        try {
            while (results.size() < ranges.size()) {
                results.add(new IoResult());
            }
            for (; size < ranges.size(); size++) {
                results.get(size).begin(ranges.get(size).request());
            }
            begun = true;
        } finally {
            if (!begun) {
                over();
            }
        }
    }

    void over() {
        for (int i = 0; i < size; i++) {
            results.get(i).over();
        }
        busy.set(false);
    }

    /** {@return number of ranges of the call} */
    public int size() {
        return size;
    }

    /**
     * Returns the report of one range.
     *
     * @param range its number in the call, 0 or more
     * @return the report, which the next call with this object clears
     * @throws IndexOutOfBoundsException if the call had fewer ranges
     */
    public IoResult get(int range) {
        return results.get(Objects.checkIndex(range, size));
    }

    /** {@return bytes that all ranges moved} */
    public long moved() {
        long all = 0;
        for (int i = 0; i < size; i++) {
            all += results.get(i).moved();
        }
        return all;
    }

    /** {@return true if each range moved all bytes that it asked for} */
    public boolean isComplete() {
        for (int i = 0; i < size; i++) {
            if (!results.get(i).isComplete()) {
                return false;
            }
        }
        return true;
    }

    /** {@return the reports in the order of the ranges} */
    @Override
    public Iterator<IoResult> iterator() {
        return Collections.unmodifiableList(results.subList(0, size)).iterator();
    }

    @Override
    public String toString() {
        return "IoResults[%s ranges, %s bytes moved]".formatted(size, moved());
    }
}
