/**
 * Memory that I/O moves bytes to and from: ranges, their kinds, and who owns them. Programs get ranges from a
 * {@link io.gds4j.memory.MemoryAllocator} or wrap memory of their own; engines read addresses from them.
 */
@NullMarked
package io.gds4j.memory;

import org.jspecify.annotations.NullMarked;
