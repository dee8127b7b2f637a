package io.gds4j.tools.check;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackendProvider;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A backend and whether it can serve here.
 *
 * @param name for {@code --backend}
 * @param chosen true for the one that {@code auto} takes
 * @param reason why it cannot serve; null if it can
 * @param remedy what would help; null if it can serve
 */
record Backend(String name, boolean chosen, @Nullable String reason, @Nullable String remedy) {
    static List<Backend> all(CuFileConfig config) {
        List<Backend> backends = new ArrayList<>();
        boolean taken = false;
        for (CuFileBackendProvider provider : CuFileDriver.providers()) {
            backends.add(switch (provider.probe(config)) {
                case Availability.Available ok -> new Backend(provider.name(), !taken, null, null);
                case Availability.Unavailable(String reason, String remedy) ->
                    new Backend(provider.name(), false, reason, remedy);
            });
            taken |= backends.getLast().chosen();
        }
        return backends;
    }

    boolean available() {
        return reason == null;
    }
}
