/**
 * Allocates and copies memory of every kind over libc and the CUDA driver; backends hand this allocator to programs.
 */
@NullMarked
package io.gds4j.engine.memory;

import org.jspecify.annotations.NullMarked;

// Tested by
//   FakeGpuMemoryTest: DmaBufExports, GrowableDeviceMemory, MappedDeviceMemory, MemoryCopies
