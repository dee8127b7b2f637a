/**
 * libibverbs through the Java FFM API: the interface {@link io.gds4j.ffi.verbs.Verbs}, its FFM class and a class for each struct.
 */
@NullMarked
package io.gds4j.ffi.verbs;

import org.jspecify.annotations.NullMarked;
