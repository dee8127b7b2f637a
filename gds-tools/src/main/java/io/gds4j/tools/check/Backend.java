package io.gds4j.tools.check;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackendProvider;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A backend, and whether it can serve on this machine.
 *
 * @param name its name, as {@code --backend} takes it
 * @param chosen whether {@code auto} selects it
 * @param reason why it cannot serve; null if it can
 * @param remedy what the user can do about that; null if it can serve
 * @param whyNotChosen why {@code auto} does not select it although it can serve; null if it can be selected
 */
record Backend(
        String name,
        boolean chosen,
        @Nullable String reason,
        @Nullable String remedy,
        @Nullable String whyNotChosen) {
    static List<Backend> all(CuFileConfig config) {
        List<Backend> backends = new ArrayList<>();
        boolean taken = false;
        for (CuFileBackendProvider provider : CuFileDriver.providers()) {
            backends.add(of(provider, config, taken));
            taken |= backends.getLast().chosen();
        }
        return backends;
    }

    private static Backend of(CuFileBackendProvider provider, CuFileConfig config, boolean taken) {
        return switch (provider.probe(config)) {
            case Availability.Unavailable(String reason, String remedy) ->
                new Backend(provider.name(), false, reason, remedy, null);
            case Availability.Available ok -> switch (provider.probeForAuto(config)) {
                case Availability.Unavailable(String reason, String remedy) ->
                    new Backend(provider.name(), false, null, null, reason);
                case Availability.Available also -> new Backend(provider.name(), !taken, null, null, null);
            };
        };
    }

    boolean available() {
        return reason == null;
    }

    /** Describes the backend in a few words. */
    String describe() {
        if (!available()) {
            return "not available: %s; %s".formatted(reason, remedy);
        }
        if (whyNotChosen != null) {
            return "available, but only on request: " + whyNotChosen;
        }
        return chosen ? "available, serves by default" : "available";
    }
}
