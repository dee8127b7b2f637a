/** {@code gds io}: measures what storage and memory can do together, with the options and the words of gdsio. */
@NullMarked
package io.gds4j.tools.io;

import org.jspecify.annotations.NullMarked;
