#include "tests/engine/random_crashes.h"

#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

// Object to content; what a heap must hold.
using Model = std::map<ObjectId, std::string>;

constexpr uint32_t kSmall = 300;
constexpr size_t kLiveTransactions = 3;
// A recovery may be cut off at one of its first drains.
constexpr uint64_t kLastCut = 8;

// A transaction under way and its changes; nullopt: freed.
struct Live {
  std::unique_ptr<Transaction> transaction;
  std::map<ObjectId, std::optional<std::string>> changes;

  void ApplyTo(Model* model) const {
    for (const auto& [id, text] : changes) {
      if (text.has_value()) {
        (*model)[id] = *text;
      } else {
        model->erase(id);
      }
    }
  }
};

void SetDrainHook(CrashSubject& subject, const std::function<void()>& hook) {
  for (SimRegion* region : subject.regions()) region->SetDrainHook(hook);
}

class Workload {
 public:
  Workload(CrashSubject* subject, const CrashLoad& load)
      : subject_(subject), load_(load), random_(load.seed) {}

  CrashCounts Run() {
    SetDrainHook(*subject_, [this] {
      if (Random(100) < load_.crash_percent) Crash();
    });
    for (int i = 0; i < load_.steps; ++i) {
      Step();
      if (::testing::Test::HasFatalFailure()) break;
    }
    SetDrainHook(*subject_, nullptr);
    return counts_;
  }

 private:
  uint64_t Random(uint64_t bound) { return random_() % bound; }

  void Step() {
    subject_->Pass(random_);
    if (live_.size() < kLiveTransactions) {
      live_.push_back({subject_->Begin(), {}});
    }
    const size_t index = Random(live_.size());
    Live& live = live_[index];
    if (Random(4) != 0) {
      const absl::Status changed = Change(&live);
      if (changed.ok()) return;
      ASSERT_TRUE(live.transaction->conflict().has_value() ||
                  ResourceOf(changed).has_value())
          << changed;
      ASSERT_TRUE(live.transaction->Abort().ok());
    } else if (Random(4) == 0) {
      ASSERT_TRUE(live.transaction->Abort().ok());
    } else {
      Commit(&live);
    }
    live_.erase(live_.begin() + index);
  }

  void Commit(Live* live) {
    CommitOptions options = subject_->NextCommit(random_);
    const bool refuse = Random(8) == 0;
    const auto before_mark = [refuse](const WriteSet&) {
      return refuse ? absl::CancelledError("refused") : absl::OkStatus();
    };
    if (refuse || Random(2) == 0) options.before_mark.emplace(before_mark);
    if (!refuse) ending_ = live;
    ASSERT_EQ(live->transaction->Commit(options).ok(), !refuse);
    ending_ = nullptr;
    if (refuse) return;
    ++counts_.commits;
    live->ApplyTo(&committed_);
  }

  absl::Status Change(Live* live) {
    Model seen = committed_;
    live->ApplyTo(&seen);
    const uint64_t kind = Random(10);
    if (seen.size() < 5 || (seen.size() < load_.objects && kind < 3)) {
      return Alloc(live, Random(2) == 0
                             ? 1 + Random(kSmall)
                             : load_.large / 2 + Random(load_.large / 2));
    }
    const auto [id, text] = *std::next(seen.begin(), Random(seen.size()));
    if (kind < 4) {
      RETURN_IF_ERROR(live->transaction->Free(id));
      live->changes[id] = std::nullopt;
      return absl::OkStatus();
    }
    const uint32_t offset = Random(text.size());
    const uint32_t length = 1 + Random(text.size() - offset);
    const std::string news(length, static_cast<char>('A' + Random(26)));
    RETURN_IF_ERROR(Put(live, id, offset, news));
    std::string changed = text;
    changed.replace(offset, length, news);
    live->changes[id] = std::move(changed);
    return absl::OkStatus();
  }

  absl::Status Put(Live* live, ObjectId id, uint32_t offset,
                   const std::string& text) {
    if (Random(2) == 0) {
      return live->transaction->Overwrite(
          id, offset,
          {reinterpret_cast<const std::byte*>(text.data()), text.size()});
    }
    ASSIGN_OR_RETURN(std::byte * bytes,
                     live->transaction->Write(id, offset, text.size()));
    std::memcpy(bytes, text.data(), text.size());
    return absl::OkStatus();
  }

  absl::Status Alloc(Live* live, uint32_t size) {
    ASSIGN_OR_RETURN(const ObjectId id, live->transaction->Alloc(size));
    const std::string text(size, static_cast<char>('a' + Random(26)));
    ASSIGN_OR_RETURN(std::byte * bytes, live->transaction->Write(id, 0, size));
    std::memcpy(bytes, text.data(), size);
    live->changes[id] = text;
    return absl::OkStatus();
  }

  std::vector<SimRegion::Image> Images(CrashSubject& subject) {
    std::vector<SimRegion::Image> images;
    for (SimRegion* region : subject.regions()) {
      images.push_back(region->CrashImage(random_()));
    }
    return images;
  }

  void Crash() {
    ++counts_.crashes;
    if (ending_ != nullptr) ++counts_.in_commit;
    const auto after = subject_->After(Images(*subject_));
    // Recovery itself may be cut off.
    std::vector<SimRegion::Image> images;
    uint64_t drains_left = 1 + Random(kLastCut);
    SetDrainHook(*after, [&] {
      if (--drains_left == 0) images = Images(*after);
    });
    const absl::Status recovered = after->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered;
    SetDrainHook(*after, nullptr);
    Check(*after);
    if (images.empty()) return;
    const auto again = subject_->After(images);
    const absl::Status repeated = again->Recover();
    ASSERT_TRUE(repeated.ok()) << repeated;
    Check(*again);
  }

  void Check(CrashSubject& after) {
    Model now = committed_;
    if (ending_ != nullptr && !Holds(after, now)) ending_->ApplyTo(&now);
    ASSERT_TRUE(Holds(after, now)) << "crash " << counts_.crashes;
    ASSERT_EQ(after.heap().stats().objects, now.size() + 1);
    // Aborting undoes everything.
    for (const auto& [id, text] : now) {
      auto transaction = after.Begin();
      auto bytes = transaction->Write(id, 0, text.size());
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      std::memset(*bytes, '#', text.size());
      ASSERT_TRUE(transaction->Abort().ok());
    }
    ASSERT_TRUE(Holds(after, now)) << "crash " << counts_.crashes;
  }

  // Exactly `model`, for all objects that this workload may have touched.
  bool Holds(CrashSubject& after, const Model& model) const {
    Model known = committed_;
    for (const Live& live : live_) live.ApplyTo(&known);
    known.insert(committed_.begin(), committed_.end());
    for (const auto& [id, unused] : known) {
      const auto payload = after.heap().Payload(id);
      const auto expected = model.find(id);
      if (payload.ok() != (expected != model.end())) return false;
      if (!payload.ok()) continue;
      const std::string& text = expected->second;
      if (payload->size() < text.size() ||
          std::memcmp(payload->data(), text.data(), text.size()) != 0) {
        return false;
      }
    }
    return true;
  }

  CrashSubject* const subject_;
  const CrashLoad load_;
  std::mt19937_64 random_;
  std::vector<Live> live_;
  const Live* ending_ = nullptr;  // its Commit has not returned
  Model committed_;
  CrashCounts counts_;
};

}  // namespace

CrashCounts& CrashCounts::operator+=(const CrashCounts& other) {
  crashes += other.crashes;
  in_commit += other.in_commit;
  commits += other.commits;
  return *this;
}

CrashCounts RunRandomCrashes(CrashSubject* subject, const CrashLoad& load) {
  return Workload(subject, load).Run();
}

}  // namespace kamino::engine
