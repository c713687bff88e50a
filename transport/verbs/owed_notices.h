// The notices that a verbs link owes its peer until the send queue has room for
// them. There is at most one of each kind: a later report of consumed records
// includes the earlier ones, and one request for credits is enough.
//
// Not thread-safe: the link's mutex guards it.
#ifndef KAMINO_TRANSPORT_VERBS_OWED_NOTICES_H_
#define KAMINO_TRANSPORT_VERBS_OWED_NOTICES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "transport/verbs/verbs_format.h"
#include "transport/verbs/verbs_wire.h"

namespace kamino::transport {

class OwedNotices {
 public:
  void AddHello() { hello_ = true; }
  // Asks the peer for credits. False: the peer has yet to answer the last
  // request.
  bool AddWant();
  void OnAnswer() { asks_ = false; }
  // `report`: kHead or kAnswer. Everything before `head` is consumed.
  void AddReport(Notice report, uint64_t head);

  // Sends the notices, as far as there is room.
  absl::Status SendOver(VerbsWire* wire);

 private:
  bool hello_ = false;
  bool answer_ = false;
  bool head_ = false;
  bool want_ = false;
  bool asks_ = false;      // for credits, without an answer so far
  uint64_t consumed_ = 0;  // to be reported
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_OWED_NOTICES_H_
