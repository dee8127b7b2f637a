/** {@code gds stats} and {@code gds top}: read the statistics of driver sessions from running JVMs. */
@NullMarked
package io.gds4j.tools.stats;

import org.jspecify.annotations.NullMarked;

// Tested by
//   StatsCommandTest: RunningJvm, StatsText
//   TopCommandTest: JvmReader, JvmRates, JvmList, JvmWatch, TopText, TopRun
