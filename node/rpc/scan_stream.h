// One Scan call: reads one message on the core thread, sends it, and continues
// when it has left. So a slow reader holds one message, which counts among the
// node's unsent answers and ends the call if it stays too long.
#ifndef KAMINO_NODE_RPC_SCAN_STREAM_H_
#define KAMINO_NODE_RPC_SCAN_STREAM_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "kamino/v1/kamino.grpc.pb.h"
#include "node/driver/node.h"
#include "node/reads.h"
#include "rpc/call_guard.h"

namespace kamino::node {

// Deletes itself when the call is over.
class ScanStream final
    : public grpc::ServerWriteReactor<kamino::v1::ScanResponse> {
 public:
  static ScanStream* Start(Node* node, grpc::CallbackServerContext* context,
                           absl::Time deadline,
                           const kamino::v1::ScanRequest& request,
                           security::Access* access);

  void OnWriteDone(bool ok) override;
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  ScanStream(Node* node, grpc::CallbackServerContext* context,
             absl::Time deadline, const kamino::v1::ScanRequest& request,
             security::Access* access)
      : node_(node),
        access_(access),
        by_(rpc::PrincipalOf(*context, access)),
        context_(context),
        request_(request),
        peer_(context->peer()),
        deadline_(deadline),
        cursor_(request) {}

  void Next();
  void ReadAndWrite(ChainNode& node);
  absl::Status ReadMessage(ChainNode& node);
  void FinishWith(const absl::Status& status);
  // Each message is a read of its own: the client's delay between messages does
  // not count.
  void TellIfSlow(const absl::Status& status, absl::Time now);

  Node* const node_;
  security::Access* const access_;
  const PrincipalPtr by_;
  grpc::CallbackServerContext* const context_;
  const kamino::v1::ScanRequest request_;
  const std::string peer_;     // its connection
  const absl::Time deadline_;  // on the node's clock
  const absl::Time began_ = node_->Now();
  // For this message: when it was requested, and when the core thread began it,
  // if slow operations are reported.
  absl::Time part_began_ = began_;
  absl::Time part_came_ = absl::InfiniteFuture();
  // Used by the thread that reads now; reading and writing alternate.
  ScanCursor cursor_;
  kamino::v1::ScanResponse response_;
  uint64_t unsent_ = 0;  // the message, among the node's unsent answers
  std::atomic<bool> cancelled_{false};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_SCAN_STREAM_H_
