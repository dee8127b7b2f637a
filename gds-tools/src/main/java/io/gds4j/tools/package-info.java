@NullMarked
package io.gds4j.tools;

import org.jspecify.annotations.NullMarked;
