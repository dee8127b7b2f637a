/** What other modules find as services. */
@NullMarked
package io.gds4j.remote.internal;

import org.jspecify.annotations.NullMarked;
