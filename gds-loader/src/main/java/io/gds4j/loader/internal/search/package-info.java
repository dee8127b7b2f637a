/** Finds the files of a checkpoint, their format, and tensors by name. Not exported. */
@NullMarked
package io.gds4j.loader.internal.search;

import org.jspecify.annotations.NullMarked;

// Tested by
//   HostileNamesTest: NameSearch
