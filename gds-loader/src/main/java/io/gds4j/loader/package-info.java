/**
 * Model checkpoints into GPU or host memory: {@link io.gds4j.loader.Checkpoint} reads and checks headers,
 * {@link io.gds4j.loader.LoadPlan} says which tensors go where in which requests, {@link io.gds4j.loader.LoadedTensors}
 * owns the result. Knows files and the public API of gds4j only; every byte of tensor data moves through a
 * {@link io.gds4j.CuFileDriver}.
 */
@NullMarked
package io.gds4j.loader;

import org.jspecify.annotations.NullMarked;
