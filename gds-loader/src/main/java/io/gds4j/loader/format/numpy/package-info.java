/** Arrays of NumPy: {@code .npy} files, and {@code .npz} archives whose members are not compressed. */
@NullMarked
package io.gds4j.loader.format.numpy;

import org.jspecify.annotations.NullMarked;

// Tested by
//   NumpyFormatTest: NpyTypes
