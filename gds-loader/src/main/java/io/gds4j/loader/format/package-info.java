/**
 * What formats of checkpoints have in common. A {@link io.gds4j.loader.format.CheckpointFormat} turns the header of a file into
 * checked, named extents. It reads through a {@link io.gds4j.loader.format.FormatInput} and knows nothing about memory, devices
 * or threads. Programs add formats by {@link java.util.ServiceLoader}.
 */
@NullMarked
package io.gds4j.loader.format;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CheckpointFilesTest: ShardIndex
