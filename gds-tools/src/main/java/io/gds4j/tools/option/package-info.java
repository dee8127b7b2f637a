/** Options that several commands have, and how their words become values. */
@NullMarked
package io.gds4j.tools.option;

import org.jspecify.annotations.NullMarked;

// Tested by
//   IoCommandTest: IoOptions
//   LoadRemoteTest: CheckpointPath
