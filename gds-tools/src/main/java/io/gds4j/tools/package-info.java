/**
 * The {@code gds} command: its options, help and errors. Each picocli class here only collects options and calls a
 * class of a subpackage, which does the work. Help and version therefore start without the rest of gds4j.
 */
@NullMarked
package io.gds4j.tools;

import org.jspecify.annotations.NullMarked;

// Tested by
//   IoCommandTest: IoOptions
