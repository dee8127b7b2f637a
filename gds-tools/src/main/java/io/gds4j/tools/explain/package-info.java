/** {@code gds explain}: tells before a load which path each file takes, how long it takes, and what would make it faster. */
@NullMarked
package io.gds4j.tools.explain;

import org.jspecify.annotations.NullMarked;

// Tested by
//   ExplainCommandTest: ColdRead, ExplainRun, HotLoad
