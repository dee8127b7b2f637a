/**
 * Lifetimes of closeable objects: counters that let {@code close()} wait, claims that refuse it, and the state that each thread
 * keeps for them. Only gds4j's own modules may use this package; it knows nothing of memory or files.
 */
@NullMarked
package io.gds4j.internal.lifetime;

import org.jspecify.annotations.NullMarked;

// Tested by
//   MemoryRangeTest: MemoryUses
