/**
 * What modules share about files: which belong to a folder that a user named, the pages of direct I/O, and error numbers. Files and
 * folders whose names others may change are found, opened and removed here: {@link io.gds4j.internal.file.FoundFile},
 * {@link io.gds4j.internal.file.OwnFolder}.
 */
@NullMarked
package io.gds4j.internal.file;

import org.jspecify.annotations.NullMarked;

// Tested by
//   OwnFolderTest: FoundFile, FileStatus
