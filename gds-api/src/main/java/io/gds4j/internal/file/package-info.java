/** What modules share about files: which belong to a folder that a user named, the pages of direct I/O, and error numbers. */
@NullMarked
package io.gds4j.internal.file;

import org.jspecify.annotations.NullMarked;
