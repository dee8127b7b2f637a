/**
 * The subcommands of {@code gds}, and options that several have. Each picocli class here only collects options and calls a class of
 * another package, which does the work. Help therefore starts without the rest of gds4j.
 */
@NullMarked
package io.gds4j.tools.command;

import org.jspecify.annotations.NullMarked;

// Tested by
//   IoCommandTest: IoOptions
//   LoadRemoteTest: CheckpointPath
