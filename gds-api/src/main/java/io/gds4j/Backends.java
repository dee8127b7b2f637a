package io.gds4j;

import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;

/** Finds backends and chooses one. */
final class Backends {
    private static final String FUNCTION = "cuFileDriverOpen";
    static final String AUTO = "auto";

    private Backends() {
    }

    static List<CuFileBackendProvider> providers() {
        List<CuFileBackendProvider> found = new ArrayList<>();
        ServiceLoader.load(CuFileBackendProvider.class, CuFileBackendProvider.class.getClassLoader())
                .forEach(found::add);
        found.sort(Comparator.comparingInt(CuFileBackendProvider::priority).reversed());
        return found;
    }

    static CuFileBackend choose(String name, CuFileConfig config) {
        List<CuFileBackendProvider> all = providers();
        List<String> refusals = new ArrayList<>();
        boolean known = name.equals(AUTO);
        for (CuFileBackendProvider provider : all) {
            if (!name.equals(AUTO) && !name.equals(provider.name())) {
                continue;
            }
            known = true;
            switch (provider.probe(config)) {
                case Availability.Available ok -> {
                    return provider.create(config);
                }
                case Availability.Unavailable(String reason, String remedy) ->
                    refusals.add("%s: %s (%s)".formatted(provider.name(), reason, remedy));
            }
        }
        if (!known) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    FUNCTION,
                    "no backend '%s'; there are: auto, %s"
                            .formatted(
                                    name,
                                    String.join(
                                            ", ",
                                            all.stream().map(CuFileBackendProvider::name).toList())));
        }
        throw CuFileException.of(
                CuFileError.DRIVER_NOT_INITIALIZED,
                FUNCTION,
                refusals.isEmpty()
                        ? "no backend on the class path or module path: add io.gds4j:gds-compat"
                        : "no backend is available: " + String.join("; ", refusals));
    }
}
