package io.gds4j.compat.file;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import java.util.Locale;

/** Whether requests use the page cache. */
public enum IoPolicy {
    /** Reads take cached bytes from the page cache. Everything else goes the way that the file was opened for. */
    AUTO,
    /** Requests bypass the page cache where the file system allows it. */
    DIRECT,
    /** Requests use the page cache. */
    BUFFERED;

    /** Returns the configured policy; {@code properties.force_odirect_mode} takes precedence. */
    public static IoPolicy of(CuFileConfig config) {
        return config.get(CuFileKeys.FORCE_ODIRECT_MODE)
                ? DIRECT
                : valueOf(config.get(CuFileKeys.IO_POLICY).toUpperCase(Locale.ROOT));
    }

    /** Returns whether requests of a file bypass the page cache where they can. */
    boolean isDirect(boolean openedDirect) {
        return this == DIRECT || this == AUTO && openedDirect;
    }
}
