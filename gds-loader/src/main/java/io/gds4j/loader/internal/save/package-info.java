/** What the package of checkpoints needs of that of saves, which depends on it. */
@NullMarked
package io.gds4j.loader.internal.save;

import org.jspecify.annotations.NullMarked;
