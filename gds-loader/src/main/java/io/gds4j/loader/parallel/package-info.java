/**
 * Divides the tensors of a checkpoint among ranks. A {@link io.gds4j.loader.parallel.ParallelPlan} maps tensor names to splits and
 * computes which bytes of the file each rank keeps. The package is pure arithmetic: it knows no memory, devices or threads.
 */
@NullMarked
package io.gds4j.loader.parallel;

import org.jspecify.annotations.NullMarked;

// Tested by
//   DistcpFormatTest: BoxCopies
//   TensorSliceTest: TensorSlicer
//   HeadsOracleTest: AttentionShapes
//   ParallelLayoutsTest: AttentionLayers, CompressedLayer, GroupedLayer, Layers, ModelConfig
//   ParallelLoadTest: WholeTensor
//   ParallelPlanTest: PlanFile
