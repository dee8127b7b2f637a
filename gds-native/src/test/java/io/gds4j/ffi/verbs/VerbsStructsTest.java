package io.gds4j.ffi.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The offsets of this code against those that a C compiler finds in rdma-core's header. */
class VerbsStructsTest {
    private static final Path HEADER = Path.of("/usr/include/infiniband/verbs.h");

    private final Map<String, Long> believed = new LinkedHashMap<>();

    private void size(String struct, long bytes) {
        believed.put("sizeof(struct %s)".formatted(struct), bytes);
    }

    private void field(String struct, String field, long offset) {
        believed.put("offsetof(struct %s, %s)".formatted(struct, field), offset);
    }

    private void constant(String name, long value) {
        believed.put(name, value);
    }

    @Test
    void offsetsAreThoseOfTheHeader(@TempDir Path folder) throws Exception {
        assumeTrue(Files.exists(HEADER), "no " + HEADER + " here (libibverbs-dev): offsets of structs are not checked");
        made();
        asked();
        requested();
        constants();
        Path source = folder.resolve("offsets.c");
        Files.writeString(source, """
                #include <infiniband/verbs.h>
                #include <stddef.h>
                #include <stdio.h>
                int main(void) {
                %s    return 0;
                }
                """.formatted(believed.keySet().stream()
                .map(name -> "    printf(\"%%lld\\n\", (long long) (%s));%n".formatted(name))
                .collect(Collectors.joining())));
        Path program = folder.resolve("offsets");
        assertThat(output(new ProcessBuilder("cc", "-o", program.toString(), source.toString()))).isEmpty();
        String[] answers = output(new ProcessBuilder(program.toString())).split("\n");
        Map<String, Long> real = new LinkedHashMap<>();
        int next = 0;
        for (String name : believed.keySet()) {
            real.put(name, Long.parseLong(answers[next++]));
        }
        assertThat(believed).isEqualTo(real);
    }

    private void made() {
        size("ibv_context", FfmVerbs.CONTEXT_SIZE);
        field("ibv_context", "ops.alloc_mw", FfmVerbs.OPS_ALLOC_MW);
        field("ibv_context", "ops.bind_mw", FfmVerbs.OPS_BIND_MW);
        field("ibv_context", "ops.dealloc_mw", FfmVerbs.OPS_DEALLOC_MW);
        field("ibv_context", "ops.poll_cq", FfmVerbs.OPS_POLL_CQ);
        field("ibv_context", "ops.req_notify_cq", FfmVerbs.OPS_REQ_NOTIFY_CQ);
        field("ibv_context", "ops.post_send", FfmVerbs.OPS_POST_SEND);
        field("ibv_context", "ops.post_recv", FfmVerbs.OPS_POST_RECV);
        for (String struct : new String[]{"ibv_pd", "ibv_mr", "ibv_mw", "ibv_cq", "ibv_qp", "ibv_comp_channel"}) {
            field(struct, "context", 0);
        }
        size("ibv_mr", FfmVerbs.MR_SIZE);
        field("ibv_mr", "lkey", FfmVerbs.MR_LKEY);
        field("ibv_mr", "rkey", FfmVerbs.MR_RKEY);
        size("ibv_mw", FfmVerbs.MW_SIZE);
        field("ibv_mw", "rkey", FfmVerbs.MW_RKEY);
        size("ibv_comp_channel", FfmVerbs.CHANNEL_SIZE);
        field("ibv_comp_channel", "fd", FfmVerbs.CHANNEL_FD);
        size("ibv_qp", FfmVerbs.QP_SIZE);
        field("ibv_qp", "qp_num", FfmVerbs.QP_NUM);
    }

    private void asked() {
        size("ibv_device_attr", DeviceAttributes.SIZE);
        field("ibv_device_attr", "max_mr_size", DeviceAttributes.MAX_MR_SIZE);
        field("ibv_device_attr", "max_qp", DeviceAttributes.MAX_QP);
        field("ibv_device_attr", "max_qp_wr", DeviceAttributes.MAX_QP_WR);
        field("ibv_device_attr", "device_cap_flags", DeviceAttributes.DEVICE_CAP_FLAGS);
        field("ibv_device_attr", "max_sge", DeviceAttributes.MAX_SGE);
        field("ibv_device_attr", "max_cqe", DeviceAttributes.MAX_CQE);
        field("ibv_device_attr", "max_mr", DeviceAttributes.MAX_MR);
        field("ibv_device_attr", "max_qp_rd_atom", DeviceAttributes.MAX_QP_RD_ATOM);
        field("ibv_device_attr", "atomic_cap", DeviceAttributes.ATOMIC_CAP);
        field("ibv_device_attr", "max_mw", DeviceAttributes.MAX_MW);
        field("ibv_device_attr", "phys_port_cnt", DeviceAttributes.PHYS_PORT_CNT);
        size("ibv_port_attr", PortAttributes.SIZE);
        field("ibv_port_attr", "state", PortAttributes.STATE);
        field("ibv_port_attr", "active_mtu", PortAttributes.ACTIVE_MTU);
        field("ibv_port_attr", "gid_tbl_len", PortAttributes.GID_TBL_LEN);
        field("ibv_port_attr", "lid", PortAttributes.LID);
        field("ibv_port_attr", "link_layer", PortAttributes.LINK_LAYER);
        size("ibv_qp_init_attr", QueuePairInit.SIZE);
        field("ibv_qp_init_attr", "send_cq", QueuePairInit.SEND_CQ);
        field("ibv_qp_init_attr", "recv_cq", QueuePairInit.RECV_CQ);
        field("ibv_qp_init_attr", "cap.max_send_wr", QueuePairInit.MAX_SEND_WR);
        field("ibv_qp_init_attr", "cap.max_recv_wr", QueuePairInit.MAX_RECV_WR);
        field("ibv_qp_init_attr", "cap.max_send_sge", QueuePairInit.MAX_SEND_SGE);
        field("ibv_qp_init_attr", "cap.max_recv_sge", QueuePairInit.MAX_RECV_SGE);
        field("ibv_qp_init_attr", "cap.max_inline_data", QueuePairInit.MAX_INLINE_DATA);
        field("ibv_qp_init_attr", "qp_type", QueuePairInit.QP_TYPE);
        field("ibv_qp_init_attr", "sq_sig_all", QueuePairInit.SQ_SIG_ALL);
        size("ibv_qp_attr", QueuePairAttributes.SIZE);
        field("ibv_qp_attr", "qp_state", QueuePairAttributes.QP_STATE);
        field("ibv_qp_attr", "path_mtu", QueuePairAttributes.PATH_MTU);
        field("ibv_qp_attr", "rq_psn", QueuePairAttributes.RQ_PSN);
        field("ibv_qp_attr", "sq_psn", QueuePairAttributes.SQ_PSN);
        field("ibv_qp_attr", "dest_qp_num", QueuePairAttributes.DEST_QP_NUM);
        field("ibv_qp_attr", "qp_access_flags", QueuePairAttributes.QP_ACCESS_FLAGS);
        field("ibv_qp_attr", "ah_attr.grh.dgid", QueuePairAttributes.DGID);
        field("ibv_qp_attr", "ah_attr.grh.sgid_index", QueuePairAttributes.SGID_INDEX);
        field("ibv_qp_attr", "ah_attr.grh.hop_limit", QueuePairAttributes.HOP_LIMIT);
        field("ibv_qp_attr", "ah_attr.dlid", QueuePairAttributes.DLID);
        field("ibv_qp_attr", "ah_attr.is_global", QueuePairAttributes.IS_GLOBAL);
        field("ibv_qp_attr", "ah_attr.port_num", QueuePairAttributes.AH_PORT_NUM);
        field("ibv_qp_attr", "max_rd_atomic", QueuePairAttributes.MAX_RD_ATOMIC);
        field("ibv_qp_attr", "max_dest_rd_atomic", QueuePairAttributes.MAX_DEST_RD_ATOMIC);
        field("ibv_qp_attr", "min_rnr_timer", QueuePairAttributes.MIN_RNR_TIMER);
        field("ibv_qp_attr", "port_num", QueuePairAttributes.PORT_NUM);
        field("ibv_qp_attr", "timeout", QueuePairAttributes.TIMEOUT);
        field("ibv_qp_attr", "retry_cnt", QueuePairAttributes.RETRY_CNT);
        field("ibv_qp_attr", "rnr_retry", QueuePairAttributes.RNR_RETRY);
    }

    private void requested() {
        size("ibv_sge", Pieces.SIZE);
        field("ibv_sge", "addr", Pieces.ADDR);
        field("ibv_sge", "length", Pieces.LENGTH);
        field("ibv_sge", "lkey", Pieces.LKEY);
        size("ibv_send_wr", SendRequest.SIZE);
        field("ibv_send_wr", "wr_id", SendRequest.WR_ID);
        field("ibv_send_wr", "sg_list", SendRequest.SG_LIST);
        field("ibv_send_wr", "num_sge", SendRequest.NUM_SGE);
        field("ibv_send_wr", "opcode", SendRequest.OPCODE);
        field("ibv_send_wr", "send_flags", SendRequest.SEND_FLAGS);
        field("ibv_send_wr", "imm_data", SendRequest.IMM_DATA);
        field("ibv_send_wr", "invalidate_rkey", SendRequest.IMM_DATA);
        field("ibv_send_wr", "wr.rdma.remote_addr", SendRequest.REMOTE_ADDR);
        field("ibv_send_wr", "wr.rdma.rkey", SendRequest.RKEY);
        field("ibv_send_wr", "wr.atomic.remote_addr", SendRequest.REMOTE_ADDR);
        field("ibv_send_wr", "wr.atomic.compare_add", SendRequest.COMPARE_ADD);
        field("ibv_send_wr", "wr.atomic.swap", SendRequest.SWAP);
        field("ibv_send_wr", "wr.atomic.rkey", SendRequest.ATOMIC_RKEY);
        field("ibv_send_wr", "bind_mw.mw", SendRequest.BIND_MW_WINDOW);
        field("ibv_send_wr", "bind_mw.rkey", SendRequest.BIND_RKEY);
        field("ibv_send_wr", "bind_mw.bind_info.mr", SendRequest.BIND_MR);
        field("ibv_send_wr", "bind_mw.bind_info.addr", SendRequest.BIND_ADDR);
        field("ibv_send_wr", "bind_mw.bind_info.length", SendRequest.BIND_LENGTH);
        field("ibv_send_wr", "bind_mw.bind_info.mw_access_flags", SendRequest.BIND_ACCESS);
        size("ibv_recv_wr", ReceiveRequest.SIZE);
        field("ibv_recv_wr", "wr_id", ReceiveRequest.WR_ID);
        field("ibv_recv_wr", "sg_list", ReceiveRequest.SG_LIST);
        field("ibv_recv_wr", "num_sge", ReceiveRequest.NUM_SGE);
        size("ibv_wc", WorkCompletions.SIZE);
        field("ibv_wc", "wr_id", WorkCompletions.WR_ID);
        field("ibv_wc", "status", WorkCompletions.STATUS);
        field("ibv_wc", "opcode", WorkCompletions.OPCODE);
        field("ibv_wc", "vendor_err", WorkCompletions.VENDOR_ERR);
        field("ibv_wc", "byte_len", WorkCompletions.BYTE_LEN);
        field("ibv_wc", "imm_data", WorkCompletions.IMM_DATA);
        field("ibv_wc", "qp_num", WorkCompletions.QP_NUM);
        field("ibv_wc", "wc_flags", WorkCompletions.WC_FLAGS);
        size("ibv_mw_bind", WindowBind.SIZE);
        field("ibv_mw_bind", "wr_id", WindowBind.WR_ID);
        field("ibv_mw_bind", "send_flags", WindowBind.SEND_FLAGS);
        field("ibv_mw_bind", "bind_info.mr", WindowBind.MR);
        field("ibv_mw_bind", "bind_info.addr", WindowBind.ADDR);
        field("ibv_mw_bind", "bind_info.length", WindowBind.LENGTH);
        field("ibv_mw_bind", "bind_info.mw_access_flags", WindowBind.ACCESS);
    }

    private void constants() {
        constant("IBV_ACCESS_LOCAL_WRITE", Verbs.ACCESS_LOCAL_WRITE);
        constant("IBV_ACCESS_REMOTE_WRITE", Verbs.ACCESS_REMOTE_WRITE);
        constant("IBV_ACCESS_REMOTE_READ", Verbs.ACCESS_REMOTE_READ);
        constant("IBV_ACCESS_REMOTE_ATOMIC", Verbs.ACCESS_REMOTE_ATOMIC);
        constant("IBV_ACCESS_MW_BIND", Verbs.ACCESS_MW_BIND);
        constant("IBV_ACCESS_RELAXED_ORDERING", Verbs.ACCESS_RELAXED_ORDERING);
        constant("IBV_MW_TYPE_1", Verbs.WINDOW_TYPE_1);
        constant("IBV_MW_TYPE_2", Verbs.WINDOW_TYPE_2);
        constant("IBV_REREG_MR_CHANGE_TRANSLATION", Verbs.CHANGE_TRANSLATION);
        constant("IBV_REREG_MR_CHANGE_PD", Verbs.CHANGE_DOMAIN);
        constant("IBV_REREG_MR_CHANGE_ACCESS", Verbs.CHANGE_ACCESS);
        constant("IBV_DEVICE_MEM_WINDOW", DeviceAttributes.MEM_WINDOW);
        constant("IBV_DEVICE_MEM_WINDOW_TYPE_2A", DeviceAttributes.MEM_WINDOW_2A);
        constant("IBV_DEVICE_MEM_WINDOW_TYPE_2B", DeviceAttributes.MEM_WINDOW_2B);
        constant("IBV_PORT_ACTIVE", PortAttributes.ACTIVE);
        constant("IBV_LINK_LAYER_ETHERNET", PortAttributes.ETHERNET);
        constant("IBV_QPT_RC", QueuePairInit.RC);
        constant("IBV_QPT_UC", QueuePairInit.UC);
        constant("IBV_QPS_INIT", QueuePairAttributes.INIT);
        constant("IBV_QPS_RTR", QueuePairAttributes.READY_TO_RECEIVE);
        constant("IBV_QPS_RTS", QueuePairAttributes.READY_TO_SEND);
        constant("IBV_QPS_ERR", QueuePairAttributes.ERROR);
        constant("IBV_QP_STATE", QueuePairAttributes.STATE_MASK);
        constant("IBV_QP_STATE|IBV_QP_PKEY_INDEX|IBV_QP_PORT|IBV_QP_ACCESS_FLAGS", QueuePairAttributes.INIT_MASK);
        constant(
                "IBV_QP_STATE|IBV_QP_AV|IBV_QP_PATH_MTU|IBV_QP_DEST_QPN|IBV_QP_RQ_PSN",
                QueuePairAttributes.RECEIVE_MASK);
        constant(
                "IBV_QP_STATE|IBV_QP_AV|IBV_QP_PATH_MTU|IBV_QP_DEST_QPN|IBV_QP_RQ_PSN|IBV_QP_MAX_DEST_RD_ATOMIC"
                        + "|IBV_QP_MIN_RNR_TIMER",
                QueuePairAttributes.RECEIVE_RC_MASK);
        constant("IBV_QP_STATE|IBV_QP_SQ_PSN", QueuePairAttributes.SEND_MASK);
        constant(
                "IBV_QP_STATE|IBV_QP_SQ_PSN|IBV_QP_TIMEOUT|IBV_QP_RETRY_CNT|IBV_QP_RNR_RETRY|IBV_QP_MAX_QP_RD_ATOMIC",
                QueuePairAttributes.SEND_RC_MASK);
        constant("IBV_WR_RDMA_WRITE", SendRequest.RDMA_WRITE);
        constant("IBV_WR_RDMA_WRITE_WITH_IMM", SendRequest.RDMA_WRITE_WITH_IMM);
        constant("IBV_WR_SEND", SendRequest.SEND);
        constant("IBV_WR_RDMA_READ", SendRequest.RDMA_READ);
        constant("IBV_WR_ATOMIC_CMP_AND_SWP", SendRequest.ATOMIC_CMP_AND_SWP);
        constant("IBV_WR_ATOMIC_FETCH_AND_ADD", SendRequest.ATOMIC_FETCH_AND_ADD);
        constant("IBV_WR_LOCAL_INV", SendRequest.LOCAL_INV);
        constant("IBV_WR_BIND_MW", SendRequest.BIND_MW);
        constant("IBV_WR_SEND_WITH_INV", SendRequest.SEND_WITH_INV);
        constant("IBV_SEND_FENCE", SendRequest.FENCE);
        constant("IBV_SEND_SIGNALED", SendRequest.SIGNALED);
        constant("IBV_SEND_INLINE", SendRequest.INLINE);
        constant("IBV_WC_RECV", WorkCompletions.RECEIVE);
        constant("IBV_WC_WITH_IMM", WorkCompletions.WITH_IMMEDIATE);
        constant("IBV_WC_WITH_INV", WorkCompletions.WITH_INVALIDATE);
    }

    private static String output(ProcessBuilder command) throws Exception {
        Process process = command.redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return text;
    }
}
