/**
 * The {@link io.gds4j.compat.transfer.RequestExecutor} checks a request, has it planned, and has the caller and workers move its pieces.
 * Plain calls, entries of batches and operations of streams all enter there.
 */
@NullMarked
package io.gds4j.compat.transfer;

import org.jspecify.annotations.NullMarked;
