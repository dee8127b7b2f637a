/** Reads the structure of zip files for the formats that are zip files. Knows nothing of what the members contain. */
@NullMarked
package io.gds4j.loader.internal.zip;

import org.jspecify.annotations.NullMarked;

// Tested by
//   ZipArchiveTest: EndRecord
