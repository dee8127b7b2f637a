/** Batches: entries that the library handles well go to its own batches, all others are single transfers on threads of the session. */
@NullMarked
package io.gds4j.libcufile.batch;

import org.jspecify.annotations.NullMarked;
