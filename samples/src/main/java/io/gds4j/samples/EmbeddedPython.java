package io.gds4j.samples;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.interop.dlpack.DlPackCapsule;
import io.gds4j.interop.dlpack.DlPackVersion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The Python of {@code python3}, loaded into this JVM by FFM. One for the process, which never ends it. Every call holds the lock
 * of the interpreter.
 */
final class EmbeddedPython {
    /** The environment variable that names another program than python3. */
    static final String PROGRAM = "GDS4J_PYTHON";

    private static final int RTLD_NOW_GLOBAL = 0x102;
    private static final FunctionDescriptor POINTER_OF_POINTER = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG);
    private static final String ASK = """
            import os, sys, sysconfig
            v = sysconfig.get_config_var
            found = [os.path.join(d, n) for d in (v('LIBDIR'), v('LIBPL'), os.path.join(sys.base_prefix, 'lib'))
                     for n in (v('INSTSONAME'), v('LDLIBRARY')) if d and n and '.so' in n]
            print(next((f for f in found if os.path.exists(f)), ''))
            print(sys.base_prefix)
            print(os.pathsep.join(p for p in sys.path if p))
            """;

    private static final class Process {
        static final Found FOUND = find();
    }

    /** The interpreter, or why there is none. */
    record Found(Optional<EmbeddedPython> python, String reason) {
    }

    private final SymbolLookup library;
    private final Linker linker = Linker.nativeLinker();
    private final MethodHandle ensure;
    private final MethodHandle release;
    private final MethodHandle run;
    private final MethodHandle importAdd;
    private final MethodHandle getAttribute;
    private final MethodHandle setAttribute;
    private final MethodHandle decrement;
    private final MethodHandle asLong;
    private final MethodHandle asDouble;
    private final MethodHandle capsuleNew;
    private final MethodHandle capsulePointer;
    private final MethodHandle capsuleIsValid;
    private final MethodHandle capsuleSetName;
    private final MemorySegment destructor;

    private EmbeddedPython(SymbolLookup library) throws ReflectiveOperationException {
        this.library = library;
        ensure = link("PyGILState_Ensure", FunctionDescriptor.of(JAVA_INT));
        release = link("PyGILState_Release", FunctionDescriptor.ofVoid(JAVA_INT));
        run = link("PyRun_SimpleString", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        importAdd = link("PyImport_AddModule", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
        getAttribute = link("PyObject_GetAttrString", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS));
        setAttribute = link("PyObject_SetAttrString", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG));
        decrement = link("Py_DecRef", FunctionDescriptor.ofVoid(JAVA_LONG));
        asLong = link("PyLong_AsLongLong", POINTER_OF_POINTER);
        asDouble = link("PyFloat_AsDouble", FunctionDescriptor.of(JAVA_DOUBLE, JAVA_LONG));
        capsuleNew = link("PyCapsule_New", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
        capsulePointer = link("PyCapsule_GetPointer", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS));
        capsuleIsValid = link("PyCapsule_IsValid", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
        capsuleSetName = link("PyCapsule_SetName", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));
        FunctionDescriptor type = FunctionDescriptor.ofVoid(JAVA_LONG);
        MethodHandle unused = MethodHandles.lookup().bind(this, "capsuleUnused", type.toMethodType());
        destructor = linker.upcallStub(unused, type, Arena.global());
    }

    /** Returns the interpreter, which the first call starts. */
    static Found detect() {
        return Process.FOUND;
    }

    private static Found find() {
        String program = System.getenv().getOrDefault(PROGRAM, "python3");
        try {
            java.lang.Process asked = new ProcessBuilder(program, "-c", ASK).start();
            String[] answer = new String(asked.getInputStream().readAllBytes()).split("\n", -1);
            if (!asked.waitFor(60, TimeUnit.SECONDS) || asked.exitValue() != 0 || answer.length < 3) {
                return new Found(Optional.empty(), program + " does not tell where its library is");
            }
            if (answer[0].isEmpty() || !Files.exists(Path.of(answer[0]))) {
                return new Found(Optional.empty(), program + " has no shared library; install libpython3");
            }
            return new Found(Optional.of(start(answer[0], answer[1], answer[2])), "");
        } catch (IOException e) {
            return new Found(Optional.empty(), "no " + program + ": " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Found(Optional.empty(), "interrupted");
        } catch (IllegalStateException | NoSuchElementException e) {
            return new Found(Optional.empty(), program + " cannot be embedded: " + e.getMessage());
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static EmbeddedPython start(String library, String home, String path)
            throws ReflectiveOperationException {
        Linker linker = Linker.nativeLinker();
        try (Arena arena = Arena.ofConfined()) {
            // Modules in C find Python's functions only in a library that is open for the whole process.
            MethodHandle dlopen = linker.downcallHandle(
                    linker.defaultLookup().find("dlopen").orElseThrow(),
                    FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT));
            MethodHandle setenv = linker.downcallHandle(
                    linker.defaultLookup().find("setenv").orElseThrow(),
                    FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
            long opened = (long) dlopen.invokeExact(arena.allocateFrom(library), RTLD_NOW_GLOBAL);
            int set = (int) setenv.invokeExact(arena.allocateFrom("PYTHONHOME"), arena.allocateFrom(home), 0);
            if (opened == 0 || set != 0) {
                throw new IllegalStateException(library + " does not open");
            }
            EmbeddedPython python = new EmbeddedPython(SymbolLookup.libraryLookup(library, Arena.global()));
            // 0: the handlers of signals stay those of the JVM.
            python.link("Py_InitializeEx", FunctionDescriptor.ofVoid(JAVA_INT)).invokeExact(0);
            long thread = (long) python.link("PyEval_SaveThread", FunctionDescriptor.of(JAVA_LONG)).invokeExact();
            if (thread == 0) {
                throw new IllegalStateException("Python did not start");
            }
            python.run("import sys\nsys.path[:] = %s\n".formatted(literal(path) + ".split(" + literal(":") + ")"));
            return python;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static String literal(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }

    private MethodHandle link(String name, FunctionDescriptor type) {
        return linker.downcallHandle(library.find(name).orElseThrow(), type);
    }

    /** Runs statements in the module {@code __main__}. Python prints the trace of an exception. */
    void run(String statements) {
        locked(arena -> {
            if ((int) run.invokeExact(arena.allocateFrom(statements)) != 0) {
                throw new IllegalStateException("Python failed in:\n" + statements);
            }
            return 0L;
        });
    }

    /** Returns a global integer. */
    long integer(String name) {
        return locked(arena -> {
            long object = global(arena, name);
            long value = (long) asLong.invokeExact(object);
            decrement.invokeExact(object);
            return value;
        });
    }

    /** Returns a global number. */
    double number(String name) {
        return Double.longBitsToDouble(locked(arena -> {
            long object = global(arena, name);
            double value = (double) asDouble.invokeExact(object);
            decrement.invokeExact(object);
            return Double.doubleToRawLongBits(value);
        }));
    }

    /** Makes a global of a Python capsule with the tensor. If no consumer takes it, Python's collector closes it. */
    void lend(String name, DlPackCapsule capsule) {
        locked(arena -> {
            MemorySegment type = Arena.global().allocateFrom(capsule.version().capsuleName());
            long object = (long) capsuleNew.invokeExact(capsule.handOver(), type, destructor);
            int set = (int) setAttribute.invokeExact(
                    (long) importAdd.invokeExact(arena.allocateFrom("__main__")), arena.allocateFrom(name), object);
            decrement.invokeExact(object);
            return (long) set;
        });
    }

    /** Takes the tensor out of a global Python capsule. */
    DlPackCapsule take(String name) {
        for (DlPackVersion version : DlPackVersion.values()) {
            long pointer = locked(arena -> {
                long object = global(arena, name);
                MemorySegment type = Arena.global().allocateFrom(version.capsuleName());
                long struct = 0;
                if ((int) capsuleIsValid.invokeExact(object, type) != 0) {
                    struct = (long) capsulePointer.invokeExact(object, type);
                    int named = (int) capsuleSetName.invokeExact(
                            object, Arena.global().allocateFrom(version.usedCapsuleName()));
                    struct = named == 0 ? struct : 0;
                }
                decrement.invokeExact(object);
                return struct;
            });
            if (pointer != 0) {
                return DlPackCapsule.ofAddress(pointer, version);
            }
        }
        throw new IllegalStateException(name + " is no unused capsule of DLPack");
    }

    /** The destructor of our capsules: a consumer that took the tensor has renamed the capsule. */
    private void capsuleUnused(long object) {
        try (Arena arena = Arena.ofConfined()) {
            for (DlPackVersion version : DlPackVersion.values()) {
                MemorySegment type = arena.allocateFrom(version.capsuleName());
                if ((int) capsuleIsValid.invokeExact(object, type) != 0) {
                    DlPackCapsule.ofAddress((long) capsulePointer.invokeExact(object, type), version).close();
                }
            }
        } catch (Throwable t) {
            // An exception would end the process.
            System.getLogger("io.gds4j.samples").log(System.Logger.Level.ERROR, "a capsule was not closed", t);
        }
    }

    private long global(Arena arena, String name) throws Throwable {
        long main = (long) importAdd.invokeExact(arena.allocateFrom("__main__"));
        long object = (long) getAttribute.invokeExact(main, arena.allocateFrom(name));
        if (object == 0) {
            throw new IllegalStateException("Python has no " + name);
        }
        return object;
    }

    private interface Work {
        long run(Arena arena) throws Throwable;
    }

    private long locked(Work work) {
        try (Arena arena = Arena.ofConfined()) {
            int state = (int) ensure.invokeExact();
            try {
                return work.run(arena);
            } finally {
                release.invokeExact(state);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }
}
