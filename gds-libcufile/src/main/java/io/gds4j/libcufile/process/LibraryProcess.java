package io.gds4j.libcufile.process;

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
import io.gds4j.ffi.cufile.CuFileFunction;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.cufile.CuFileVersion;
import io.gds4j.ffi.cufile.FfmCuFileLibrary;
import io.gds4j.ffi.cufile.LibCuFile;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * libcufile in this process. It is loaded once and never unloaded; the first session opens it and the last one closes
 * it. Opening, closing and staging parameters are serialised here, because the library's answers are unpredictable when
 * they race.
 */
public final class LibraryProcess {
    private static final Logger LOG = System.getLogger("io.gds4j.libcufile");
    private static final String OPEN = "cuFileDriverOpen";
    /** Largest {@code execution.max_io_threads} before {@link LibraryTrait#MANY_THREADS}. */
    private static final int MAX_THREADS_BEFORE = 32;
    private static final Duration EXIT_WAIT = Duration.ofSeconds(5);
    private static final Duration EXIT_POLL = Duration.ofMillis(1);

    /** The instance for the real library, which is loaded when it is first needed. */
    private static final class Real {
        static final LibraryProcess INSTANCE = new LibraryProcess(
                LibraryProcess::loadReal,
                FfmPosix.instance(), System.getenv());
    }

    private final Supplier<CuFileLibrary> loader;
    private final LibraryEnvironment environment;
    private final List<User> sessions = new ArrayList<>();
    private @Nullable CuFileLibrary library;
    private @Nullable OpenLibrary openLibrary;
    private @Nullable CudaContexts contexts;
    private boolean openedBefore;
    private boolean exitHooked;
    private boolean exiting;

    /**
     * @param loader throws a {@link CuFileException} if there is no library
     * @param variables environment variables of this process
     */
    public LibraryProcess(Supplier<CuFileLibrary> loader, Posix posix, Map<String, String> variables) {
        this.loader = loader;
        this.environment = new LibraryEnvironment(posix, variables, Path.of(System.getProperty("java.io.tmpdir")));
    }

    public static LibraryProcess ofThisProcess() {
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

    /** Newer versions are served as the newest known one. */
    private static CuFileLibrary noted(CuFileLibrary library) {
        if (library.version().isNewerThanKnown()) {
            LOG.log(
                    Level.WARNING,
                    "{0} is cuFile {1}; gds4j knows versions up to {2} and serves it as that one",
                    library.description(),
                    library.version(),
                    CuFileVersion.NEWEST_KNOWN);
        }
        return library;
    }

    /** The library would answer the open with an errno and a line on standard error. */
    private static void checkThreads(CuFileLibrary library, LibrarySettings settings) {
        long threads = settings.get(CuFileKeys.MAX_IO_THREADS);
        if (threads > MAX_THREADS_BEFORE && !LibraryTrait.MANY_THREADS.isOf(library.version())) {
            throw CuFileException.of(
                    CuFileError.DRIVER_INVALID_PROPS,
                    OPEN,
                    "%s is %s, allowed by %s: 0 to %s".formatted(
                            CuFileKeys.MAX_IO_THREADS.name(), threads, library.description(), MAX_THREADS_BEFORE));
        }
    }

    /**
     * Loads the library without opening it. The settings are applied first, because loading starts the library's log.
     */
    public synchronized CuFileLibrary load(LibrarySettings settings) {
        if (library == null) {
            environment.apply(withoutStatistics(settings));
            library = noted(loader.get());
        }
        return library;
    }

    /**
     * Opens the library for a session, or joins the sessions that have it open.
     *
     * @throws CuFileException DRIVER_ALREADY_OPEN if it is open with other settings
     */
    public synchronized OpenLibrary open(User session, LibrarySettings wanted, CudaContexts cuda) {
        LibrarySettings settings = withoutStatistics(wanted);
        if (exiting) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, OPEN, "the JVM is exiting");
        }
        OpenLibrary open = openLibrary;
        if (open == null) {
            // Opening pins memory, which waits for all streams.
            StreamWaits.of(cuda).whileNone(() -> openLibrary = openFirst(settings, cuda));
            open = Objects.requireNonNull(openLibrary);
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
     * The settings that the library sees. gds4j counts itself, because the library crashed once while it set up its
     * counters.
     */
    private static LibrarySettings withoutStatistics(LibrarySettings settings) {
        return settings.with(CuFileKeys.PROFILE_CUFILE_STATS, 0L);
    }

    private OpenLibrary openFirst(LibrarySettings settings, CudaContexts cuda) {
        hookExit();
        environment.apply(settings);
        CuFileLibrary loaded = load(settings);
        checkThreads(loaded, settings);
        // Some versions misbehave unless CUDA is initialised; the library's streams live in the primary context.
        long context = cuda.primary(0);
        if (loaded.has(CuFileFunction.USE_COUNT) && loaded.useCount() > 0) {
            LOG.log(Level.WARNING, "other code of this process has opened libcufile: its settings apply");
        } else if (openedBefore) {
            // Each open forgets staged parameters. Some versions crash if they are staged before the first open.
            forgetStatistics(loaded);
            stage(loaded, settings);
        }
        return CurrentContext.with(cuda.cuda(), context, () -> {
            loaded.driverOpen();
            openedBefore = true;
            try {
                return new OpenLibrary(loaded, settings, loaded.driverGetProperties(), StreamWaits.of(cuda));
            } catch (CuFileException e) {
                loaded.driverClose();
                throw e;
            }
        });
    }

    /** The library keeps its level of statistics while it is closed. Other code of the process may have raised it. */
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
                LOG.log(Level.WARNING, "libcufile rejects {0}={1}: {2}", key.name(), value, e.getMessage());
            }
        });
        if (library.has(CuFileFunction.SET_PARAMETER_POSIX_POOL_SLAB_ARRAY)) {
            library.setParameterPosixPoolSlabArray(settings.posixPoolSlabs());
        }
        if (settings.gpuSlabClasses() > 0 && library.has(CuFileFunction.SET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY)) {
            library.setParameterGpuBounceBufferSlabArray(settings.gpuSlabs());
        }
    }

    private static void stage(CuFileLibrary library, ConfigKey<?> key, Object value) {
        CuFileParameter<?> parameter = key.parameter().orElseThrow();
        if (!LibraryTrait.hasParameter(library.version(), parameter)) {
            return;
        }
        switch (parameter) {
            case SizeParameter size -> library.setParameterSizeT(size.index(), (Long) value);
            case BoolParameter bool -> library.setParameterBool(bool.index(), (Boolean) value);
            case StringParameter text -> {
                if (text == StringParameter.LOGGING_LEVEL) { // the library has already opened its log
                    library.setParameterString(text.index(), (String) value);
                }
            }
        }
    }

    /** Removes a session; the last one closes the library. */
    public synchronized void close(User session) {
        OpenLibrary open = openLibrary;
        if (!sessions.remove(session) || open == null || !sessions.isEmpty() || exiting) {
            return;
        }
        closeLast(open);
    }

    private void closeLast(OpenLibrary open) {
        openLibrary = null;
        open.end();
        CudaContexts cuda = contexts;
        if (cuda != null) {
            StreamWaits.of(cuda).whileNone(() -> CurrentContext.with(cuda.cuda(), cuda.primary(0), () -> {
                open.library().driverClose();
                return true;
            }));
        }
    }

    /** True while a stream waits: closing the library would wait for it. */
    private boolean anyStreamWaits() {
        CudaContexts cuda = contexts;
        return cuda != null && StreamWaits.of(cuda).any();
    }

    private void hookExit() {
        if (!exitHooked) {
            ExitTask.register(OPEN, "gds4j-libcufile-exit", this::exit);
            exitHooked = true;
        }
    }

    /**
     * The JVM exits: refuses new calls, waits up to 5 s for running ones, and closes the library if none is left. A
     * library that stays open with statistics on crashes the process at exit; closing it under a transfer might crash,
     * too.
     */
    void exit() {
        List<User> left;
        synchronized (this) {
            exiting = true;
            left = List.copyOf(sessions);
            if (openLibrary != null) {
                openLibrary.beginExit();
            }
        }
        left.forEach(User::cancelBatches);
        long deadline = System.nanoTime() + EXIT_WAIT.toNanos();
        while (left.stream().anyMatch(User::isBusy) && System.nanoTime() < deadline) {
            LockSupport.parkNanos(EXIT_POLL.toNanos());
        }
        left.forEach(User::releaseStreams);
        synchronized (this) {
            OpenLibrary open = openLibrary;
            if (open != null && !anyStreamWaits() && left.stream().noneMatch(User::isBusy)) {
                try {
                    left.forEach(User::closeBatches);
                    closeLast(open);
                } catch (RuntimeException e) {
                    LOG.log(Level.DEBUG, "closing libcufile at exit: {0}", e.getMessage());
                }
            }
        }
    }

    /**
     * A session as {@link LibraryProcess} sees it. At exit the process waits for its users and ends their batches and
     * streams before it closes the library.
     */
    public interface User {
        /** True while the library works for this session. */
        boolean isBusy();

        /** Cancels the entries of all batches that have not begun. */
        void cancelBatches();

        /** Releases all waiting streams, although operations are pending: the process ends. */
        void releaseStreams();

        /** Destroys all batches. */
        void closeBatches();
    }
}
