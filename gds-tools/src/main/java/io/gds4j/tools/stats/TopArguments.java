package io.gds4j.tools.stats;

import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * What {@code gds top} shows.
 *
 * @param pid the only process; empty for all JVMs of the user
 * @param intervalSeconds time between two rounds
 * @param count number of rounds; empty for no end
 */
public record TopArguments(OptionalLong pid, double intervalSeconds, OptionalInt count) {
}
