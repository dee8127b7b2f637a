/** The {@code gds} command: picks the subcommand, and turns failures into messages and exit statuses. */
@NullMarked
package io.gds4j.tools;

import org.jspecify.annotations.NullMarked;
