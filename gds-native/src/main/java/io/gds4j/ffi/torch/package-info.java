/** The stable C functions of libtorch, for tensors over memory of gds4j. */
@NullMarked
package io.gds4j.ffi.torch;

import org.jspecify.annotations.NullMarked;
