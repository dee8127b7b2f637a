/** Files that are open for reading and tell their version. For the loader and its formats only. */
@NullMarked
package io.gds4j.loader.internal.file;

import org.jspecify.annotations.NullMarked;
