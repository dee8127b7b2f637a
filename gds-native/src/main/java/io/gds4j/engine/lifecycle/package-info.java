/** What backends do when the JVM exits. For gds-compat and the libcufile backend. */
@NullMarked
package io.gds4j.engine.lifecycle;

import org.jspecify.annotations.NullMarked;
