/** Which files belong to a folder that a user named. For the loader and for data sets only. */
@NullMarked
package io.gds4j.internal.file;

import org.jspecify.annotations.NullMarked;
