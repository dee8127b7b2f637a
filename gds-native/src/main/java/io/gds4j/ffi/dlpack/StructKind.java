package io.gds4j.ffi.dlpack;

import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.StructLayout;

/** The two structs by which DLPack hands a tensor over. */
public enum StructKind {
    /** {@code DLManagedTensor}, before DLPack 1.0: neither version nor flags. */
    UNVERSIONED(DlTensor.MANAGED),
    /** {@code DLManagedTensorVersioned}, from DLPack 1.0 on. */
    VERSIONED(DlTensor.VERSIONED);

    final StructLayout layout;
    final long tensor;
    final long context;
    final long deleter;

    StructKind(StructLayout layout) {
        this.layout = layout;
        this.tensor = layout.byteOffset(PathElement.groupElement("dl_tensor"));
        this.context = layout.byteOffset(PathElement.groupElement("manager_ctx"));
        this.deleter = layout.byteOffset(PathElement.groupElement("deleter"));
    }
}
