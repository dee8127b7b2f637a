/** {@code --report}: a page about one run, with its time line from flight-recorder events, paths, spread, topology and advice. */
@NullMarked
package io.gds4j.tools.report;

import org.jspecify.annotations.NullMarked;

// Tested by
//   ReportTest: Report, TimelineReader, TimelineHtml
//   ReportPageTest: ReportPage, Timeline
