// A rig whose store wraps each transaction by the given function, for tests
// that change a scheme slightly, or watch it.
#ifndef KAMINO_TESTS_ENGINE_CRASH_FORWARDING_RIG_H_
#define KAMINO_TESTS_ENGINE_CRASH_FORWARDING_RIG_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "engine/forwarding_store.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

class WrappingStore final : public ForwardingStore {
 public:
  using Wrap =
      std::function<std::unique_ptr<Transaction>(std::unique_ptr<Transaction>)>;

  // `below` must outlive this.
  WrappingStore(TransactionalStore* below, Wrap wrap)
      : below_(*below), wrap_(std::move(wrap)) {}

  std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) override {
    return wrap_(below_.Begin(lock_wait));
  }

 private:
  TransactionalStore& below() const override { return below_; }

  TransactionalStore& below_;
  const Wrap wrap_;
};

class ForwardingRig final : public Rig {
 public:
  ForwardingRig(std::unique_ptr<Rig> inner, WrappingStore::Wrap wrap)
      : inner_(std::move(inner)), store_(&inner_->store(), std::move(wrap)) {}

  TransactionalStore& store() override { return store_; }
  void Sync(size_t transactions) override { inner_->Sync(transactions); }
  const Region* view() const override { return inner_->view(); }
  bool can_hold() const override { return inner_->can_hold(); }
  void ReleaseHold(uint64_t sequence) override {
    inner_->ReleaseHold(sequence);
  }
  std::optional<uint64_t> last_sequence() const override {
    return inner_->last_sequence();
  }
  bool cancels() const override { return inner_->cancels(); }
  uint64_t live_objects() const override { return inner_->live_objects(); }

 private:
  const std::unique_ptr<Rig> inner_;
  WrappingStore store_;
};

// The scheme with wrapped transactions.
inline Scheme WithTransactions(const Scheme& scheme,
                               const WrappingStore::Wrap& wrap) {
  Scheme other = scheme;
  other.open = [open = scheme.open, wrap](
                   const std::vector<Region*>& regions,
                   bool make) -> absl::StatusOr<std::unique_ptr<Rig>> {
    auto rig = open(regions, make);
    if (!rig.ok()) return rig;
    return std::make_unique<ForwardingRig>(std::move(*rig), wrap);
  };
  return other;
}

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_FORWARDING_RIG_H_
