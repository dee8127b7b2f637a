/** What modules share about files: which belong to a folder that a user named, and the pages of direct I/O. */
@NullMarked
package io.gds4j.internal.file;

import org.jspecify.annotations.NullMarked;
