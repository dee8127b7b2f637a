/**
 * Requests become transfers. The {@link io.gds4j.compat.transfer.RequestExecutor} checks a request, plans its pieces, and lets the
 * caller and workers move them. Plain calls, entries of batches and operations of streams all enter there.
 */
@NullMarked
package io.gds4j.compat.transfer;

import org.jspecify.annotations.NullMarked;
