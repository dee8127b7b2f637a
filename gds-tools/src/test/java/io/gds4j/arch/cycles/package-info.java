/** Classes with one cycle, for the test of the rule that finds cycles. */
@NullMarked
package io.gds4j.arch.cycles;

import org.jspecify.annotations.NullMarked;
