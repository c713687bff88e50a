// A heap of named objects, for tests of the protocol: it executes entries such
// as "a=1 b=22" (tests/replica/text_entry.h), repairs them object by object,
// and copies them to another heap.
#ifndef KAMINO_TESTS_REPLICA_FAKE_HEAP_H_
#define KAMINO_TESTS_REPLICA_FAKE_HEAP_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/state/executor.h"
#include "replica/state/scrubbed_heap.h"
#include "replica/state/state_copy.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {

class FakeHeap final : public Executor, public StateCopy, public ScrubbedHeap {
 public:
  static constexpr uint64_t kSpacing = kObjectSpacing;
  static constexpr uint64_t kRanges = 2;  // a to m, and n to z

  // All must outlive it.
  FakeHeap(LogRing* ring, NodeRecord* record, ScrubRecord* scrub_record);

  // Objects by letter.
  using Objects = std::map<char, std::string>;
  Objects objects;

  // Executes the first `writes` writes of an entry, like an execution that a
  // crash interrupts.
  void ExecutePart(absl::string_view text, size_t writes);
  // Entries that are executed get other results than at the head.
  bool diverges = false;
  // This node's program lacks the procedure of all entries.
  bool lacks_procedure = false;
  // The next entry that is executed here fails after that many writes.
  std::optional<size_t> falters_after;
  // A chunk of a snapshot is an object, "a=1", or the end, "after 3"; the next
  // one arrives damaged.
  bool damages_next_chunk = false;

  // "a=1 b=22"; "nothing" when it is empty.
  std::string Text() const;

  absl::StatusOr<uint64_t> Execute(const LogEntry& entry) override;
  absl::StatusOr<uint64_t> Try(const LogEntry& entry) override;
  absl::StatusOr<uint64_t> HashImage(const LogEntry& entry) override {
    return Try(entry);
  }
  absl::StatusOr<absl::string_view> ImageOf(
      const engine::Intent& intent) override;
  absl::Status ReadIntent(const engine::Intent& intent,
                          std::string* bytes) override;
  absl::Status BeginRepair(const engine::WriteSet& intents,
                           bool interrupted) override;
  absl::Status RepairIntent(const engine::Intent& intent,
                            absl::string_view bytes,
                            RepairDirection direction) override;
  void EndRepair(bool confirmed) override;

  void BeginSending(uint64_t sequence) override;
  void PrepareCut() override {}
  size_t BytesLeft() const override { return unsent_.size(); }
  size_t NextChunk(std::string* chunk) override;
  void FinishSending(uint64_t sequence, std::string* chunk) override;
  void EndSending() override;
  void BeginReceiving() override;
  absl::StatusOr<Taken> Take(absl::string_view chunk) override;
  absl::Status FinishReceiving(uint64_t sequence) override;

  uint64_t range_bytes() const override { return 13 * kSpacing; }
  uint64_t RangeOf(engine::ObjectId id) const override;
  bool Reach(uint64_t) override { return true; }
  uint64_t Digest(uint64_t range) override;
  RangeStates* range_states() override { return &range_states_; }
  ScrubRecord* record() override { return scrub_record_; }

 private:
  void Write(char object, const std::string& value);

  LogRing* const ring_;
  NodeRecord* const record_;
  ScrubRecord* const scrub_record_;
  RangeStates range_states_{kRanges};
  bool sending_ = false;
  std::vector<engine::ObjectId> repaired_;
  std::set<char> unsent_;  // while sending
};

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_FAKE_HEAP_H_
