package io.gds4j;

import io.gds4j.error.CuFileException;
import java.util.List;
import java.util.Set;

/**
 * Shorter ways to use a {@link CuFileDriver}.
 *
 * @since 0.1
 */
public sealed interface DriverAccess permits CuFileDriver {
    /**
     * As {@link CuFileDriver#stream(long, Set)}.
     *
     * @param stream the stream
     * @param flags which arguments do not change
     * @return the registered stream
     */
    CuFileStream stream(long stream, Set<StreamFlag> flags);

    /**
     * Registers a stream whose arguments are read when it reaches an operation, as without flags in cuFile.
     *
     * @param stream a raw {@code CUstream}, or the address of a {@link HostStream}
     * @return the registered stream
     * @throws CuFileException as {@link CuFileDriver#stream(long, Set)}
     */
    @Experimental
    default CuFileStream stream(long stream) {
        return stream(stream, Set.of());
    }

    /**
     * As {@link CuFileDriver#readRanges(List, IoResults)}.
     *
     * @param ranges the ranges
     * @param results receives a report of each range
     */
    @Experimental
    void readRanges(List<RangeRead> ranges, IoResults results);

    /**
     * Reads ranges of files into memory, as {@link CuFileDriver#readRanges(List, IoResults)} does.
     *
     * @param ranges the ranges, 0 or more
     * @return a report of each range
     * @throws CuFileException as {@link CuFileDriver#readRanges(List, IoResults)}
     */
    @Experimental
    default IoResults readRanges(List<RangeRead> ranges) {
        IoResults results = new IoResults();
        readRanges(ranges, results);
        return results;
    }
}
