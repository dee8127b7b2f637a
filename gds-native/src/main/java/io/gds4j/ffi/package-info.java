/**
 * Shared by all bindings of C libraries: linking with a clear message if it is impossible, native memory of the calling thread for
 * errno and out-parameters, segments of raw addresses.
 */
@NullMarked
package io.gds4j.ffi;

import org.jspecify.annotations.NullMarked;
