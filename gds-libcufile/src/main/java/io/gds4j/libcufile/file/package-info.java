/** Files that are registered with the library, each by a descriptor of gds4j's own. */
@NullMarked
package io.gds4j.libcufile.file;

import org.jspecify.annotations.NullMarked;
