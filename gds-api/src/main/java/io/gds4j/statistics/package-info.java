/**
 * What a driver session counted: bytes by I/O path and cuFile's statistics levels 1 to 3. Plain values, taken at one moment.
 */
@NullMarked
package io.gds4j.statistics;

import org.jspecify.annotations.NullMarked;
