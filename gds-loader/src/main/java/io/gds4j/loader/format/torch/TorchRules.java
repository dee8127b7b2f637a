package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointRule;

/** The rules for files of {@code torch.save}, besides those for zip files. */
final class TorchRules {
    /** A pickle that is cut, uses a forbidden opcode or misuses its stack. */
    static final CheckpointRule PICKLE_STRUCTURE = new CheckpointRule("PickleStructure", "broken pickle");
    /** A pickle that is too large, or that expands to far more names than it has bytes. */
    static final CheckpointRule PICKLE_LIMIT = new CheckpointRule("PickleLimit", "pickle too large");
    /** A tensor inside an object of an unknown class or function. */
    static final CheckpointRule UNKNOWN_SYMBOL = new CheckpointRule("PickleUnknownSymbol", "unknown class or function");
    /** A tensor that is known and not read, such as a sparse one. */
    static final CheckpointRule UNSUPPORTED_TENSOR = new CheckpointRule("UnsupportedTensor", "tensor cannot be loaded");
    /** A tensor whose strides leave gaps or overlap. */
    static final CheckpointRule TENSOR_STRIDES = new CheckpointRule("TensorStrides", "tensor cannot be loaded");
    /** Arguments of a tensor that are missing, of a wrong type or out of range. */
    static final CheckpointRule TENSOR_ARGUMENTS = new CheckpointRule("TensorArguments", "broken tensor");
    /** A storage without a member in the archive, or of another size. */
    static final CheckpointRule STORAGE = new CheckpointRule("TorchStorage", "broken storage");

    /** Metadata of a distributed checkpoint that is incomplete, contradicts its files, or names unknown classes. */
    static final CheckpointRule DISTRIBUTED =
            new CheckpointRule("DistributedCheckpoint", "broken distributed checkpoint");

    private TorchRules() {
    }
}
