/**
 * The order of streams, CUDA's and those of the host: reads and writes that come between the other work of a stream, moved by
 * threads of ours. What moves the bytes is the backend's. For gds4j's own modules.
 */
@NullMarked
package io.gds4j.engine.stream;

import org.jspecify.annotations.NullMarked;
