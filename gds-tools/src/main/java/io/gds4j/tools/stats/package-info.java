/** {@code gds stats}: reads the statistics of driver sessions from a running JVM. */
@NullMarked
package io.gds4j.tools.stats;

import org.jspecify.annotations.NullMarked;

// Tested by
//   StatsCommandTest: RunningJvm, StatsText
