/** {@code gds check}: examines platform, GPUs, libraries and file systems without changing anything. */
@NullMarked
package io.gds4j.tools.check;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CheckCommandTest: CheckJson
//   RdmaRulesTest: Adapter
