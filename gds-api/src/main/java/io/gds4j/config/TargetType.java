package io.gds4j.config;

/**
 * A kind of storage ({@code CUfileDriverStatusFlags_t}). {@link DriverProperties#driverStatusFlags} has a bit for each kind that
 * GPUDirect Storage supports.
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
    /** NVMe drives by PCI peer-to-peer DMA; only before cuFile 1.17. */
    NVME_P2P(11),
    /** ScaTeFS. */
    SCATEFS(12),
    /** virtiofs; from cuFile 1.17 on. */
    VIRTIOFS(13),
    /** PanFS; from cuFile 1.19 on. */
    PANFS(14);

    private final int number;

    TargetType(int number) {
        this.number = number;
    }

    /**
     * Returns the number of the C constant, which is the position of its bit in the flags.
     *
     * @return 0 to 14
     */
    public int number() {
        return number;
    }
}
