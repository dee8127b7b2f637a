/**
 * Tensors of other runtimes by DLPack 1.x, without a copy.
 *
 * <p>
 * {@link io.gds4j.interop.dlpack.DlPackTensor} describes a tensor, {@link io.gds4j.interop.dlpack.DlPackCapsule} hands it over,
 * {@link io.gds4j.interop.dlpack.DlPackImport} holds what another runtime handed over, and
 * {@link io.gds4j.interop.dlpack.DlPackStreams} orders CUDA streams.
 *
 * @since 0.1
 */
@NullMarked
package io.gds4j.interop.dlpack;

import org.jspecify.annotations.NullMarked;
