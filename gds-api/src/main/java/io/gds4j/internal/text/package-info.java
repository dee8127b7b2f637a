/** Text from files, other processes and servers: made safe to show, and the grammar of NumPy's headers. Shared with our modules only. */
@NullMarked
package io.gds4j.internal.text;

import org.jspecify.annotations.NullMarked;

// Tested by
//   NumpyFormatTest: NpyGrammar, PythonLiteral
//   ChildJvmTest: SystemReason
