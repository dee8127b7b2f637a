/**
 * Pieces between file and memory: system calls on one side, slabs and copies on the other. Knows no other thread than the one that
 * calls.
 */
@NullMarked
package io.gds4j.compat.deliver;

import org.jspecify.annotations.NullMarked;

// Tested by
//   PartialProgressTest: DeviceTransfer
//   FragmentsTest: ScatterTransfer
//   GpuTransfersTest: StagedTransfer
