/**
 * Random sequences of operations on files, checked against a plain copy in memory and an independent reader.
 */
@NullMarked
package io.gds4j.testkit.random;

import org.jspecify.annotations.NullMarked;
