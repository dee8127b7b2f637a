package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.Instruction;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.NewReferenceArrayInstruction;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the rules of {@link ArchitectureTest} about text take for formats of numbers. */
class DefaultLocaleTest {
    /** A conversion that writes numbers with the digits of a locale. {@code %s} and {@code %x} do not. */
    private static final Pattern LOCALISED =
            Pattern.compile("(?<!%)(?:%%)*%(?:\\d+\\$)?[-#+ 0,(<]*\\d*(?:\\.\\d+)?[deEfgGtT]");

    /** Returns the formats of numbers, constants with an array of arguments behind them, in front of which no Locale.ROOT stands. */
    static List<String> localised(JavaClass type) throws IOException {
        List<String> found = new ArrayList<>();
        try (InputStream file = type.getSource().orElseThrow().getUri().toURL().openStream()) {
            ClassModel parsed = ClassFile.of().parse(file.readAllBytes());
            for (MethodModel method : parsed.methods()) {
                List<CodeElement> code = method.code().stream()
                        .flatMap(body -> body.elementStream())
                        .filter(Instruction.class::isInstance)
                        .toList();
                for (int i = 0; i + 2 < code.size(); i++) {
                    if (code.get(i) instanceof ConstantInstruction constant
                            && constant.constantValue() instanceof String format
                            && LOCALISED.matcher(format).find()
                            && code.get(i + 2) instanceof NewReferenceArrayInstruction
                            && !(i > 0 && isRoot(code.get(i - 1)))) {
                        found.add("%s.%s: %s".formatted(type.getName(), method.methodName().stringValue(), format));
                    }
                }
            }
        }
        return found;
    }

    private static boolean isRoot(CodeElement before) {
        return before instanceof FieldInstruction field
                && field.owner().asInternalName().equals("java/util/Locale")
                && field.name().stringValue().equals("ROOT");
    }

    @ParameterizedTest
    @ValueSource(strings = {"%d", "%,d", "%1$05d bytes", "%s: %.3f s", "100 %% of %d", "%tY"})
    void ruleSeesFormatsOfNumbers(String format) {
        assertThat(LOCALISED.matcher(format).find()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"%s", "0x%x", "%08x", "%%d14", "%n", "%-10s|"})
    void ruleLeavesOtherFormatsAlone(String format) {
        assertThat(LOCALISED.matcher(format).find()).isFalse();
    }

    /** The reason for the rule, and its limits. */
    @Test
    void onlyFormatsOfNumbersDependOnTheLocale() {
        Locale arabic = Locale.of("ar", "EG");
        assertThat(String.format(arabic, "%d %.1f", 7, 1.5)).isNotEqualTo("7 1.5");
        assertThat(String.format(arabic, "%s %s %08x %c %b%%", 7, 1.5, 255, 'c', true))
                .isEqualTo("7 1.5 000000ff c true%");
    }
}
