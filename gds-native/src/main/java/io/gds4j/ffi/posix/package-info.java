/**
 * libc through the Java FFM API. All system calls of gds4j go through {@link io.gds4j.ffi.posix.Posix}; tests replace it to inject
 * faults.
 */
@NullMarked
package io.gds4j.ffi.posix;

import org.jspecify.annotations.NullMarked;
