/** Finds the files of a checkpoint and their format. Not exported. */
@NullMarked
package io.gds4j.loader.internal.search;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CheckpointFilesTest: ForeignFile
