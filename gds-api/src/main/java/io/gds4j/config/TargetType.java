package io.gds4j.config;

/**
 * Kinds of storage that cuFile tells apart ({@code CUfileDriverStatusFlags_t}): which of them GPUDirect Storage serves stands
 * in {@link DriverProperties#driverStatusFlags}, a bit each.
 *
 * @since 0.1
 */
public enum TargetType {
    /** DDN EXAScaler (Lustre). */
    LUSTRE(0),
    /** WekaFS. */
    WEKAFS(1),
    /** NFS over RDMA. */
    NFS(2),
    /** IBM Spectrum Scale. */
    GPFS(3),
    /** NVMe drives. */
    NVME(4),
    /** NVMe over fabrics. */
    NVMEOF(5),
    /** SCSI disks. */
    SCSI(6),
    /** ScaleFlux computational storage. */
    SCALEFLUX_CSD(7),
    /** NVMesh volumes. */
    NVMESH(8),
    /** BeeGFS. */
    BEEGFS(9),
    /** NVMe drives by PCI peer-to-peer DMA, as versions before 1.17 say it. */
    NVME_P2P(11),
    /** ScaTeFS. */
    SCATEFS(12),
    /** virtiofs, from 1.17 on. */
    VIRTIOFS(13);

    private final int number;

    TargetType(int number) {
        this.number = number;
    }

    /**
     * cuFile's number, which is also its bit's position in the flags.
     *
     * @return 0 to 13
     */
    public int number() {
        return number;
    }
}
