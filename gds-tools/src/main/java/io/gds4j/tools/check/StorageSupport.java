package io.gds4j.tools.check;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.libcufile.DirectStorageProbe;
import io.gds4j.statistics.IoPath;
import java.util.ArrayList;
import java.util.List;

/**
 * A kind of storage and the I/O paths that serve it here, best first, in the terms of recent gdscheck versions:
 * {@code p2pdma}, {@code nvfs}, {@code dmabuf}, {@code nvidia_peermem}, {@code compat}.
 *
 * @param storage kind of storage, as gdscheck names it
 * @param ways I/O paths; {@code compat} serves all files where a driver opens
 */
record StorageSupport(String storage, List<String> ways) {
    private static final String NVME = "NVMe";

    /** A kind of storage and the kernel module that registers it with nvidia-fs. */
    private record Kind(String name, String module) {
    }

    private static final List<Kind> KINDS = List.of(
            new Kind(NVME, "nvme"),
            new Kind("NVMeOF", "nvme_rdma"),
            new Kind("SCSI", "scsi_mod"),
            new Kind("ScaleFlux CSD", "sfxvdriver"),
            new Kind("NVMesh", "nvmeib_common"),
            new Kind("DDN EXAScaler", "lnet"),
            new Kind("IBM Spectrum Scale", "mmfslinux"),
            new Kind("NFS", "rpcrdma"),
            new Kind("BeeGFS", "beegfs"),
            new Kind("WekaFS", "wekafsio"),
            new Kind("ScaTeFS", "scatefs"),
            new Kind("VIRTIOFS", "virtiofs"));

    StorageSupport {
        ways = List.copyOf(ways);
    }

    static List<StorageSupport> all(
            NvidiaFs nvidiaFs, KernelFeatures kernel, Rdma rdma, List<Gpu> gpus, CuFileConfig config) {
        boolean compat = config.get(CuFileKeys.FORCE_COMPAT_MODE);
        boolean p2pdma = DirectStorageProbe.probe(config) instanceof DirectStorageProbe.Works works
                && works.path() == IoPath.P2PDMA
                && kernel.p2pdma().orElse(true)
                && !gpus.isEmpty();
        List<StorageSupport> all = new ArrayList<>();
        for (Kind kind : KINDS) {
            List<String> ways = new ArrayList<>();
            if (p2pdma && !compat && kind.name().equals(NVME)) {
                ways.add("p2pdma");
            }
            if (!compat && !gpus.isEmpty() && nvidiaFs.storage().containsKey(kind.module())) {
                ways.add("nvfs");
            }
            if (FfmPosix.problem().isEmpty()) {
                ways.add("compat");
            }
            all.add(new StorageSupport(kind.name(), ways));
        }
        all.add(new StorageSupport("Userspace RDMA", rdmaWays(kernel, rdma, gpus)));
        return all;
    }

    private static List<String> rdmaWays(KernelFeatures kernel, Rdma rdma, List<Gpu> gpus) {
        List<String> ways = new ArrayList<>();
        if (rdma.library().isPresent() && !rdma.devices().isEmpty()) {
            if (gpus.stream().anyMatch(gpu -> gpu.dmaBuf().orElse(false))) {
                ways.add("dmabuf");
            }
            if (kernel.peerMemory().isPresent()) {
                ways.add("nvidia_peermem");
            }
        }
        return ways;
    }

    /** True if any path other than the compat backend serves it. */
    boolean direct() {
        return ways.stream().anyMatch(way -> !way.equals("compat"));
    }
}
