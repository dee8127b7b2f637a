package io.gds4j.ffi.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.DirectMethodHandleDesc;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which classes of gds4j the initialisation of a class may initialise, by their bytecode: what its static initialiser calls is followed, also
 * into lambdas and into overriding methods of the classes that were met. Two threads that initialise classes wait for each other for ever only
 * if two classes lead to each other.
 */
final class InitialisationOrder {
    private static final String OURS = "io/gds4j/";

    private final Map<String, Optional<ClassModel>> models = new HashMap<>();
    private final Map<String, Set<String>> edges = new LinkedHashMap<>();

    /** Follows all that the initialisation of a class leads to. */
    InitialisationOrder(Class<?> root) {
        List<String> left = new ArrayList<>(List.of(root.getName().replace('.', '/')));
        while (!left.isEmpty()) {
            String type = left.removeLast();
            if (!edges.containsKey(type)) {
                Set<String> next = initialisedBy(type);
                edges.put(type, next);
                left.addAll(next);
            }
        }
    }

    /** Returns the classes that may be initialised. */
    Set<String> classes() {
        return edges.keySet();
    }

    /** Returns a class that leads back to itself, with the classes between; empty if there is none. */
    List<String> cycle() {
        Set<String> done = new HashSet<>();
        for (String type : edges.keySet()) {
            List<String> found = cycle(type, new ArrayList<>(), done);
            if (!found.isEmpty()) {
                return found;
            }
        }
        return List.of();
    }

    private List<String> cycle(String type, List<String> path, Set<String> done) {
        int at = path.indexOf(type);
        if (at >= 0) {
            return List.copyOf(path.subList(at, path.size()));
        }
        if (!done.contains(type)) {
            path.add(type);
            for (String next : edges.getOrDefault(type, Set.of())) {
                List<String> found = cycle(next, path, done);
                if (!found.isEmpty()) {
                    return found;
                }
            }
            path.removeLast();
            done.add(type);
        }
        return List.of();
    }

    private Set<String> initialisedBy(String type) {
        Set<String> types = new LinkedHashSet<>();
        model(type).ifPresent(model -> {
            model.superclass().ifPresent(above -> initialise(above.asInternalName(), types));
            model.interfaces().forEach(above -> initialise(above.asInternalName(), types));
            follow(type, "<clinit>", "()V", types, new HashSet<>());
        });
        types.remove(type);
        return types;
    }

    private void follow(String owner, String name, String descriptor, Set<String> types, Set<String> seen) {
        if (!isOurs(owner) || !seen.add(owner + name + descriptor)) {
            return;
        }
        Optional<MethodModel> method = model(owner).flatMap(model -> model.methods().stream()
                .filter(each -> each.methodName().equalsString(name) && each.methodType().equalsString(descriptor))
                .findFirst());
        if (method.isEmpty()) {
            model(owner).flatMap(ClassModel::superclass)
                    .ifPresent(above -> follow(above.asInternalName(), name, descriptor, types, seen));
        }
        method.flatMap(MethodModel::code).ifPresent(code -> code.forEach(element -> {
            switch (element) {
                case NewObjectInstruction made -> initialise(made.className().asInternalName(), types);
                case FieldInstruction field -> {
                    if (field.opcode().name().endsWith("STATIC")) {
                        initialise(field.owner().asInternalName(), types);
                    }
                }
                case InvokeInstruction call -> {
                    if (call.opcode().name().equals("INVOKESTATIC")) {
                        initialise(call.owner().asInternalName(), types);
                    }
                    call(call.owner().asInternalName(), call.name().stringValue(), call.type().stringValue(), types,
                            seen);
                }
                case InvokeDynamicInstruction linked -> linked.bootstrapArgs().forEach(argument -> {
                    if (argument instanceof DirectMethodHandleDesc handle) {
                        String target = internal(handle.owner());
                        if (handle.kind() == DirectMethodHandleDesc.Kind.STATIC
                                || handle.kind() == DirectMethodHandleDesc.Kind.CONSTRUCTOR) {
                            initialise(target, types);
                        }
                        call(target, handle.methodName(), handle.lookupDescriptor(), types, seen);
                    }
                });
                default -> {
                    // initialises nothing
                }
            }
        }));
    }

    private void call(String owner, String name, String descriptor, Set<String> types, Set<String> seen) {
        follow(owner, name, descriptor, types, seen);
        if (isOurs(owner)) {
            // whatever overrides it: an object of such a class was made, so that it is among the classes that were met
            Set<String> met = new LinkedHashSet<>(types);
            met.addAll(edges.keySet());
            met.stream().filter(type -> !type.equals(owner) && isBelow(type, owner))
                    .forEach(type -> follow(type, name, descriptor, types, seen));
        }
    }

    private boolean isBelow(String type, String above) {
        return model(type).map(model -> model.superclass().stream().anyMatch(
                each -> each.asInternalName().equals(above) || isBelow(each.asInternalName(), above))
                || model.interfaces().stream().anyMatch(
                        each -> each.asInternalName().equals(above) || isBelow(each.asInternalName(), above)))
                .orElse(false);
    }

    private void initialise(String type, Set<String> types) {
        if (isOurs(type)) {
            types.add(type);
        }
    }

    private boolean isOurs(String type) {
        return type.startsWith(OURS);
    }

    private static String internal(ClassDesc type) {
        String descriptor = type.descriptorString();
        return descriptor.startsWith("L") ? descriptor.substring(1, descriptor.length() - 1) : descriptor;
    }

    private Optional<ClassModel> model(String type) {
        return models.computeIfAbsent(type, name -> {
            if (!isOurs(name)) {
                return Optional.empty();
            }
            try (InputStream in = InitialisationOrder.class.getClassLoader().getResourceAsStream(name + ".class")) {
                return in == null ? Optional.empty() : Optional.of(ClassFile.of().parse(in.readAllBytes()));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @Override
    public String toString() {
        return edges.toString();
    }
}
