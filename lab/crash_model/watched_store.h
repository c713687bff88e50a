// Archapt on memory behind a model of a cache, which is told what transactions
// load and store; and an oracle, which is told what they have come to.
#ifndef KAMINO_LAB_CRASH_MODEL_WATCHED_STORE_H_
#define KAMINO_LAB_CRASH_MODEL_WATCHED_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "engine/forwarding_store.h"
#include "lab/archapt/archapt_store.h"
#include "lab/crash_model/cached_region.h"
#include "lab/crash_model/oracle.h"

namespace kamino::bench::crash_model {

// For one thread. At an interval of transactions it does the work that
// Archapt's own thread would do beside them.
class WatchedStore final : public engine::ForwardingStore {
 public:
  // `below`, on `region`, is new. Both must outlive this.
  WatchedStore(engine::ArchaptStore* below, CachedRegion* region);

  std::unique_ptr<engine::Transaction> Begin(absl::Duration wait) override;

  const Oracle& oracle() const { return oracle_; }
  // Sequence of the last transaction that changed anything; it may be about to
  // commit.
  uint64_t last_sequence() const { return last_sequence_; }

 private:
  class WatchedTransaction;

  engine::TransactionalStore& below() const override { return store_; }
  void Ended();

  engine::ArchaptStore& store_;
  CachedRegion& region_;
  Oracle oracle_;
  uint64_t last_sequence_ = 0;
  uint64_t ended_ = 0;  // transactions
};

}  // namespace kamino::bench::crash_model

#endif  // KAMINO_LAB_CRASH_MODEL_WATCHED_STORE_H_
