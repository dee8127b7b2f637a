/**
 * Checkpoints on many machines by Apache Spark: the plugin that opens a driver in each executor, the registry of models that an executor's
 * tasks share, and the jobs that verify, load and save a checkpoint. Programs call it; it uses the public API of gds4j only.
 */
@NullMarked
package io.gds4j.spark;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CheckpointJobsTest: JobTask
