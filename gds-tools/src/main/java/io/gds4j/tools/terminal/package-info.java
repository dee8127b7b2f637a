/**
 * How the command meets the person or script that runs it: streams, exit statuses, one-line errors, JSON, units, progress.
 * The commands use it; it knows none of them.
 */
@NullMarked
package io.gds4j.tools.terminal;

import org.jspecify.annotations.NullMarked;
