package io.gds4j.engine.staging;

/** What copies between slabs and the memory of a GPU. */
public enum CopyBy {
    /** This thread: complete at once. For managed memory while streams wait for this process: the driver's copies of it wait for those streams. */
    PROCESSOR,
    /** The GPU's copy engines. */
    ENGINE,
    /** Copy engines, or a kernel if there are several small parts. Managed memory takes copy engines. */
    KERNEL
}
