/**
 * Tensors as arrays of the Deep Java Library.
 *
 * @since 0.1
 */
@NullMarked
package io.gds4j.interop.djl;

import org.jspecify.annotations.NullMarked;
