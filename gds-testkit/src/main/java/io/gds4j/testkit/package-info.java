@NullMarked
package io.gds4j.testkit;

import org.jspecify.annotations.NullMarked;
