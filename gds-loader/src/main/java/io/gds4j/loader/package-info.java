@NullMarked
package io.gds4j.loader;

import org.jspecify.annotations.NullMarked;
