/** Text from files, other processes and servers, made safe to show. Shared with our modules only. */
@NullMarked
package io.gds4j.internal.text;

import org.jspecify.annotations.NullMarked;
