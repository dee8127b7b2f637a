/** What backends do when the JVM exits. For gds-compat and the libcufile backend. */
@NullMarked
package io.gds4j.ffi.exit;

import org.jspecify.annotations.NullMarked;
