#include "tests/engine/crash/workload.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/crash/forwarding_rig.h"
#include "tests/engine/crash/scheduler.h"
#include "tests/engine/crash/session.h"
#include "tests/engine/crash/world.h"

namespace kamino::engine::crash {
namespace {

// One thread does the work that is left after commits, the others have one
// transaction each.
constexpr size_t kSyncThread = 0;
constexpr size_t kThreads = kCrew - 1;
constexpr size_t kRecent = 6;
// The first steps after a recovery show what it left undone: their number, and
// the percentage of their crash points.
constexpr int kFirstSteps = 40;
constexpr uint64_t kFirstPercent = 60;
// Without a sync thread all steps belong to transactions, and are longer.
constexpr int kFirstStepsUnsynced = 5;

class Life {
 public:
  Life(Explorer* explorer, std::mt19937_64* random, RunResult* result)
      : explorer_(*explorer), random_(*random), result_(*result) {}

  // Null: a new store. Also returns when the explorer has failed.
  void Live(const Scheme& scheme, const Found& found,
            const RunOptions& options);

 private:
  uint64_t Random(uint64_t bound) { return random_() % bound; }
  bool Check(const absl::Status& status, const std::string& what) {
    if (!status.ok()) {
      explorer_.Fail(
          absl::StrCat("while live, ", what, ": ", status.ToString(), "\n"));
    }
    return !explorer_.failed();
  }
  void Note(size_t thread, const std::string& what) {
    explorer_.Note(absl::StrCat("thread ", thread, ": ", what));
  }
  void Expect();
  // If the scheme lags: `world_` follows the order of the commits' places. A
  // commit with a place has released its locks, though it may not have returned
  // yet.
  void FollowPlaces();
  // Sets how many images there may be at this part of the life: 0, it is being
  // opened, to 1. Each life has half of them.
  void Allow(double part);

  // All threads, each until no steps are left.
  void RunThreads();
  void Work(size_t thread);
  void Step(size_t thread);
  void Sync();
  void Commit(size_t thread);
  void Abort(size_t thread);
  void Remember(const WriteSet& write_set);

  Explorer& explorer_;
  std::mt19937_64& random_;
  RunResult& result_;
  std::unique_ptr<Rig> rig_;
  std::unique_ptr<Session> sessions_[kThreads + 1];  // by thread; 0 has none
  WorldPointer world_;
  uint64_t sequence_ = 0;  // largest acknowledged
  // If the scheme lags: the durable state, its place, and the acknowledged
  // transactions after it, in their order.
  bool lags_ = false;
  WorldPointer durable_world_;
  uint64_t durable_place_ = 0;
  std::vector<InFlight> lagging_;
  std::vector<InFlight> in_flight_;
  std::deque<ObjectId> recent_;
  std::set<uint64_t> held_;
  uint64_t last_sequence_ = 0;  // given to a Commit
  uint64_t sequence_step_ = 1;  // as Scheme's
  size_t threads_ = kThreads;   // that have a transaction
  int steps_ = 0;               // left
  int all_steps_ = 0;
  bool nothing_to_sync_ = false;  // as Scheme's
  uint64_t percent_ = 0;          // as RunOptions'
  uint64_t most_images_ = 0;      // as RunOptions'
  bool second_ = false;           // life
  // Short transactions that seldom meet: more commits, to exercise the log.
  bool brief_ = false;
};

void Life::Allow(double part) {
  if (most_images_ == 0) return;
  // Part is for the opening, and for the end.
  const double lived = (second_ ? 1 : 0) + 0.1 + 0.8 * part;
  explorer_.SetAllowance(
      static_cast<uint64_t>(static_cast<double>(most_images_) * lived / 2));
}

void Life::FollowPlaces() {
  std::vector<InFlight> steps = lagging_;
  for (const InFlight& one : in_flight_) {
    if (*one.place != 0) steps.push_back(one);
  }
  std::stable_sort(
      steps.begin(), steps.end(),
      [](const InFlight& a, const InFlight& b) { return *a.place < *b.place; });
  World world = *durable_world_;
  for (const InFlight& step : steps) Apply(*step.change, &world);
  world_ = std::make_shared<const World>(std::move(world));
}

void Life::Expect() {
  Expectation expected;
  expected.recent = {recent_.begin(), recent_.end()};
  expected.in_flight = in_flight_;
  if (!lags_) {
    expected.before = world_;
    expected.sequence = sequence_;
    explorer_.Expect(std::move(expected));
    return;
  }
  const auto durable = [this] {
    return rig_ == nullptr ? durable_place_ : rig_->store().durable_sequence();
  };
  std::stable_sort(
      lagging_.begin(), lagging_.end(),
      [](const InFlight& a, const InFlight& b) { return *a.place < *b.place; });
  // A transaction in flight may come before.
  uint64_t most = durable();
  for (const InFlight& one : in_flight_) {
    if (*one.place != 0) most = std::min(most, *one.place - 1);
  }
  World world = *durable_world_;
  size_t folded = 0;
  while (folded < lagging_.size() && *lagging_[folded].place <= most) {
    durable_place_ = *lagging_[folded].place;
    Apply(*lagging_[folded++].change, &world);
  }
  if (folded > 0) {
    durable_world_ = std::make_shared<const World>(std::move(world));
    lagging_.erase(lagging_.begin(), lagging_.begin() + folded);
  }
  expected.before = durable_world_;
  expected.sequence = durable_place_;
  expected.lagging = lagging_;
  expected.durable = durable;
  explorer_.Expect(std::move(expected));
}

void Life::Live(const Scheme& scheme, const Found& found,
                const RunOptions& options) {
  const bool make = found.world == nullptr;
  lags_ = scheme.lags;
  sequence_step_ = scheme.sequence_step;
  nothing_to_sync_ = scheme.nothing_to_sync;
  if (scheme.one_at_a_time) threads_ = 1;
  most_images_ = options.most_images;
  second_ = !make;
  Allow(0);
  if (!make) {
    durable_world_ = world_ = found.world;
    durable_place_ = sequence_ = last_sequence_ = found.sequence;
    Expect();
    explorer_.Explore(true);  // recovery has crash points
  }
  explorer_.ActAs(kSyncThread);
  auto rig = scheme.open(explorer_.regions(), make);
  if (!Check(rig.status(), "opening")) return;
  rig_ = std::move(*rig);
  if (make) {
    auto made = MakeWorld(*rig_);
    if (!Check(made.status(), "making the world")) return;
    durable_world_ = world_ = std::make_shared<const World>(std::move(*made));
    durable_place_ = sequence_ = last_sequence_ = kWorldSequence;
    Expect();
    explorer_.Explore(true);
  }
  steps_ = all_steps_ = options.steps;
  brief_ = Random(2) == 0;
  percent_ = options.percent;
  explorer_.SetPercent(second_ ? kFirstPercent : percent_);
  RunThreads();
  explorer_.SetPercent(100);
  explorer_.ActAs(kSyncThread);
  if (!explorer_.failed()) {
    Note(kSyncThread, "everything comes to rest");
    while (!held_.empty()) {
      rig_->ReleaseHold(*held_.begin());
      held_.erase(held_.begin());
    }
    rig_->store().Quiesce();
    explorer_.Explore(false);
    if (Check(CheckObjects(*rig_, *world_), "at rest") &&
        Check(CheckStructure(*rig_, *world_), "at rest")) {
      Check(CheckCopies(*rig_, *world_), "at rest");
    }
  }
  explorer_.Explore(false);
  rig_.reset();
}

void Life::RunThreads() {
  Schedule schedule;
  schedule.random = [this](uint64_t bound) { return Random(bound); };
  schedule.resumed = [this](size_t thread) {
    explorer_.ActAs(static_cast<int>(thread));
  };
  std::vector<std::function<void()>> bodies;
  for (size_t thread = 0; thread <= threads_; ++thread) {
    bodies.push_back([this, thread] { Work(thread); });
  }
  RunTogether(bodies, schedule);
}

void Life::Work(size_t thread) {
  if (thread == kSyncThread && nothing_to_sync_) return;
  const int first = nothing_to_sync_ ? kFirstStepsUnsynced : kFirstSteps;
  while (steps_ > 0 && !explorer_.failed()) {
    --steps_;
    if (all_steps_ - steps_ > first) explorer_.SetPercent(percent_);
    Allow(1 - static_cast<double>(steps_) / all_steps_);
    if (thread == kSyncThread) {
      Sync();
    } else {
      Step(thread);
    }
    MaySwitch();
  }
  auto& session = sessions_[thread];
  if (session != nullptr && !explorer_.failed()) Abort(thread);
  session.reset();
}

void Life::Step(size_t thread) {
  auto& session = sessions_[thread];
  if (session == nullptr) {
    session = absl::make_unique<Session>(
        rig_.get(), thread - 1, &world_, &random_,
        [this] { explorer_.CrashPoint(); }, brief_);
  } else if (Random(5) < (brief_ ? 4 : 2)) {
    if (Random(brief_ ? 20 : 6) == 0) {
      Abort(thread);
    } else {
      Commit(thread);
    }
    return;
  }
  const absl::Status done = session->DoSomething();
  Note(thread,
       absl::StrCat(session->what(), done.ok() ? "" : ", which is refused"));
  Remember(session->transaction().write_set());
  if (done.ok()) {
    if (Random(4) == 0) explorer_.CrashPoint();
    return;
  }
  if (!session->Expected(done)) {
    Check(done, session->what());
    return;
  }
  ++(absl::IsAborted(done) ? result_.conflicts : result_.full);
  Abort(thread);
}

void Life::Sync() {
  if (!held_.empty() && Random(2) == 0) {
    const uint64_t sequence = *held_.begin();
    held_.erase(held_.begin());
    Note(kSyncThread, absl::StrCat("release hold ", sequence));
    rig_->ReleaseHold(sequence);
    return;
  }
  const size_t count = 1 + Random(3);
  Note(kSyncThread, absl::StrCat("sync up to ", count));
  rig_->Sync(count);
}

void Life::Commit(size_t thread) {
  Session& session = *sessions_[thread];
  session.StoreLater();
  auto change = session.Changes();
  if (!Check(change.status(), "reading its own writes")) return;
  Remember(session.transaction().write_set());

  const bool changes = !session.transaction().write_set().empty();
  const bool refuse = Random(12) == 0 && changes;
  const auto before_mark = [&](const WriteSet&) {
    explorer_.CrashPoint();
    return refuse ? absl::CancelledError("refused") : absl::OkStatus();
  };
  CommitOptions options;
  const uint64_t sequence = last_sequence_ += sequence_step_;
  options.sequence = sequence;
  options.hold_locks = rig_->can_hold() && Random(6) == 0;
  if (refuse || Random(4) == 0) options.before_mark.emplace(before_mark);
  const auto place = std::make_shared<uint64_t>(0);
  options.durable_at = place.get();
  Note(thread,
       absl::StrCat("commit ", sequence, options.hold_locks ? " and hold" : "",
                    refuse ? ", refused before the mark" : ""));
  if (!refuse) {
    in_flight_.push_back({sequence, changes ? sequence : 0,
                          std::make_shared<const Change>(*std::move(change)),
                          place});
  }
  if (options.hold_locks && !refuse && Random(2) == 0) held_.insert(sequence);
  Expect();
  const absl::Status committed = session.transaction().Commit(options);
  sessions_[thread].reset();
  if (refuse) {
    if (committed.ok()) {
      Check(absl::InternalError("a refused commit succeeded"), "commit");
    }
    ++result_.aborted;
    return;
  }
  const auto mine =
      std::find_if(in_flight_.begin(), in_flight_.end(),
                   [&](const InFlight& one) { return one.number == sequence; });
  const InFlight done = *mine;
  in_flight_.erase(mine);
  if (absl::IsResourceExhausted(committed)) {  // it was aborted
    ++result_.aborted;
    ++result_.full;
    Expect();
    return;
  }
  if (!Check(committed, "commit")) return;
  Note(thread, absl::StrCat("has committed ", sequence));
  if (options.hold_locks) held_.insert(sequence);
  if (!lags_) {
    World world = *world_;
    Apply(*done.change, &world);
    world_ = std::make_shared<const World>(std::move(world));
  }
  sequence_ = std::max(sequence_, done.sequence);
  if (lags_ && changes && *place != 0) lagging_.push_back(done);
  if (lags_) FollowPlaces();
  Expect();
  ++result_.committed;
  if (Random(2) == 0) explorer_.CrashPoint();
}

void Life::Abort(size_t thread) {
  Note(thread, "abort");
  Transaction& transaction = sessions_[thread]->transaction();
  const WriteSet write_set = transaction.write_set();
  Check(transaction.Abort(), "abort");
  sessions_[thread].reset();
  ++result_.aborted;
  if (lags_) FollowPlaces();
  auto reader = rig_->store().Begin(absl::ZeroDuration());
  for (const Intent& intent : write_set) {
    if (!world_->objects.contains(intent.object)) continue;
    auto bytes = reader->Read(intent.object);
    if (reader->conflict().has_value()) break;
    // Other threads may have committed during the read.
    const auto expected = world_->objects.find(intent.object);
    if (expected == world_->objects.end()) continue;
    if (!Check(bytes.status(), "reading what was aborted")) break;
    if (std::memcmp(bytes->data(), expected->second->data(), bytes->size()) !=
        0) {
      Check(absl::InternalError(absl::StrCat("object ", intent.object,
                                             " is not what it was before")),
            "abort");
      break;
    }
  }
  Check(reader->Abort(), "abort");
}

void Life::Remember(const WriteSet& write_set) {
  for (const Intent& intent : write_set) {
    const auto found = std::find(recent_.begin(), recent_.end(), intent.object);
    if (found != recent_.end()) recent_.erase(found);
    recent_.push_front(intent.object);
  }
  if (recent_.size() > kRecent) recent_.resize(kRecent);
}

// Reports reads to the explorer's cache.
class WatchedTransaction final : public ForwardingTransaction {
 public:
  WatchedTransaction(std::unique_ptr<Transaction> below, Explorer* explorer)
      : ForwardingTransaction(std::move(below)), explorer_(*explorer) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    auto bytes = below().Read(id);
    if (bytes.ok()) explorer_.Loaded(*bytes);
    return bytes;
  }

 private:
  Explorer& explorer_;
};

}  // namespace

RunResult Run(const Scheme& unwatched, uint64_t seed,
              const RunOptions& options) {
  RunResult result;
  std::mt19937_64 random(seed);
  // Transactions on images are not watched.
  Explorer explorer(&unwatched, random(), options.explorer);
  Scheme scheme = unwatched;
  if (options.explorer.cache_bytes != 0) {
    scheme = WithTransactions(unwatched,
                              [&explorer](std::unique_ptr<Transaction> below) {
                                return absl::make_unique<WatchedTransaction>(
                                    std::move(below), &explorer);
                              });
  }
  Life(&explorer, &random, &result).Live(scheme, Found(), options);
  auto survivor = explorer.TakeSurvivor();
  if (!explorer.failed() && survivor.has_value()) {
    explorer.Restart(*survivor);
    Life(&explorer, &random, &result).Live(scheme, survivor->found, options);
  }
  result.failure = explorer.failure();
  result.counts = explorer.counts();
  return result;
}

}  // namespace kamino::engine::crash
