package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.gds4j.arch.cycles.Apart;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The rule about cycles finds those that it should. */
class ClassCyclesTest {
    @Test
    void findsTheCycleAndCountsASealedInterfaceOnce() {
        String room = Apart.class.getPackageName();
        assertThat(ClassCycles.byPackage(new ClassFileImporter().importPackagesOf(Apart.class)))
                .containsOnlyKeys(room)
                .hasEntrySatisfying(room, cycles -> assertThat(cycles)
                        .containsExactly(Set.of(room + ".Shape", room + ".Catalogue", room + ".Printer")));
    }
}
