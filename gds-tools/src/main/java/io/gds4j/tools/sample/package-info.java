/** {@code gds sample} and {@code gds patterns}: run the programs of the samples module and print their results. */
@NullMarked
package io.gds4j.tools.sample;

import org.jspecify.annotations.NullMarked;

// Tested by
//   PatternsCommandTest: PatternsResult, PatternsRun
//   SampleCommandTest: SampleRun
