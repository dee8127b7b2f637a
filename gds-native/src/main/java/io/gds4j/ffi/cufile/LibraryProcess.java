package io.gds4j.ffi.cufile;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.ConfigKey;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.CuFileParameter;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.engine.lifecycle.ExitTask;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.Linkage;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.FfmPosix;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * libcufile in this process: loaded once and never unloaded, opened by the first session that needs it and closed by the
 * last. Opening, closing and staging are serialised here, because the library answers at random when they race.
 */
final class LibraryProcess {
    private static final Logger LOG = System.getLogger("io.gds4j.libcufile");
    private static final String OPEN = "cuFileDriverOpen";
    private static final Duration EXIT_WAIT = Duration.ofSeconds(5);
    private static final Duration EXIT_POLL = Duration.ofMillis(1);

    /** The real one; nothing is loaded before it is needed. */
    private static final class Real {
        static final LibraryProcess INSTANCE = new LibraryProcess(
                LibraryProcess::loadReal,
                new LibraryEnvironment(
                        FfmPosix.instance(), System.getenv(), Path.of(System.getProperty("java.io.tmpdir"))),
                LibraryDuties.asked());
    }

    private final Supplier<CuFileLibrary> loader;
    private final LibraryEnvironment environment;
    private final LibraryDuties duties;
    private final List<LibCuFileSession> sessions = new ArrayList<>();
    private @Nullable CuFileLibrary library;
    private @Nullable Opening opening;
    private @Nullable CudaContexts contexts;
    private boolean openedBefore;
    private boolean hooked;
    private boolean exiting;

    /**
     * @param loader throws a {@link CuFileException} if there is no library
     * @param duties what the library does itself
     */
    LibraryProcess(Supplier<CuFileLibrary> loader, LibraryEnvironment environment, LibraryDuties duties) {
        this.loader = loader;
        this.environment = environment;
        this.duties = duties;
    }

    static LibraryProcess ofThisProcess() {
        return Real.INSTANCE;
    }

    private static CuFileLibrary loadReal() {
        LibCuFile.obstacle().ifPresent(reason -> {
            throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, OPEN, reason);
        });
        return switch (LibCuFile.locate()) {
            case LibCuFile.NotFound(String reason) ->
                throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, OPEN, reason);
            case LibCuFile.Found found -> switch (LibCuFile.load(found)) {
                case DynamicLoader.NotLoaded(String reason) ->
                    throw CuFileException.of(
                            CuFileError.DRIVER_NOT_INITIALIZED,
                            OPEN,
                            "%s does not load: %s".formatted(found.describe(), reason));
                case DynamicLoader.Unlinked(String reason) -> throw Linkage.failure(reason);
                case DynamicLoader.Loaded loaded -> new FfmCuFileLibrary(loaded.symbols(), found.describe());
            };
        };
    }

    /** What the library does itself. */
    LibraryDuties duties() {
        return duties;
    }

    /** The library without opening it; settings first, since loading it starts its log. */
    synchronized CuFileLibrary load(LibrarySettings settings) {
        if (library == null) {
            environment.apply(shown(settings));
            library = loader.get();
        }
        return library;
    }

    /**
     * Opens the library for a session, or joins those that have it open.
     *
     * @throws CuFileException DRIVER_ALREADY_OPEN if it is open with other settings
     */
    synchronized Opening open(LibCuFileSession session, LibrarySettings wanted, CudaContexts cuda) {
        LibrarySettings settings = shown(wanted);
        if (exiting) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, OPEN, "the JVM is exiting");
        }
        Opening open = opening;
        if (open == null) {
            // Opening pins memory, which waits for all streams.
            StreamWaits.of(cuda).whileNone(() -> opening = openFirst(settings, cuda));
            open = Objects.requireNonNull(opening);
            contexts = cuda;
        } else {
            settings.differenceFrom(open.settings()).ifPresent(difference -> {
                throw CuFileException.of(
                        CuFileError.DRIVER_ALREADY_OPEN,
                        OPEN,
                        "libcufile has one configuration for the whole process: " + difference);
            });
        }
        sessions.add(session);
        return open;
    }

    /**
     * What the library learns of settings. Where it does not count, it never hears of a level of statistics: it died once of setting
     * its counters up.
     */
    private LibrarySettings shown(LibrarySettings settings) {
        return duties.statistics() ? settings : settings.with(CuFileKeys.PROFILE_CUFILE_STATS, 0L);
    }

    private Opening openFirst(LibrarySettings settings, CudaContexts cuda) {
        hookExit();
        environment.apply(settings);
        CuFileLibrary loaded = load(settings);
        // Some versions misbehave unless CUDA is initialised; its internal streams live in the primary context.
        long context = cuda.primary(0);
        if (loaded.has(CuFileFunction.USE_COUNT) && loaded.useCount() > 0) {
            LOG.log(Level.WARNING, "libcufile is open already by other code of this process: its settings hold");
        } else if (openedBefore) {
            // What was staged is forgotten at each open. Not before the first one, where some versions die of it.
            forgetStatistics(loaded);
            stage(loaded, settings);
        }
        return CurrentContext.with(cuda.cuda(), context, () -> {
            loaded.driverOpen();
            openedBefore = true;
            try {
                return new Opening(loaded, settings, loaded.driverGetProperties(), StreamWaits.of(cuda));
            } catch (CuFileException e) {
                loaded.driverClose();
                throw e;
            }
        });
    }

    /** The library keeps its level when it is closed, and would count from the next opening on, asked or not. */
    private static void forgetStatistics(CuFileLibrary library) {
        if (library.has(CuFileFunction.SET_STATS_LEVEL)) {
            library.setStatsLevel(0);
        }
    }

    private static void stage(CuFileLibrary library, LibrarySettings settings) {
        if (!library.has(CuFileFunction.SET_PARAMETER_SIZE_T)) {
            return;
        }
        settings.parameters().forEach((key, value) -> {
            try {
                stage(library, key, value);
            } catch (CuFileException e) {
                LOG.log(Level.WARNING, "libcufile does not take {0}={1}: {2}", key.name(), value, e.getMessage());
            }
        });
        if (library.has(CuFileFunction.SET_PARAMETER_POSIX_POOL_SLAB_ARRAY)) {
            library.setParameterPosixPoolSlabArray(settings.posixPoolSlabs());
        }
    }

    private static void stage(CuFileLibrary library, ConfigKey<?> key, Object value) {
        CuFileParameter parameter = key.parameter().orElseThrow();
        switch (parameter) {
            case SizeParameter size -> library.setParameterSizeT(size.index(), (Long) value);
            case BoolParameter bool -> library.setParameterBool(bool.index(), (Boolean) value);
            case StringParameter.LOGGING_LEVEL -> library.setParameterString(parameter.index(), (String) value);
            // The log file is open already.
            case StringParameter text -> {
            }
        }
    }

    /** One session fewer; the last one closes the library. */
    synchronized void close(LibCuFileSession session) {
        Opening open = opening;
        if (!sessions.remove(session) || open == null || !sessions.isEmpty() || exiting) {
            return;
        }
        closeLast(open);
    }

    private void closeLast(Opening open) {
        opening = null;
        open.end();
        CudaContexts cuda = contexts;
        if (cuda != null) {
            StreamWaits.of(cuda).whileNone(() -> CurrentContext.with(cuda.cuda(), cuda.primary(0), () -> {
                open.library().driverClose();
                return true;
            }));
        }
    }

    /** True if closing would have to wait for a stream of anybody's. */
    private boolean aStreamWaits() {
        CudaContexts cuda = contexts;
        return cuda != null && StreamWaits.of(cuda).any();
    }

    private void hookExit() {
        if (!hooked) {
            ExitTask.register(OPEN, "gds4j-libcufile-exit", this::exit);
            hooked = true;
        }
    }

    /**
     * The JVM exits: refuses new calls, waits a bounded time for those at work, and closes the library if nobody is inside.
     * Left open with statistics on it crashes the process at exit; closed under a transfer it might.
     */
    void exit() {
        List<LibCuFileSession> left;
        synchronized (this) {
            exiting = true;
            left = List.copyOf(sessions);
            if (opening != null) {
                opening.beginExit();
            }
        }
        left.forEach(session -> session.batches().cancelAll());
        long deadline = System.nanoTime() + EXIT_WAIT.toNanos();
        while (left.stream().anyMatch(LibCuFileSession::isBusy) && System.nanoTime() < deadline) {
            LockSupport.parkNanos(EXIT_POLL.toNanos());
        }
        left.forEach(session -> session.streams().releaseForExit());
        synchronized (this) {
            Opening open = opening;
            if (open != null && !aStreamWaits() && left.stream().noneMatch(LibCuFileSession::isBusy)) {
                try {
                    left.forEach(session -> session.batches().close());
                    closeLast(open);
                } catch (RuntimeException e) {
                    LOG.log(Level.DEBUG, "closing libcufile at exit: {0}", e.getMessage());
                }
            }
        }
    }
}
