/** Lists of extents in JSON: named ranges of files of any content, for everything that has no format of its own. */
@NullMarked
package io.gds4j.loader.format.extents;

import org.jspecify.annotations.NullMarked;
