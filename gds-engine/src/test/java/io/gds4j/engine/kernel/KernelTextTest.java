package io.gds4j.engine.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.posix.ExitHandlers;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The programs of the kernels: what can be said of them without a GPU. Run the tests tagged gpu once one has changed. */
class KernelTextTest {
    private static final Pattern REGISTER = Pattern.compile("%[A-Za-z]+[0-9]*");
    private static final Pattern DECLARED = Pattern.compile("(%[A-Za-z]+)(?:<([0-9]+)>)?[,;]");
    private static final Pattern CONSTANT = Pattern.compile("([0-9]+)[\\],;%a-zA-Z ]*// = (.*)");

    /** Of the machine. */
    private static final Set<String> SPECIAL = Set.of("%tid", "%ntid", "%ctaid", "%nctaid", "%globaltimer");

    private static String program(String name) {
        return switch (name) {
            case "copy" -> Ptx.copy();
            case "fragments" -> Ptx.fragments();
            default -> Ptx.gather(Ptx.Target.valueOf(name));
        };
    }

    @Test
    void programsAreAsciiWhereTheLocaleHasDigitsOfItsOwn() {
        Locale own = Locale.getDefault();
        Locale.setDefault(Locale.of("ar", "EG"));
        try {
            // Otherwise the next assertion shows nothing.
            assertThat("%d".formatted(7)).isEqualTo("\u0667");
            assertThat(Stream.concat(Stream.of(Ptx.copy(), Ptx.fragments()),
                    Stream.of(Ptx.Target.values()).map(Ptx::gather)))
                    .hasSize(5)
                    .allMatch(text -> StandardCharsets.US_ASCII.newEncoder().canEncode(text))
                    .noneMatch(text -> text.contains("//"));
        } finally {
            Locale.setDefault(own);
        }
    }

    /**
     * The instructions are those that were tested on GPUs, whatever their registers are called. A program that is meant to change gets another
     * digest here, after {@code ptxas} and a GPU have taken it.
     */
    @ParameterizedTest
    @CsvSource({"copy, 8c6b2681351a3306", "EARLY, 3ee901dfd252c07b", "ORDERED, d2b604e0614ce261",
            "OLD, 2c326e98ddc380ad", "fragments, 5a1475f134da56ec"})
    void instructionsAreTheTestedOnes(String program, String digest) throws NoSuchAlgorithmException {
        byte[] text = anonymous(program(program)).getBytes(StandardCharsets.US_ASCII);
        assertThat(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text), 0, 8)).isEqualTo(digest);
    }

    /** Returns a program without declarations, in which a register is called by its type and the order of its first use. */
    static String anonymous(String program) {
        StringBuilder all = new StringBuilder();
        for (String kernel : program.split("(?=\\.visible)")) {
            Map<String, String> types = types(kernel);
            Map<String, String> names = new HashMap<>();
            kernel.lines().map(String::strip).filter(line -> !line.isEmpty() && !line.startsWith(".reg"))
                    .forEach(line -> all.append(REGISTER.matcher(line).replaceAll(register -> {
                        String name = register.group();
                        return SPECIAL.contains(name) ? name
                                : names.computeIfAbsent(name, key -> types.get(key) + names.size());
                    })).append('\n'));
        }
        return all.toString();
    }

    private static Map<String, String> types(String kernel) {
        Map<String, String> types = new HashMap<>();
        kernel.lines().map(String::strip).filter(line -> line.startsWith(".reg")).forEach(line -> {
            String type = line.split(" ")[1].substring(1);
            for (MatchResult declared : (Iterable<MatchResult>) DECLARED.matcher(line).results()::iterator) {
                String name = declared.group(1);
                if (declared.group(2) == null) {
                    assertThat(types.put(name, type)).as("declared twice: %s", name).isNull();
                } else {
                    for (int i = 0; i < Integer.parseInt(declared.group(2)); i++) {
                        assertThat(types.put(name + i, type)).as("declared twice: %s%d", name, i).isNull();
                    }
                }
            }
        });
        return types;
    }

    @ParameterizedTest
    @CsvSource({"copy", "fragments", "EARLY", "ORDERED", "OLD"})
    void registersAreDeclaredAndUsed(String program) {
        for (String kernel : program(program).split("(?=\\.visible)")) {
            Set<String> used = kernel.lines().filter(line -> !line.startsWith(".reg"))
                    .flatMap(line -> REGISTER.matcher(line).results().map(MatchResult::group))
                    .filter(name -> !SPECIAL.contains(name)).collect(Collectors.toSet());
            assertThat(types(kernel).keySet()).containsExactlyInAnyOrderElementsOf(used);
        }
    }

    /** The numbers of a program are written out, so that it can be read and compiled as it is. */
    @ParameterizedTest
    @CsvSource({"copy.ptx, 1", "gather.ptx, 21", "fragments.ptx, 3"})
    void numbersAreThoseOfTheClasses(String file, int count) throws IOException {
        List<String> wrong = new ArrayList<>();
        int found = 0;
        try (InputStream source = Ptx.class.getResourceAsStream(file)) {
            for (String line : new String(source.readAllBytes(), StandardCharsets.US_ASCII).split("\n")) {
                Matcher constant = CONSTANT.matcher(line);
                if (constant.find()) {
                    found++;
                    if (Long.parseLong(constant.group(1)) != value(constant.group(2))) {
                        wrong.add(line.strip() + ": " + value(constant.group(2)));
                    }
                }
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(found).isEqualTo(count);
    }

    private static long value(String constant) {
        return switch (constant) {
            case "LINES - 1" -> CopyCell.LINES - 1;
            case "BLOCKS" -> PieceBoard.BLOCKS;
            case "UNIT_BITS" -> PieceBoard.UNIT_BITS;
            case "UNIT_BITS + LINE_BITS" -> PieceBoard.UNIT_BITS + PieceBoard.LINE_BITS;
            case "LAST_TAG" -> PieceBoard.LAST_TAG;
            case "PIECES - 1" -> PieceBoard.PIECES - 1;
            case "LINE_BYTES" -> PieceBoard.LINE_BYTES;
            case "VALUE_BITS" -> PieceBoard.VALUE_BITS;
            case "EXIT" -> PieceBoard.EXIT;
            case "PASSED" -> ExitHandlers.PASSED;
            case "END" -> PieceBoard.END;
            case "UNITS - 1" -> PieceBoard.UNITS - 1;
            case "16 * UNITS - 1" -> 16 * PieceBoard.UNITS - 1;
            case "4 + UNIT_BITS" -> 4 + PieceBoard.UNIT_BITS;
            case "16 * THREADS" -> 16 * GatherKernel.THREADS;
            case "PIECES * UNITS - 1" -> PieceBoard.PIECES * PieceBoard.UNITS - 1;
            case "COPIED" -> PieceBoard.COPIED;
            case "FragmentTable.LINE_BYTES" -> FragmentTable.LINE_BYTES;
            case "FragmentTable.LINES" -> FragmentTable.LINES;
            case "FragmentKernel.UNIT_BYTES" -> FragmentKernel.UNIT_BYTES;
            default -> throw new AssertionError("an unknown constant: " + constant);
        };
    }
}
