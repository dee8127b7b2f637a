/** How often a driver is open, and work of the backends when the JVM exits. */
@NullMarked
package io.gds4j.engine.lifecycle;

import org.jspecify.annotations.NullMarked;
