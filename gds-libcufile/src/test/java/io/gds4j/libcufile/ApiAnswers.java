package io.gds4j.libcufile;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cufile.AnswerTable;
import io.gds4j.ffi.cufile.AnswersSetting;
import io.gds4j.ffi.cufile.RawAnswers;
import io.gds4j.spi.CuFileBackend;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Main class of a child JVM: asks the public API, over libcufile, what {@link RawAnswers} asks the library, and prints a row for
 * each case that a Java program can cause.
 */
final class ApiAnswers {
    static final List<String> GROUPS = List.copyOf(AnswerTable.read("gds4j-answers.txt").groups().keySet());

    private final Function<CuFileConfig, CuFileBackend> backends;
    private final CudaContexts contexts;
    private final Map<String, String> environment;
    private final Path file;
    private final String prefix;

    private ApiAnswers(
            Function<CuFileConfig, CuFileBackend> backends,
            CudaAvailability cuda,
            Map<String, String> environment,
            Path file,
            String prefix) {
        this.backends = backends;
        this.contexts = cuda.cudaContexts().orElseThrow();
        this.environment = environment;
        this.file = file;
        this.prefix = prefix;
    }

    /** @param args group, file of 8 MiB; with {@code fake} as a third, all groups over the double of the library */
    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[1]);
        if (args.length == 3 && args[2].equals("fake")) {
            for (String group : GROUPS) {
                FakeMachine machine = new FakeMachine();
                AnswersSetting setting = AnswersSetting.of(group);
                Map<String, String> environment = setting.environment(file.getParent());
                new ApiAnswers(machine::backend, machine.cuda.available(), environment, file, group + ": ")
                        .run(setting.group());
            }
        } else {
            new ApiAnswers(new LibCuFileBackendProvider()::create, CudaDriver.detect(), System.getenv(), file, "")
                    .run(args[0]);
        }
    }

    private void run(String group) throws IOException {
        switch (group) {
            case "pre" -> new ApiDriverCases(this).openAndClosed();
            case "stats" -> new ApiDriverCases(this).statistics();
            case "handle" -> new ApiFileCases(this).handles();
            case "buf" -> new ApiFileCases(this).buffers();
            case "io" -> new ApiTransferCases(this, false).run();
            case "iod" -> new ApiTransferCases(this, true).run();
            case "batch" -> new ApiBatchCases(this).batches();
            case "stream" -> new ApiBatchCases(this).streams();
            case "ioforced" -> new ApiTransferCases(this, false).runShort();
            case "opening", "range", "batchnull", "log" -> does("open", () -> configured().close());
            default -> throw new IllegalArgumentException(group);
        }
    }

    /** A case that returns an answer, or throws. */
    @FunctionalInterface
    interface Case {
        Object ask() throws Exception;
    }

    /** A case without an answer. */
    @FunctionalInterface
    interface Action {
        void run() throws Exception;
    }

    void asks(String name, Case asked) {
        row(name, answer(asked));
    }

    void does(String name, Action action) {
        asks(name, () -> {
            action.run();
            return "ok";
        });
    }

    private static String answer(Case asked) {
        try {
            return String.valueOf(asked.ask());
        } catch (CuFileException e) {
            return e.error().name() + (e.errno().isPresent() ? " " + Errno.name(e.errno().getAsInt()) : "");
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }

    void row(String name, String answer) {
        System.out.println("row\t" + prefix + name + "\t" + answer);
        System.out.flush();
    }

    Cuda cuda() {
        return contexts.cuda();
    }

    long primaryContext() {
        return contexts.primary(0);
    }

    Path file() {
        return file;
    }

    CuFileBackend backend(CuFileConfig config) {
        return backends.apply(config);
    }

    /** Opens a driver with the configuration of the environment. */
    CuFileDriver configured() {
        return CuFileDriver.open(backend(CuFileConfig.load(environment)));
    }

    /** Opens a driver with the default configuration. */
    CuFileDriver open() {
        return CuFileDriver.open(backend(CuFileConfig.defaults()));
    }
}
