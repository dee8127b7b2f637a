package io.gds4j.engine.staging;

/**
 * A CUDA context that memory belongs to.
 *
 * @param handle the raw {@code CUcontext}
 * @param id tells the context from a later one at the same address
 */
public record GpuContext(long handle, long id) {
}
