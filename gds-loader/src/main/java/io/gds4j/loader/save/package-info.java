/**
 * Saves tensors from GPU or host memory as safetensors checkpoints. {@link io.gds4j.loader.save.SavePlan} decides the files and their
 * layout; saving writes them by a {@link io.gds4j.CuFileDriver} and replaces an old checkpoint only when the new one is
 * complete and durable.
 */
@NullMarked
package io.gds4j.loader.save;

import org.jspecify.annotations.NullMarked;

// Tested by
//   SavePlanTest: FileWriter, PageOrder, WriteRange, SaveFile, SaveJob, SaveTarget, SaveTensor, Snapshot
//   SaveCrashTest: OutputFiles, Publication
//   ChecksumTest: Checksums
//   SaveRemoteTest: ObjectSave, TensorBytes
//   TensorOrderTest: ReorderedTensors
