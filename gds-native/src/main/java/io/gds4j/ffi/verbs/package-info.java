/**
 * Memory regions of InfiniBand verbs, by libibverbs through the Java FFM API: registers host memory, GPU memory and dma-bufs with
 * an RDMA device, where there is one. For programs that move bytes over the network themselves.
 */
@NullMarked
package io.gds4j.ffi.verbs;

import org.jspecify.annotations.NullMarked;
