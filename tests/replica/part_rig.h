// The environment of a part of the core, for the walk through its table.
#ifndef KAMINO_TESTS_REPLICA_PART_RIG_H_
#define KAMINO_TESTS_REPLICA_PART_RIG_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/pmem/sim_region.h"
#include "membership/view.h"
#include "replica/link/chain_options.h"
#include "replica/link/outbox.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/state/scrub_record.h"
#include "tests/replica/fake_heap.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {

struct PartRig {
  PartRig()
      : region(2 * LogRing::kMinTinyBytes),
        ring(*LogRing::Create(&region, {}, LogRing::kMinTinyBytes)),
        record(&region),
        scrub_region(4096),
        scrub_record(&scrub_region, 0),
        heap(ring.get(), &record, &scrub_record) {
    record.Create(NodeState());
    options.node_id = "n1";
    options.window_entries = 2;
    options.cut_bytes = 1;
    outbox.set_view_id(7);
  }

  static membership::Member Named(const std::string& name) {
    membership::Member member;
    member.node_id = name;
    member.incarnation = 1;
    return member;
  }

  // Appends an entry, which the node has applied or not.
  void Append(const std::string& text, bool applied = true) {
    (void)AppendText(ring.get(), text);
    if (applied) ring->MarkApplied(ring->received());
  }

  void Note(const std::string& effect) { notes.push_back(effect); }

  engine::SimRegion region;
  std::unique_ptr<LogRing> ring;
  NodeRecord record;
  engine::SimRegion scrub_region;
  ScrubRecord scrub_record;
  FakeHeap heap;
  ChainOptions options;
  Outbox outbox;
  absl::Time now = absl::UnixEpoch();
  std::vector<std::string> notes;
};

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_PART_RIG_H_
