package io.gds4j.ffi;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeModel;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDesc;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.DynamicCallSiteDesc;
import java.lang.constant.MethodHandleDesc;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Loads the bindings once more, with every use of {@link Linker} sent through this class, which writes down what is linked. Its
 * public methods take the place of the linker's; the state is static because the bytecode of the bindings calls it.
 */
public final class ForeignCalls extends ClassLoader {
    private static final ClassDesc LINKER = Linker.class.describeConstable().orElseThrow();
    private static final ClassDesc RECORDER = ForeignCalls.class.describeConstable().orElseThrow();
    private static final Set<String> DOWNCALLS = new TreeSet<>();
    private static final Set<String> UPCALLS = new TreeSet<>();
    /** Methods that have linked something. */
    private static final Set<String> LINKED = new TreeSet<>();

    private final Path classes;
    private final Set<String> sites = new TreeSet<>();

    ForeignCalls(Path classes) {
        super(ForeignCalls.class.getClassLoader());
        this.classes = classes;
    }

    /** Returns the methods of the loaded bindings that call the linker. */
    Set<String> sites() {
        return sites;
    }

    static Set<String> downcalls() {
        return DOWNCALLS;
    }

    static Set<String> upcalls() {
        return UPCALLS;
    }

    static Set<String> linked() {
        return LINKED;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Path file = classes.resolve(name.replace('.', '/') + ".class");
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null || !Files.exists(file)) {
                return loaded != null ? loaded : super.loadClass(name, resolve);
            }
            try {
                byte[] code = redirected(name, Files.readAllBytes(file));
                return defineClass(name, code, 0, code.length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private byte[] redirected(String name, byte[] code) {
        ClassFile format = ClassFile.of();
        return format.transformClass(format.parse(code), ClassTransform.transformingMethodBodies(method -> {
            boolean calls = method.code().stream().flatMap(CodeModel::elementStream)
                    .anyMatch(part -> part instanceof InvokeInstruction call && isLinking(call));
            if (calls) {
                sites.add(name + "." + method.methodName().stringValue());
            }
            return true;
        }, CodeTransform.ofStateful(() -> (builder, part) -> {
            switch (part) {
                case InvokeInstruction call when isLinking(call) -> builder.invokestatic(
                        RECORDER, call.name().stringValue(), call.typeSymbol().insertParameterTypes(0, LINKER));
                case InvokeDynamicInstruction call -> builder.invokedynamic(DynamicCallSiteDesc.of(
                        call.bootstrapMethod(), call.name().stringValue(), call.typeSymbol(),
                        call.bootstrapArgs().stream().map(ForeignCalls::redirected).toArray(ConstantDesc[]::new)));
                default -> builder.with(part);
            }
        })));
    }

    private static boolean isLinking(InvokeInstruction call) {
        return call.owner().asSymbol().equals(LINKER)
                && (call.name().equalsString("downcallHandle") || call.name().equalsString("upcallStub"));
    }

    /** A method reference, such as {@code linker::downcallHandle}. */
    private static ConstantDesc redirected(ConstantDesc argument) {
        return argument instanceof DirectMethodHandleDesc handle
                && handle.owner().equals(LINKER) && handle.methodName().equals("downcallHandle")
                        ? MethodHandleDesc.ofMethod(
                                DirectMethodHandleDesc.Kind.STATIC, RECORDER, handle.methodName(),
                                handle.invocationType())
                        : argument;
    }

    /** Takes the place of {@link Linker#downcallHandle(MemorySegment, FunctionDescriptor, Linker.Option...)}. */
    public static MethodHandle downcallHandle(
            Linker linker, MemorySegment symbol, FunctionDescriptor type, Linker.Option... options) {
        record(DOWNCALLS, type, options);
        return linker.downcallHandle(symbol, type, options);
    }

    /** Takes the place of {@link Linker#downcallHandle(FunctionDescriptor, Linker.Option...)}. */
    public static MethodHandle downcallHandle(Linker linker, FunctionDescriptor type, Linker.Option... options) {
        record(DOWNCALLS, type, options);
        return linker.downcallHandle(type, options);
    }

    /** Takes the place of {@link Linker#upcallStub}. */
    public static MemorySegment upcallStub(
            Linker linker, MethodHandle target, FunctionDescriptor type, Arena arena, Linker.Option... options) {
        record(UPCALLS, type, options);
        return linker.upcallStub(target, type, arena, options);
    }

    private static synchronized void record(Set<String> calls, FunctionDescriptor type, Linker.Option... options) {
        StackWalker.getInstance().walk(frames -> frames.skip(2).findFirst())
                .ifPresent(caller -> LINKED.add(caller.getClassName() + "." + caller.getMethodName()));
        String parameters = type.argumentLayouts().stream().map(layout -> '"' + text(layout) + '"')
                .collect(Collectors.joining(", ", "[", "]"));
        String chosen = Arrays.stream(options).map(ForeignCalls::text).collect(Collectors.joining(", "));
        calls.add("{\"returnType\": \"%s\", \"parameterTypes\": %s%s}".formatted(
                type.returnLayout().map(ForeignCalls::text).orElse("void"), parameters,
                chosen.isEmpty() ? "" : ", \"options\": {" + chosen + "}"));
    }

    private static String text(MemoryLayout layout) {
        return switch (layout) {
            case AddressLayout address -> "void*";
            case ValueLayout.OfBoolean number -> "jboolean";
            case ValueLayout.OfByte number -> "jbyte";
            case ValueLayout.OfShort number -> "jshort";
            case ValueLayout.OfInt number -> "jint";
            case ValueLayout.OfLong number -> "jlong";
            case ValueLayout.OfFloat number -> "jfloat";
            case ValueLayout.OfDouble number -> "jdouble";
            case GroupLayout struct -> struct.memberLayouts().stream().map(ForeignCalls::text)
                    .collect(Collectors.joining(", ", "struct(", ")"));
            default -> throw new AssertionError("no name for " + layout);
        };
    }

    private static String text(Linker.Option option) {
        if (option.equals(Linker.Option.captureCallState("errno"))) {
            return "\"captureCallState\": true";
        }
        for (boolean heap : new boolean[]{false, true}) {
            if (option.equals(Linker.Option.critical(heap))) {
                return "\"critical\": {\"allowHeapAccess\": " + heap + "}";
            }
        }
        for (int first = 0; first < 8; first++) {
            if (option.equals(Linker.Option.firstVariadicArg(first))) {
                return "\"firstVariadicArg\": " + first;
            }
        }
        throw new AssertionError("no name for " + option);
    }
}
