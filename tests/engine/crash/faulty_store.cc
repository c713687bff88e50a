#include "tests/engine/crash/faulty_store.h"

#include <cstring>
#include <memory>
#include <utility>

#include "tests/engine/crash/forwarding_rig.h"
#include "tests/faults/fault.h"

namespace kamino::engine::crash {
namespace {

class FaultyTransaction final : public ForwardingTransaction {
 public:
  using ForwardingTransaction::ForwardingTransaction;

  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    if (faults::FaultPlanted("transaction-write-not-declared")) {
      return Bytes(id, offset);
    }
    if (faults::FaultPlanted("transaction-intent-too-short") && length > 1) {
      return below().Write(id, offset, length / 2);
    }
    if (faults::FaultPlanted("transaction-intent-misplaced") && offset > 0) {
      auto bytes = below().Write(id, offset - 1, length);
      if (!bytes.ok()) return bytes;
      return *bytes + 1;
    }
    return below().Write(id, offset, length);
  }

  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override {
    if (faults::FaultPlanted("transaction-stores-before-intent")) {
      auto place = Bytes(id, offset);
      if (!place.ok()) return place.status();
      std::memcpy(*place, bytes.data(), bytes.size());
    }
    return below().Overwrite(id, offset, bytes);
  }

  // As two calls, which the faults are about.
  absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> head,
                             absl::Span<const std::byte> bytes) override {
    return Transaction::OverwriteBoth(id, offset, head, bytes);
  }

  absl::Status Free(ObjectId id) override {
    // A leak.
    if (faults::FaultPlanted("transaction-free-forgotten")) {
      return absl::OkStatus();
    }
    return below().Free(id);
  }

  using Transaction::Commit;
  absl::Status Commit(const CommitOptions& options) override {
    if (faults::FaultPlanted("transaction-commit-ignored")) {
      return below().Abort();
    }
    return below().Commit(options);
  }

  absl::Status Abort() override {
    if (faults::FaultPlanted("transaction-abort-commits")) {
      return below().Commit();
    }
    return below().Abort();
  }

 private:
  absl::StatusOr<std::byte*> Bytes(ObjectId id, uint32_t offset) {
    auto bytes = below().Read(id);
    if (!bytes.ok()) return bytes.status();
    return const_cast<std::byte*>(bytes->data()) + offset;
  }
};

}  // namespace

Scheme WithFaultyStore(const Scheme& scheme) {
  return WithTransactions(scheme, [](std::unique_ptr<Transaction> below) {
    return std::make_unique<FaultyTransaction>(std::move(below));
  });
}

}  // namespace kamino::engine::crash
