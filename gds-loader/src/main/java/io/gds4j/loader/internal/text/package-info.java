/**
 * Strict JSON, the heap that texts of files may take, and whether boxes that they describe fill a shape. For the loader and its
 * formats only.
 */
@NullMarked
package io.gds4j.loader.internal.text;

import org.jspecify.annotations.NullMarked;

// Tested by
//   DistributedCheckpointTest: Tiling
