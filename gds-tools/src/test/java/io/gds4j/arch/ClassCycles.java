package io.gds4j.arch;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Cycles of classes within each package. A nested class counts as its top-level class, and a sealed interface with its permitted
 * types as one class.
 */
final class ClassCycles {
    /** Top-level classes of one package, and those of the same package that each depends on. */
    private final Map<String, Set<String>> dependencies = new TreeMap<>();

    /** The class that stands for others, where it is another. */
    private final Map<String, String> sealedBy = new HashMap<>();

    private ClassCycles() {
    }

    /** The cycles of more than one class, by package; a cycle is the sorted names of its classes. */
    static Map<String, List<Set<String>>> byPackage(JavaClasses classes) {
        Map<String, ClassCycles> packages = new TreeMap<>();
        for (JavaClass type : classes) {
            packages.computeIfAbsent(type.getPackageName(), name -> new ClassCycles()).addSealed(type);
        }
        for (JavaClass type : classes) {
            packages.get(type.getPackageName()).add(type);
        }
        Map<String, List<Set<String>>> cycles = new TreeMap<>();
        packages.forEach((name, graph) -> cycles.put(name, graph.cycles()));
        return cycles;
    }

    private void addSealed(JavaClass type) {
        if (!type.isInterface()) {
            return;
        }
        Class<?> loaded = type.reflect();
        if (loaded.isSealed()) {
            for (Class<?> permitted : loaded.getPermittedSubclasses()) {
                if (permitted.getPackageName().equals(type.getPackageName())) {
                    sealedBy.put(topLevel(permitted.getName()), topLevel(type.getName()));
                }
            }
        }
    }

    private void add(JavaClass type) {
        Set<String> known = dependencies.computeIfAbsent(node(type), name -> new TreeSet<>());
        type.getDirectDependenciesFromSelf().stream()
                .map(dependency -> dependency.getTargetClass().getBaseComponentType())
                .filter(target -> target.getPackageName().equals(type.getPackageName()))
                .forEach(target -> known.add(node(target)));
    }

    /** A permitted interface may be sealed itself: the outermost one counts. */
    private String node(JavaClass type) {
        String name = topLevel(type.getName());
        String sealing = sealedBy.get(name);
        while (sealing != null && !sealing.equals(name)) {
            name = sealing;
            sealing = sealedBy.get(name);
        }
        return name;
    }

    private static String topLevel(String name) {
        int nested = name.indexOf('$');
        return nested < 0 ? name : name.substring(0, nested);
    }

    /** Two classes are in one cycle if each can be reached from the other. */
    private List<Set<String>> cycles() {
        Map<String, Set<String>> reached = new HashMap<>();
        dependencies.keySet().forEach(name -> reached.put(name, reachedFrom(name)));
        List<Set<String>> cycles = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (String name : dependencies.keySet()) {
            if (seen.add(name)) {
                Set<String> cycle = new TreeSet<>(Set.of(name));
                for (String other : reached.get(name)) {
                    if (reached.getOrDefault(other, Set.of()).contains(name)) {
                        cycle.add(other);
                    }
                }
                seen.addAll(cycle);
                if (cycle.size() > 1) {
                    cycles.add(cycle);
                }
            }
        }
        return cycles;
    }

    private Set<String> reachedFrom(String start) {
        Set<String> reached = new HashSet<>();
        Deque<String> next = new ArrayDeque<>(List.of(start));
        while (!next.isEmpty()) {
            for (String target : dependencies.getOrDefault(next.remove(), Set.of())) {
                if (reached.add(target)) {
                    next.add(target);
                }
            }
        }
        return reached;
    }
}
