/**
 * Registered files: private descriptors or a program's source, what the file system can do, locks on page ranges, and what the page cache
 * holds. Packages above call it; it knows nothing of requests.
 */
@NullMarked
package io.gds4j.compat.file;

import org.jspecify.annotations.NullMarked;

// Tested by
//   PrivateDescriptorsTest: RegisteredFiles
//   SourcesTest: SourceIo
