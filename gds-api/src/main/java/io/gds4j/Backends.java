package io.gds4j;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.routing.DirectOnlyBackend;
import io.gds4j.internal.routing.RoutingBackend;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.spi.Machine;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds backends and chooses one. */
final class Backends {
    private static final String FUNCTION = "cuFileDriverOpen";
    private static final String SERVICE_FILE = "META-INF/services/" + CuFileBackendProvider.class.getName();
    private static final List<String> OWN_PROVIDERS =
            List.of("io.gds4j.libcufile.LibCuFileBackendProvider", "io.gds4j.compat.CompatBackendProvider");

    private Backends() {
    }

    /** Returns the providers of the loader that loaded the SPI, best first. Logs and omits a provider that cannot be loaded. */
    static List<CuFileBackendProvider> providers() {
        return providers(CuFileBackendProvider.class.getClassLoader());
    }

    /**
     * Returns the providers that a loader finds, best first. Logs and omits a provider that cannot be loaded. Our own providers
     * are found by name where a jar of many jars kept only one of the service files.
     */
    static List<CuFileBackendProvider> providers(ClassLoader loader) {
        List<CuFileBackendProvider> found = listed(loader);
        for (String name : OWN_PROVIDERS) {
            if (found.stream().noneMatch(provider -> provider.getClass().getName().equals(name))) {
                unlisted(name, loader).ifPresent(found::add);
            }
        }
        found.sort(Comparator.comparingInt(CuFileBackendProvider::priority).reversed());
        return found;
    }

    /** Returns the providers that service files and module descriptors list. */
    private static List<CuFileBackendProvider> listed(ClassLoader loader) {
        List<CuFileBackendProvider> found = new ArrayList<>();
        Iterator<CuFileBackendProvider> providers = ServiceLoader.load(CuFileBackendProvider.class, loader).iterator();
        while (true) {
            try {
                if (!providers.hasNext()) {
                    return found;
                }
                found.add(providers.next());
            } catch (ServiceConfigurationError e) {
                warn("a backend cannot be loaded: " + e.getMessage() + (e.getCause() == null
                        ? "; add the jar that contains the provider, or remove its line from " + SERVICE_FILE
                        : ": " + e.getCause()));
            }
        }
    }

    /** Returns a provider of ours that the loader can load although no service file lists it. */
    private static Optional<CuFileBackendProvider> unlisted(String name, ClassLoader loader) {
        try {
            Class<?> type = Class.forName(name, false, loader);
            if (type.getModule().isNamed() || !CuFileBackendProvider.class.isAssignableFrom(type)) {
                return Optional.empty();
            }
            CuFileBackendProvider provider = (CuFileBackendProvider) type.getConstructor().newInstance();
            warn("%s is on the class path, but no %s lists it; found by name. Merge the service files of all jars: "
                    .formatted(name, SERVICE_FILE)
                    + "ServicesResourceTransformer of the Maven Shade plugin, mergeServiceFiles() of Gradle Shadow");
            return Optional.of(provider);
        } catch (ClassNotFoundException e) {
            return Optional.empty();
        } catch (ReflectiveOperationException | LinkageError e) {
            warn("a backend cannot be loaded: %s: %s".formatted(name, e));
            return Optional.empty();
        }
    }

    private static void warn(String line) {
        System.getLogger("io.gds4j").log(Level.WARNING, line);
    }

    /** Returns the providers, best first, for a driver; refuses jars of two releases, whose calls of each other may fail. */
    static List<CuFileBackendProvider> ofOneRelease() {
        Releases.conflict().ifPresent(conflict -> {
            throw failure(CuFileError.DRIVER_VERSION_MISMATCH, conflict);
        });
        return providers();
    }

    /** Returns those of our own providers that the class path has. */
    static List<CuFileBackendProvider> own() {
        List<CuFileBackendProvider> found = new ArrayList<>();
        for (String name : OWN_PROVIDERS) {
            try {
                found.add((CuFileBackendProvider) Class.forName(name).getConstructor().newInstance());
            } catch (ReflectiveOperationException | LinkageError | ClassCastException e) {
                // not there, in a module that does not export it, or of another release, which the search reports
            }
        }
        return found;
    }

    /** Has providers begin what a driver needs with any configuration; returns what waits for them. */
    static Runnable anticipate(List<CuFileBackendProvider> providers) {
        List<Runnable> begun = new ArrayList<>();
        for (CuFileBackendProvider provider : providers) {
            try {
                begun.add(provider.anticipate());
            } catch (LinkageError e) {
                // jars of two releases, which the check of releases reports
            }
        }
        return () -> begun.forEach(Runnable::run);
    }

    static CuFileBackend choose(String name, CuFileConfig config, List<CuFileBackendProvider> providers) {
        List<CuFileBackendProvider> candidates = named(name, providers);
        List<String> refusals = new ArrayList<>();
        List<String> unsupported = new ArrayList<>();
        boolean auto = name.equals(BackendChoice.AUTO);
        boolean directOnly = config.directStorage() == DirectStorage.REQUIRE;
        for (CuFileBackendProvider provider : candidates) {
            switch (auto || directOnly ? provider.probeForAuto(config) : provider.probe(config)) {
                case Availability.Available ok -> {
                    if (directOnly) {
                        return new DirectOnlyBackend(provider.create(config));
                    }
                    return fallback(provider, config, providers)
                            .<CuFileBackend>map(fallback -> new RoutingBackend(
                                    auto ? provider.createForAuto(config) : provider.create(config),
                                    () -> fallback.create(config)))
                            .orElseGet(() -> provider.create(config));
                }
                case Availability.Unavailable no -> {
                    if (!directOnly && no.error() == CuFileError.PLATFORM_NOT_SUPPORTED) {
                        unsupported.add(no.reason());
                    }
                    refusals.add("%s: %s (%s)".formatted(provider.name(), no.reason(), no.remedy()));
                }
            }
        }
        if (!unsupported.isEmpty()) {
            throw failure(CuFileError.PLATFORM_NOT_SUPPORTED, unsupported.getFirst());
        }
        if (!refusals.isEmpty()) {
            throw failure(
                    CuFileError.DRIVER_NOT_INITIALIZED,
                    (directOnly
                            ? "GPUDirect Storage is required (allow_compat_mode=false, %s), but no backend offers it: %s"
                                    .formatted(config.value(CuFileKeys.ALLOW_COMPAT_MODE).origin(),
                                            String.join("; ", obstacles(providers, config)))
                            : "no backend is available: " + String.join("; ", refusals)));
        }
        if (providers.isEmpty()) {
            throw failure(
                    CuFileError.DRIVER_NOT_INITIALIZED,
                    "no backend on the class path or module path: add io.gds4j:gds-compat");
        }
        String names = Stream.concat(Stream.of(BackendChoice.AUTO), providers.stream().map(CuFileBackendProvider::name))
                .collect(Collectors.joining(", "));
        throw failure(CuFileError.INVALID_VALUE, "backend is '%s', allowed: %s".formatted(name, names));
    }

    /** Returns whether a driver that is opened so would open, too, if GPUDirect Storage had to serve all its files. */
    static boolean offersDirectStorage(BackendChoice choice, List<CuFileBackendProvider> providers) {
        CuFileConfig config = choice.config();
        if (config.directStorage() == DirectStorage.OFF) {
            return false;
        }
        CuFileConfig required = config.toBuilder().directStorage(DirectStorage.REQUIRE).build();
        return named(choice.backend(), providers).stream()
                .anyMatch(provider -> provider.probeForAuto(required) instanceof Availability.Available);
    }

    /** Returns those of a name; all for {@code auto}. */
    private static List<CuFileBackendProvider> named(String name, List<CuFileBackendProvider> providers) {
        return providers.stream()
                .filter(provider -> name.equals(BackendChoice.AUTO) || name.equals(provider.name()))
                .toList();
    }

    /** Returns why no backend offers direct storage. A backend that only the demand for it excludes never offers it. */
    private static Set<String> obstacles(List<CuFileBackendProvider> providers, CuFileConfig config) {
        CuFileConfig notRequired = config.toBuilder().directStorage(DirectStorage.AUTO).build();
        Set<String> found = new LinkedHashSet<>();
        for (CuFileBackendProvider provider : providers) {
            if (provider.probeForAuto(notRequired) instanceof Availability.Unavailable) {
                for (Availability answer : List.of(provider.probe(config), provider.probeForAuto(config))) {
                    if (answer instanceof Availability.Unavailable(String reason, String remedy, _)) {
                        found.add("%s: %s (%s)".formatted(provider.name(), reason, remedy));
                    }
                }
            }
        }
        providers.stream().flatMap(provider -> provider.machine().stream()).findFirst().flatMap(Machine::noGpu)
                .filter(reason -> found.stream().noneMatch(known -> known.contains(reason)))
                .ifPresent(found::add);
        return found;
    }

    /** Returns the best available provider of lower priority, for files that the chosen backend refuses. */
    private static Optional<CuFileBackendProvider> fallback(
            CuFileBackendProvider chosen, CuFileConfig config, List<CuFileBackendProvider> providers) {
        return providers.stream()
                .filter(provider -> provider.priority() < chosen.priority())
                .filter(provider -> provider.probeForAuto(config) instanceof Availability.Available)
                .findFirst();
    }

    private static CuFileException failure(CuFileError error, String detail) {
        return CuFileException.of(error, FUNCTION, detail);
    }
}
