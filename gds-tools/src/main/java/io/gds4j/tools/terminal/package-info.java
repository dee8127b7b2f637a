/**
 * Input and output of the command: streams, exit statuses, one-line errors, JSON, units, progress, input files. The
 * commands use this package; it does not depend on them.
 */
@NullMarked
package io.gds4j.tools.terminal;

import org.jspecify.annotations.NullMarked;

// Tested by
//   TopCommandTest: Screen
//   PatienceTest: StalledCalls
