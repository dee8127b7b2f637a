package io.gds4j.tools.io;

/** How bytes move between file and memory, in the order of gdsio's {@code -x}. */
public enum TransferType {
    GPU_DIRECT("GPUD", "one call of the cuFile API"),
    CPU_ONLY("CPUONLY", "pread or pwrite on host memory, without gds4j"),
    CPU_GPU("CPU_GPU", "pread into a host buffer, then a copy to the target"),
    CPU_ASYNC_GPU("CPU_ASYNC_GPU", "pread into host buffers, asynchronous copies"),
    CPU_CACHED_GPU("CPU_CACHED_GPU", "as CPU_GPU, through the page cache"),
    GPU_DIRECT_ASYNC("ASYNC", "cuFileReadAsync or cuFileWriteAsync on a CUDA stream"),
    GPU_BATCH("GPU_BATCH", "cuFileBatchIO"),
    GPU_BATCH_STREAM("GPU_BATCH_STREAM", "several stream operations queued at a time");

    private final String gdsioName;
    private final String meaning;

    TransferType(String gdsioName, String meaning) {
        this.gdsioName = gdsioName;
        this.meaning = meaning;
    }

    /** Name in gdsio's output. */
    public String gdsioName() {
        return gdsioName;
    }

    /** Short description. */
    public String meaning() {
        return meaning;
    }

    /** True if the cuFile API moves the bytes. */
    public boolean usesApi() {
        return this == GPU_DIRECT || this == GPU_BATCH || usesStream();
    }

    /** True if a CUDA stream orders the operations. */
    public boolean usesStream() {
        return this == GPU_DIRECT_ASYNC || this == GPU_BATCH_STREAM;
    }
}
