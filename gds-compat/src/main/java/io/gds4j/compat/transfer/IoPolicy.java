package io.gds4j.compat.transfer;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import java.util.Locale;

/** Whether the page cache serves. */
public enum IoPolicy {
    /** What is in it is read from it; what is not there comes the way that the file was opened for. */
    AUTO,
    /** Never, where the file system allows that. */
    DIRECT,
    /** Always. */
    BUFFERED;

    /** {@code properties.force_odirect_mode} wins. */
    public static IoPolicy of(CuFileConfig config) {
        return config.get(CuFileKeys.FORCE_ODIRECT_MODE)
                ? DIRECT
                : valueOf(config.get(CuFileKeys.IO_POLICY).toUpperCase(Locale.ROOT));
    }

    /** True if requests of a file go past the page cache where they can. */
    boolean isDirect(boolean openedDirect) {
        return this == DIRECT || this == AUTO && openedDirect;
    }
}
