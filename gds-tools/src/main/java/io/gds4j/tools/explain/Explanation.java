package io.gds4j.tools.explain;

import io.gds4j.diagnosis.Advice;
import io.gds4j.tools.load.Target;
import java.nio.file.Path;
import java.util.List;

/**
 * What a load would do.
 *
 * @param path the checkpoint
 * @param format its format
 * @param tensors number of tensors to load
 * @param bytes their bytes
 * @param direct whether files are opened with O_DIRECT
 * @param estimate files and times
 * @param ranks memory by rank
 * @param advice what would make it faster, or what would make it fail
 */
record Explanation(
        Path path, String format, int tensors, long bytes, boolean direct, Estimate estimate, List<Rank> ranks,
        List<Advice> advice) {

    /**
     * A rank.
     *
     * @param rank its number
     * @param target its memory
     * @param bytes bytes that it needs
     * @param availableBytes bytes that the memory has left
     */
    record Rank(int rank, Target target, long bytes, long availableBytes) {
    }
}
