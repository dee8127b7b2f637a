/** Text of files: strict JSON, and names that are safe in a message of one line. For the loader and its formats only. */
@NullMarked
package io.gds4j.loader.internal.text;

import org.jspecify.annotations.NullMarked;
