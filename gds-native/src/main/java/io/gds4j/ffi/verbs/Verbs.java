package io.gds4j.ffi.verbs;

import java.util.List;

/**
 * The functions of libibverbs, with their names and arguments. Handles are addresses of the library's structs. A function that
 * fails returns {@code -errno}; a handle is never negative. Thread-safe as libibverbs is, except that a struct is for one thread.
 */
public interface Verbs {
    /** {@code IBV_ACCESS_*}. */
    int ACCESS_LOCAL_WRITE = 1;
    int ACCESS_REMOTE_WRITE = 1 << 1;
    int ACCESS_REMOTE_READ = 1 << 2;
    int ACCESS_REMOTE_ATOMIC = 1 << 3;
    int ACCESS_MW_BIND = 1 << 4;
    int ACCESS_RELAXED_ORDERING = 1 << 20;

    /** {@code IBV_MW_TYPE_*}. */
    int WINDOW_TYPE_1 = 1;
    int WINDOW_TYPE_2 = 2;

    /** {@code IBV_REREG_MR_CHANGE_*}. */
    int CHANGE_TRANSLATION = 1;
    int CHANGE_DOMAIN = 1 << 1;
    int CHANGE_ACCESS = 1 << 2;

    /** Returns the names of all devices; empty where the kernel has no RDMA. */
    List<String> deviceNames();

    /** {@code ibv_open_device} of the device of this name; 0 if there is none. */
    long openDevice(String name);

    /** {@code ibv_close_device}. */
    int closeDevice(long context);

    /** {@code ibv_query_device}. */
    int queryDevice(long context, DeviceAttributes answer);

    /** {@code ibv_query_port}. */
    int queryPort(long context, int port, PortAttributes answer);

    /** {@code ibv_query_gid} into the first 16 bytes. */
    int queryGid(long context, int port, int index, byte[] gid);

    /** {@code ibv_alloc_pd}. */
    long allocPd(long context);

    /** {@code ibv_dealloc_pd}. */
    int deallocPd(long domain);

    /** {@code ibv_reg_mr}. */
    long regMr(long domain, long address, long length, int access);

    /** {@code ibv_reg_mr_iova}: peers name the first byte by {@code iova}. */
    long regMrIova(long domain, long address, long length, long iova, int access);

    /** {@code ibv_reg_dmabuf_mr}; EOPNOTSUPP before rdma-core 34. */
    long regDmaBufMr(long domain, long offset, long length, long iova, int fd, int access);

    /** {@code ibv_rereg_mr} with {@code CHANGE_*} flags. */
    int reregMr(long region, int flags, long domain, long address, long length, int access);

    /** {@code ibv_dereg_mr}. */
    int deregMr(long region);

    /** Returns {@code lkey} of an {@code ibv_mr}. */
    int localKey(long region);

    /** Returns {@code rkey} of an {@code ibv_mr}. */
    int remoteKey(long region);

    /** {@code ibv_alloc_mw}. */
    long allocMw(long domain, int type);

    /** {@code ibv_bind_mw} of a window of type 1; its new key is {@link #windowKey} then. */
    int bindMw(long queuePair, long window, WindowBind bind);

    /** {@code ibv_dealloc_mw}. */
    int deallocMw(long window);

    /** Returns {@code rkey} of an {@code ibv_mw}. */
    int windowKey(long window);

    /** Sets {@code rkey} of an {@code ibv_mw}, as a program does after a bind by a posted request. */
    void setWindowKey(long window, int key);

    /** {@code ibv_create_comp_channel}. */
    long createChannel(long context);

    /** {@code ibv_destroy_comp_channel}. */
    int destroyChannel(long channel);

    /**
     * Waits for an event of a channel, takes and acknowledges it ({@code poll(2)}, {@code ibv_get_cq_event}). One thread at a time.
     *
     * @return 1 if there was one, 0 if not
     */
    int awaitEvent(long channel, int milliseconds);

    /** {@code ibv_create_cq}, with events on the channel. */
    long createCq(long context, int entries, long channel);

    /** {@code ibv_req_notify_cq} for all completions. */
    int requestNotify(long queue);

    /** {@code ibv_poll_cq}; returns the number of completions. */
    int pollCq(long queue, WorkCompletions answer);

    /** {@code ibv_destroy_cq}. */
    int destroyCq(long queue);

    /** {@code ibv_create_qp}; the capacities become what the device gave. */
    long createQp(long domain, QueuePairInit attributes);

    /** {@code ibv_modify_qp}. */
    int modifyQp(long queuePair, QueuePairAttributes attributes, int mask);

    /** {@code ibv_query_qp} of the state; returns {@code IBV_QPS_*}. */
    int queryState(long queuePair);

    /** {@code ibv_destroy_qp}. */
    int destroyQp(long queuePair);

    /** Returns {@code qp_num}. */
    int number(long queuePair);

    /** {@code ibv_post_send}. */
    int postSend(long queuePair, SendRequest request);

    /** {@code ibv_post_recv}. */
    int postReceive(long queuePair, ReceiveRequest request);
}
