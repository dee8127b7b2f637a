@NullMarked
package io.gds4j.compat;

import org.jspecify.annotations.NullMarked;
