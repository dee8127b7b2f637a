/**
 * Counters of a driver session: bytes on each I/O path and cuFile's statistics levels 1 to 3. Values are snapshots.
 */
@NullMarked
package io.gds4j.statistics;

import org.jspecify.annotations.NullMarked;
