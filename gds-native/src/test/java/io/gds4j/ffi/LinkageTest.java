package io.gds4j.ffi;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Each of the three failures of linking has its own message. */
class LinkageTest {
    private static final FunctionDescriptor LONG_OF_INT = FunctionDescriptor.of(JAVA_LONG, JAVA_INT);
    private static final MemorySegment SOMEWHERE = MemorySegment.ofAddress(8);

    private static CuFileException call(MethodHandle handle) {
        return catchThrowableOfType(CuFileException.class, () -> {
            long answer = (long) handle.invokeExact(1);
            throw new AssertionError("answered " + answer);
        });
    }

    @Test
    void allMissingFunctionsAreNamedAtOnce() {
        Linkage libc = new Linkage("libc", name -> Optional.empty(), (address, type, options) -> {
            throw new AssertionError("nothing to link");
        });
        MethodHandle one = libc.function("statx", LONG_OF_INT);
        libc.function("preadv2", LONG_OF_INT);
        assertThat(libc.problem()).contains("libc of this system lacks statx, preadv2");
        CuFileException failure = call(one);
        assertThat(failure.error()).isEqualTo(CuFileError.PLATFORM_NOT_SUPPORTED);
        assertThat(failure).hasMessageContaining("statx");
    }

    @Test
    void messageNamesTheOptionForNativeAccess() {
        Linkage libc = new Linkage("libc", name -> Optional.of(SOMEWHERE), (address, type, options) -> {
            throw new IllegalCallerException("denied");
        });
        MethodHandle handle = libc.function("open", LONG_OF_INT);
        assertThat(libc.problem())
                .contains("native access is denied: start java with --enable-native-access=ALL-UNNAMED");
        assertThat(call(handle)).hasMessageContaining("--enable-native-access=ALL-UNNAMED");
    }

    @Test
    void foreignPlatformsAreRefusedInOneLineWithARemedy() {
        assertThat(problem("Mac OS X aarch64", 8, "gnu_get_libc_version"))
                .isEqualTo("the driver needs Linux, this is Mac OS X aarch64");
        assertThat(problem("Linux arm", 4, "gnu_get_libc_version"))
                .isEqualTo("gds4j needs a 64-bit JVM, this one has 32 bits (Linux arm): install a 64-bit JDK");
        assertThat(problem("Linux amd64", 8, "musl")).startsWith("gds4j needs glibc").contains("musl", "Debian")
                .hasLineCount(1);
        assertThat(problem("Linux amd64", 8, "gnu_get_libc_version")).isEmpty();
        assertThat(Linkage.ofLibc().problem()).isEmpty();
    }

    /** Returns why libc is refused on a platform that has one function. */
    private static String problem(String system, long addressBytes, String function) {
        return Linkage.ofLibc(
                system, addressBytes, name -> name.equals(function) ? Optional.of(SOMEWHERE) : Optional.empty(),
                (address, type, options) -> {
                    throw new AssertionError("not linked");
                }).problem().orElse("");
    }

    @Test
    void optionNamesTheModule() {
        assertThat(Linkage.noAccess(Object.class.getModule())).endsWith("--enable-native-access=java.base");
    }

    @Test
    void messageNamesAPlatformWithoutALinker() {
        Linkage libc = new Linkage("libc", name -> Optional.of(SOMEWHERE), (address, type, options) -> {
            throw new UnsupportedOperationException();
        });
        call(libc.function("open", LONG_OF_INT));
        assertThat(libc.problem()).get().asString().contains("no native linker")
                .contains(System.getProperty("os.arch"));
    }

    @Test
    void missingFunctionWithErrnoKeepsItsSignature() {
        Linkage libc = new Linkage("libc", name -> Optional.empty(), (address, type, options) -> {
            throw new AssertionError("nothing to link");
        });
        MethodHandle handle = libc.function("read", LONG_OF_INT, CallState.CAPTURE_ERRNO);
        CuFileException failure = catchThrowableOfType(CuFileException.class, () -> {
            long answer = (long) handle.invokeExact(MemorySegment.NULL, 1);
            throw new AssertionError("answered " + answer);
        });
        assertThat(failure.error()).isEqualTo(CuFileError.PLATFORM_NOT_SUPPORTED);
    }

    @Test
    void missingAddressIsNamedWithTheOthers() {
        Linkage libc = new Linkage(
                "libc",
                name -> name.equals("here") ? Optional.of(SOMEWHERE) : Optional.empty(),
                (address, type, options) -> {
                    throw new AssertionError("nothing to link");
                });
        assertThat(libc.address("here")).isEqualTo(SOMEWHERE.address());
        assertThat(libc.problem()).isEmpty();
        libc.function("statx", LONG_OF_INT);
        assertThat(libc.address("sigfillset")).isZero();
        assertThat(libc.problem()).contains("libc of this system lacks statx, sigfillset");
    }

    @Test
    void libcOfThisMachineHasAllFunctions() {
        Linkage libc = Linkage.ofLibc();
        libc.function("getpid", FunctionDescriptor.of(JAVA_INT));
        assertThat(libc.problem()).isEmpty();
    }
}
