package io.gds4j.loader.faults;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.posix.Posix;
import java.util.List;

/** A native function: the methods of one name in the interface of a binding. */
record NativeFunction(Class<?> binding, String name) implements Comparable<NativeFunction> {
    /** The interfaces through which both backends reach native libraries. */
    static final List<Class<?>> BINDINGS = List.of(Posix.class, Cuda.class, CuFileLibrary.class);

    @Override
    public int compareTo(NativeFunction other) {
        int order = Integer.compare(BINDINGS.indexOf(binding), BINDINGS.indexOf(other.binding));
        return order != 0 ? order : name.compareTo(other.name);
    }

    @Override
    public String toString() {
        return binding.getSimpleName() + "." + name;
    }
}
