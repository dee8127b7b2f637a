/**
 * Checkpoints of {@code torch.save} since PyTorch 1.6: a zip file with a pickle that describes the tensors; and those of
 * {@code torch.distributed.checkpoint}, whose records are such files. Pickles are read as data: nothing is executed, imported or
 * created by name.
 */
@NullMarked
package io.gds4j.loader.format.torch;

import org.jspecify.annotations.NullMarked;

// Tested by
//   DistcpFormatTest: DistcpMetadata, DistcpRecords, RecordBlocks
//   TorchFormatTest: LeftOut, PickleInput, PickleMachine, PickleValue, StateDict, TensorBuilder
