/**
 * Loads model checkpoints into GPU or host memory. {@link io.gds4j.loader.Checkpoint} reads and checks headers,
 * {@link io.gds4j.loader.LoadPlan} decides which tensors go where and by which requests, {@link io.gds4j.loader.LoadedTensors}
 * owns the result. The package uses files and the public API of gds4j only; all tensor data moves through a
 * {@link io.gds4j.CuFileDriver}.
 */
@NullMarked
package io.gds4j.loader;

import org.jspecify.annotations.NullMarked;

// Tested by
//   HostileNamesTest: NameSearch
