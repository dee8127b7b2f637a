/** {@code gds plot}: draws charts of the results of {@code gds io}, without a display. */
@NullMarked
package io.gds4j.tools.plot;

import org.jspecify.annotations.NullMarked;

// Tested by
//   PlotCommandTest: Axis, LineChart, ResultFile
