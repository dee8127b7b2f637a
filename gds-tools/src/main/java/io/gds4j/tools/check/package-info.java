/** What this machine has: platform, GPUs, libraries, file systems; read from /proc, /sys and the drivers, changing nothing. */
@NullMarked
package io.gds4j.tools.check;

import org.jspecify.annotations.NullMarked;
