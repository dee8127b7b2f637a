/** Strict JSON, and the heap that texts of files may take. For the loader and its formats only. */
@NullMarked
package io.gds4j.loader.internal.text;

import org.jspecify.annotations.NullMarked;
