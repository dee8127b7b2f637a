@NullMarked
package io.gds4j.samples;

import org.jspecify.annotations.NullMarked;
