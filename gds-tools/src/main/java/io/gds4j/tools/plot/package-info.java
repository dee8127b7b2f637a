/** {@code gds plot}: charts of what {@code gds io} measured, drawn without a screen. */
@NullMarked
package io.gds4j.tools.plot;

import org.jspecify.annotations.NullMarked;
