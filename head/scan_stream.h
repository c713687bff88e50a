// One Scan call: reads a message's worth on the core thread, sends it, and goes
// on when it has left.
#ifndef KAMINO_HEAD_SCAN_STREAM_H_
#define KAMINO_HEAD_SCAN_STREAM_H_

#include <atomic>

#include "head/node.h"
#include "head/reads.h"
#include "kamino/v1/kamino.grpc.pb.h"

namespace kamino::head {

// Deletes itself when the call is over.
class ScanStream final
    : public grpc::ServerWriteReactor<kamino::v1::ScanResponse> {
 public:
  static ScanStream* Start(Node* node, const kamino::v1::ScanRequest& request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  ScanStream(Node* node, const kamino::v1::ScanRequest& request)
      : node_(node), cursor_(request) {}

  void Next();
  void ReadAndWrite(ChainNode& node);
  void FinishWith(const absl::Status& status);

  Node* const node_;
  // Of the thread that reads now; reading and writing take turns.
  ScanCursor cursor_;
  kamino::v1::ScanResponse response_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_SCAN_STREAM_H_
