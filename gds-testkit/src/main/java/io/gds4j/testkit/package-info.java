/**
 * Tools for tests of programs that use gds4j, on ordinary disks and without a GPU: guard zones around memory and files,
 * a backend in plain Java, and a backend that injects faults. Uses only the public API.
 */
@NullMarked
package io.gds4j.testkit;

import org.jspecify.annotations.NullMarked;

// Tested by
//   FakeGpuTest: FakeAllocator, FakeBatch, FakeGpuBackend, FakeMemory
//   LeakDetectorTest: ForwardingAllocator
//   FakeStreamTest: FakeOperation, FakeSchedule
