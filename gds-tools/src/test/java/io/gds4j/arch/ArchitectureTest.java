package io.gds4j.arch;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.GeneralCodingRules.ACCESS_STANDARD_STREAMS;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.io.IOException;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.text.Format;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Formatter;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The arrows between modules and packages, as docs/architecture.md draws them. */
class ArchitectureTest {
    static Stream<Arguments> modulesAndWhatTheyMayKnow() {
        return Stream.of(
                Arguments.of("gds-api", Rooms.API,
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, Rooms.MANAGEMENT, Rooms.FLIGHT_RECORDER, Rooms.JSPECIFY,
                                Rooms.JACKSON_CORE)),
                Arguments.of(
                        "gds-native",
                        Rooms.BINDINGS,
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, "javax.net.ssl..", Rooms.JSPECIFY, Rooms.FFI)),
                Arguments.of(
                        "gds-engine",
                        new String[]{Rooms.ENGINE},
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, Rooms.JSPECIFY, Rooms.FFI, Rooms.ENGINE)),
                Arguments.of(
                        "gds-jcuda",
                        new String[]{Rooms.JCUDA_INTEROP},
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, Rooms.JSPECIFY, Rooms.FFI, Rooms.JCUDA_INTEROP,
                                Rooms.JCUDA)),
                Arguments.of(
                        "gds-libcufile",
                        new String[]{Rooms.LIBCUFILE},
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, Rooms.JSPECIFY, Rooms.FFI, Rooms.ENGINE,
                                Rooms.LIBCUFILE)),
                Arguments.of(
                        "gds-compat",
                        new String[]{Rooms.COMPAT},
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, Rooms.JSPECIFY, Rooms.FFI, Rooms.ENGINE, Rooms.COMPAT)),
                Arguments.of(
                        "gds-loader",
                        new String[]{Rooms.LOADER},
                        Rooms.apiAnd("io.gds4j.internal.lifetime", "io.gds4j.internal.memory",
                                "io.gds4j.internal.plain", Rooms.INTERNAL_FILE,
                                Rooms.INTERNAL_TEXT,
                                Rooms.JDK,
                                Rooms.FLIGHT_RECORDER,
                                Rooms.JSPECIFY, "io.gds4j.ffi.posix", Rooms.LOADER)),
                Arguments.of(
                        "gds-dataset",
                        new String[]{Rooms.DATASET},
                        Rooms.apiAnd("io.gds4j.internal.lifetime", Rooms.INTERNAL_FILE, Rooms.INTERNAL_TEXT, Rooms.JDK,
                                Rooms.JSPECIFY, Rooms.MANAGEMENT,
                                Rooms.FLIGHT_RECORDER,
                                Rooms.JACKSON_CORE, Rooms.ZSTD,
                                Rooms.DATASET)),
                Arguments.of(
                        "gds-interop",
                        new String[]{Rooms.INTEROP},
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, Rooms.JSPECIFY, Rooms.FFI, Rooms.LOADER,
                                Rooms.INTEROP, Rooms.FLIGHT_RECORDER, Rooms.MICROMETER, Rooms.DJL)),
                Arguments.of(
                        "gds-rdma",
                        new String[]{Rooms.RDMA},
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, Rooms.JSPECIFY, "io.gds4j.ffi.verbs",
                                "io.gds4j.ffi.cuda", Rooms.RDMA)),
                Arguments.of(
                        "gds-remote",
                        new String[]{Rooms.REMOTE},
                        Rooms.apiAnd(Rooms.INTERNAL_TEXT, Rooms.INTERNAL_HTTP, Rooms.INTERNAL_FILE, Rooms.JDK,
                                "javax.net.ssl..",
                                "javax.crypto..",
                                "javax.xml.stream..",
                                Rooms.JACKSON_CORE,
                                Rooms.JSPECIFY,
                                Rooms.REMOTE)),
                Arguments.of(
                        "gds-aws, gds-gcs, gds-azure",
                        new String[]{Rooms.AWS, Rooms.GCS, Rooms.AZURE},
                        Rooms.apiAnd(Rooms.JDK, Rooms.JSPECIFY, Rooms.REMOTE, Rooms.AWS, Rooms.AWS_SDK, Rooms.GCS,
                                Rooms.GOOGLE_AUTH, Rooms.AZURE, Rooms.AZURE_SDK)),
                Arguments.of(
                        "samples",
                        new String[]{Rooms.SAMPLES},
                        Rooms.apiAnd(Rooms.JDK, Rooms.JSPECIFY, Rooms.LOADER, Rooms.DATASET, Rooms.INTEROP,
                                Rooms.JCUDA_INTEROP, Rooms.JCUDA, Rooms.RDMA, "javax.crypto..", Rooms.SAMPLES)),
                Arguments.of(
                        "gds-testkit",
                        new String[]{Rooms.TESTKIT},
                        Rooms.apiAnd(Rooms.INTERNAL, Rooms.JDK, Rooms.MANAGEMENT, Rooms.JSPECIFY, Rooms.TESTKIT,
                                "org.junit..")),
                Arguments.of(
                        "gds-testkit-contract",
                        Rooms.CONTRACT,
                        Rooms.apiAnd(Rooms.JDK, Rooms.MANAGEMENT, Rooms.JSPECIFY, "io.gds4j.testkit..", "org.junit..",
                                "org.assertj..")));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("modulesAndWhatTheyMayKnow")
    void aModuleKnowsOnlyThoseItsArrowsPointTo(String module, String[] packages, String[] known) {
        classes()
                .that().resideInAnyPackage(packages)
                .should().onlyDependOnClassesThat().resideInAnyPackage(known)
                .check(Rooms.MAIN_CLASSES);
    }

    static Stream<Arguments> packagesAndThoseAbove() {
        return Stream.of(Rooms.API, Rooms.ENGINE_PACKAGES, Rooms.COMPAT_PACKAGES, Rooms.LIBCUFILE_PACKAGES,
                Rooms.LOADER_PACKAGES, Rooms.DATASET_PACKAGES)
                .flatMap(room -> IntStream.range(0, room.length - 1)
                        .mapToObj(i -> Arguments.of(room[i], Arrays.copyOfRange(room, i + 1, room.length))));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("packagesAndThoseAbove")
    void packageKnowsNoneAboveIt(String lower, String[] higher) {
        noClasses()
                .that().resideInAPackage(lower)
                .should().dependOnClassesThat().resideInAnyPackage(higher)
                .check(Rooms.MAIN_CLASSES);
    }

    /** With its package-info. One flat room of 32 files was the part of gds4j that nobody could overlook. */
    @Test
    void noRoomOfTheCompatBackendIsLarge() {
        assertThat(filesByRoom("io.gds4j.compat").entrySet())
                .isNotEmpty()
                .allSatisfy(room -> assertThat(room.getValue()).as(room.getKey()).hasSizeLessThanOrEqualTo(14));
    }

    @Test
    void theExecutorStandsAloneAboveTheRoomsThatServeIt() {
        assertThat(filesByRoom("io.gds4j.compat").get("io.gds4j.compat.transfer"))
                .containsExactlyInAnyOrder("RequestExecutor.java", "package-info.java");
    }

    private static Map<String, Set<String>> filesByRoom(String module) {
        return Rooms.MAIN_CLASSES.stream()
                .filter(type -> type.getPackageName().equals(module) || type.getPackageName().startsWith(module + "."))
                .collect(Collectors.groupingBy(JavaClass::getPackageName,
                        Collectors.mapping(type -> type.getSourceCodeLocation().getSourceFileName(),
                                Collectors.toSet())));
    }

    @ParameterizedTest
    @CsvSource({Rooms.AWS + "," + Rooms.AWS_SDK, Rooms.GCS + "," + Rooms.GOOGLE_AUTH,
            Rooms.AZURE + "," + Rooms.AZURE_SDK})
    void oneModuleAloneKnowsTheLibraryOfACloud(String module, String library) {
        noClasses()
                .that().resideOutsideOfPackage(module)
                .should().dependOnClassesThat().resideInAnyPackage(module, library)
                .check(Rooms.MAIN_CLASSES);
    }

    @Test
    void onlyTheNativeModuleLinksToNativeCode() {
        // A sample embeds Python, as a program would: gds4j itself has no use for libpython.
        noClasses()
                .that().resideOutsideOfPackage(Rooms.FFI)
                .and().doNotHaveFullyQualifiedName("io.gds4j.samples.EmbeddedPython")
                .should().dependOnClassesThat().belongToAnyOf(Linker.class, SymbolLookup.class)
                .check(Rooms.MAIN_CLASSES);
    }

    @Test
    void onlyTheNativeModuleGivesAnAddressASize() {
        noClasses()
                .that().resideOutsideOfPackage(Rooms.FFI)
                .should().callMethodWhere(target(name("reinterpret")).and(target(owner(type(MemorySegment.class)))))
                .check(Rooms.MAIN_CLASSES);
    }

    @Test
    void onlyTheInteropPackageAndTheSamplesNameJCuda() {
        noClasses()
                .that().resideOutsideOfPackages(Rooms.JCUDA_INTEROP, Rooms.SAMPLES)
                .should().dependOnClassesThat().resideInAPackage(Rooms.JCUDA)
                .check(Rooms.MAIN_CLASSES);
    }

    @Test
    void noTwoPackagesKnowEachOther() {
        // By full name: a pattern with a wildcard would miss the root package.
        SliceAssignment byPackage = new SliceAssignment() {
            @Override
            public SliceIdentifier getIdentifierOf(JavaClass type) {
                return SliceIdentifier.of(type.getPackageName());
            }

            @Override
            public String getDescription() {
                return "packages by full name";
            }
        };
        SlicesRuleDefinition.slices().assignedFrom(byPackage).should().beFreeOfCycles().check(Rooms.MAIN_CLASSES);
    }

    @Test
    void formatsKnowNeitherMemoryNorTheLoader() {
        noClasses()
                .that().resideInAPackage(Rooms.FORMATS)
                .should().dependOnClassesThat()
                .resideInAnyPackage("io.gds4j", "io.gds4j.memory", "io.gds4j.spi", "io.gds4j.loader")
                .check(Rooms.MAIN_CLASSES);
    }

    /** Classes of one package that may depend on each other in a cycle; the public classes of the API refer to each other. */
    @Test
    void noPackageHasALargeCycleOfClasses() {
        List<String> tooLarge = new ArrayList<>();
        ClassCycles.byPackage(Rooms.MAIN_CLASSES).forEach((room, cycles) -> {
            int limit = room.equals("io.gds4j") ? 12 : 5;
            for (Set<String> cycle : cycles) {
                if (cycle.size() > limit) {
                    tooLarge.add("%s: %d classes in a cycle, at most %d: %s"
                            .formatted(room, cycle.size(), limit, String.join(", ", cycle).replace(room + ".", "")));
                }
            }
        });
        assertThat(tooLarge).isEmpty();
    }

    @Test
    void aLibraryDoesNotPrint() {
        noClasses()
                .that().resideOutsideOfPackages(Rooms.TOOLS, Rooms.SAMPLES)
                .should(ACCESS_STANDARD_STREAMS)
                .check(Rooms.MAIN_CLASSES);
    }

    @Test
    void nobodyUsesJavaUtilLogging() {
        noClasses().should().dependOnClassesThat().resideInAPackage("java.util.logging..").check(Rooms.MAIN_CLASSES);
    }

    @Test
    void everyPackageIsNullMarked() {
        assertThat(Rooms.MAIN_CLASSES.stream().map(JavaClass::getPackage).distinct())
                .isNotEmpty()
                .allMatch(room -> room.isAnnotatedWith(NullMarked.class));
    }

    @Test
    void theRulesSeeEveryModule() {
        assertThat(Rooms.MAIN_CLASSES.stream().map(JavaClass::getPackageName))
                .contains(Rooms.API)
                .contains("io.gds4j.ffi.posix", "io.gds4j.ffi.cuda", "io.gds4j.engine.memory", "io.gds4j.compat")
                .contains(Rooms.LOADER_PACKAGES)
                .contains(Rooms.DATASET_PACKAGES)
                .contains(Rooms.CONTRACT)
                .contains(Rooms.REMOTE, Rooms.RDMA, Rooms.AWS, Rooms.TESTKIT, "io.gds4j.samples", "io.gds4j.tools");
    }

    /**
     * Text for programs is the same in every locale: kernels, logs, names of files, requests, JSON and messages. Samples are exempt:
     * they print for people, as briefly as they can. A message {@code "%d bytes".formatted(bytes)} once became a kernel's
     * {@code [%a0+٠]}, which no GPU loads.
     */
    @Test
    void numbersAreFormattedWithLocaleRoot() throws IOException {
        List<String> found = new ArrayList<>();
        for (JavaClass type : Rooms.MAIN_CLASSES) {
            if (!type.getPackageName().startsWith("io.gds4j.samples")) {
                found.addAll(DefaultLocaleTest.localised(type));
            }
        }
        assertThat(found).as("write %%s, which has the same digits everywhere, or String.format(Locale.ROOT, …)")
                .isEmpty();
    }

    @Test
    void nothingElseTakesTheDefaultLocale() {
        noClasses()
                .should().callMethod(String.class, "toLowerCase")
                .orShould().callMethod(String.class, "toUpperCase")
                .orShould().callMethod(String.class, "format", String.class, Object[].class)
                .orShould().dependOnClassesThat().areAssignableTo(Format.class)
                .orShould().dependOnClassesThat().areAssignableTo(Formatter.class)
                .orShould().dependOnClassesThat().areAssignableTo(Scanner.class)
                .check(Rooms.MAIN_CLASSES);
    }
}
