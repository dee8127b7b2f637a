/**
 * What every binding of a C library shares: linking with one clear message where that is impossible, and native memory
 * of the calling thread for errno and out-parameters. For this module only.
 */
@NullMarked
package io.gds4j.ffi;

import org.jspecify.annotations.NullMarked;
