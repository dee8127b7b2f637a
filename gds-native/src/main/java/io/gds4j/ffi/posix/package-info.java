/**
 * libc through the Java FFM API: the seam behind which all system calls stand. For gds4j's own modules; tests put a double
 * here to inject faults.
 */
@NullMarked
package io.gds4j.ffi.posix;

import org.jspecify.annotations.NullMarked;
