/** Objects of HTTP and S3 servers as sources and as paths. */
@NullMarked
package io.gds4j.remote;

import org.jspecify.annotations.NullMarked;
