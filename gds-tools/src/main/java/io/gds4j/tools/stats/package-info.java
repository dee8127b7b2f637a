/** {@code gds stats}: asks a running JVM for the statistics of its driver sessions. For the command alone. */
@NullMarked
package io.gds4j.tools.stats;

import org.jspecify.annotations.NullMarked;
