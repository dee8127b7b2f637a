/**
 * What a request is, and how it is served: which bytes bypass the page cache, in which pieces, by how many threads. Moves no byte.
 */
@NullMarked
package io.gds4j.compat.plan;

import org.jspecify.annotations.NullMarked;
