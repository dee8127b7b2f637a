/** {@code gds convert}. */
@NullMarked
package io.gds4j.tools.convert;

import org.jspecify.annotations.NullMarked;

// Tested by
//   ConvertCommandTest: ConvertRun
