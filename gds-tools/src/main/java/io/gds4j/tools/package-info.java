/**
 * The {@code gds} command: its options, help and errors. What the commands do lives in the packages below; each picocli class
 * here only gathers options and hands over, so that help and version start without the rest of gds4j.
 */
@NullMarked
package io.gds4j.tools;

import org.jspecify.annotations.NullMarked;
