/**
 * Memory that I/O moves bytes to and from: ranges, their kinds, and their owners. Programs take ranges from a
 * {@link io.gds4j.memory.MemoryAllocator} or wrap their own memory.
 */
@NullMarked
package io.gds4j.memory;

import org.jspecify.annotations.NullMarked;
