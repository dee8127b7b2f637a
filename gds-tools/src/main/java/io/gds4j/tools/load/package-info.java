/** {@code gds load}: a checkpoint into GPU or host memory, measured, and verified or digested where it stands. */
@NullMarked
package io.gds4j.tools.load;

import org.jspecify.annotations.NullMarked;
