/**
 * The POSIX backend: serves cuFile on any file system, with or without a GPU. A request becomes a {@link
 * io.gds4j.compat.RequestPlan}; the caller and the engine's workers take its pieces, through pinned slabs where the memory is
 * a GPU's and straight where it is the host's. Only the provider is public: programs use {@code io.gds4j}.
 */
@NullMarked
package io.gds4j.compat;

import org.jspecify.annotations.NullMarked;
