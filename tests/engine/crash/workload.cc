#include "tests/engine/crash/workload.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/crash/session.h"
#include "tests/engine/crash/thread_pool.h"
#include "tests/engine/crash/world.h"

namespace kamino::engine::crash {
namespace {

// One thread, the main one, does what is left to do after commits, the others
// have one transaction each.
constexpr int kSyncThread = 0;
constexpr size_t kThreads = 3;
constexpr size_t kRecent = 6;

// Shared by all runs, so that a store that numbers threads gives them the same
// numbers in each.
ThreadPool& Threads() {
  static auto* const threads = new ThreadPool(kThreads);
  return *threads;
}

class Life {
 public:
  Life(Explorer* explorer, std::mt19937_64* random, RunResult* result)
      : explorer_(*explorer), random_(*random), result_(*result) {}

  // Null: a new store. Returns when the explorer has failed, too.
  void Live(const Scheme& scheme, WorldPointer world, int steps);

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
  // Does it as that thread.
  void On(size_t thread, const std::function<void()>& work) {
    explorer_.ActAs(static_cast<int>(thread));
    Threads().Run(thread - 1, work);
    explorer_.ActAs(kSyncThread);
  }
  void Expect(WorldPointer after) {
    explorer_.Expect(
        {world_, std::move(after), {recent_.begin(), recent_.end()}});
  }

  void MeetThreads();
  void Step();
  void StepOf(size_t thread);
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
  std::deque<ObjectId> recent_;
  std::set<uint64_t> held_;
  uint64_t sequence_ = 0;
};

void Life::Live(const Scheme& scheme, WorldPointer world, int steps) {
  const bool make = world == nullptr;
  if (!make) {
    world_ = std::move(world);
    Expect(nullptr);
    explorer_.Explore(true);  // recovery has crash points
  }
  explorer_.ActAs(kSyncThread);
  auto rig = scheme.open(explorer_.regions(), make);
  if (!Check(rig.status(), "opening")) return;
  rig_ = std::move(*rig);
  MeetThreads();
  if (make) {
    auto made = MakeWorld(*rig_);
    if (!Check(made.status(), "making the world")) return;
    world_ = std::make_shared<const World>(std::move(*made));
    Expect(nullptr);
    explorer_.Explore(true);
  }
  for (int i = 0; i < steps && !explorer_.failed(); ++i) Step();
  for (size_t thread = 1; thread <= kThreads; ++thread) {
    On(thread, [&] {
      if (sessions_[thread] != nullptr && !explorer_.failed()) Abort(thread);
      sessions_[thread].reset();
    });
  }
  if (!explorer_.failed()) {
    Note(kSyncThread, "everything comes to rest");
    while (!held_.empty()) {
      rig_->ReleaseHold(*held_.begin());
      held_.erase(held_.begin());
    }
    rig_->store().Quiesce();
    explorer_.Explore(false);
    if (Check(CheckObjects(*rig_, *world_), "at rest")) {
      Check(CheckStructure(*rig_, *world_), "at rest");
    }
  }
  rig_.reset();
}

// Each in its turn, so that the first run is like all others.
void Life::MeetThreads() {
  const auto meet = [this] { rig_->store().Begin(absl::ZeroDuration()); };
  meet();
  for (size_t thread = 1; thread <= kThreads; ++thread) On(thread, meet);
}

void Life::Step() {
  if (Random(5) < 2) {
    Sync();
    return;
  }
  const size_t thread = 1 + Random(kThreads);
  On(thread, [&] { StepOf(thread); });
}

void Life::StepOf(size_t thread) {
  auto& session = sessions_[thread];
  if (session == nullptr) {
    session = absl::make_unique<Session>(rig_.get(), thread - 1, &random_,
                                         [this] { explorer_.CrashPoint(); });
  } else if (Random(5) < 2) {
    if (Random(6) == 0) {
      Abort(thread);
    } else {
      Commit(thread);
    }
    return;
  }
  const absl::Status done = session->DoSomething();
  explorer_.Note(absl::StrCat("thread ", thread, ": ", session->what(),
                              done.ok() ? "" : ", which is refused"));
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
    Note(kSyncThread, absl::StrCat("release hold ", *held_.begin()));
    rig_->ReleaseHold(*held_.begin());
    held_.erase(held_.begin());
    return;
  }
  const size_t count = 1 + Random(3);
  Note(kSyncThread, absl::StrCat("sync up to ", count));
  rig_->Sync(count);
}

void Life::Commit(size_t thread) {
  Session& session = *sessions_[thread];
  auto after = session.Outcome(*world_);
  if (!Check(after.status(), "reading its own writes")) return;
  Remember(session.transaction().write_set());

  const bool refuse =
      Random(12) == 0 && !session.transaction().write_set().empty();
  const auto before_mark = [&](const WriteSet&) {
    explorer_.CrashPoint();
    return refuse ? absl::CancelledError("refused") : absl::OkStatus();
  };
  CommitOptions options;
  options.sequence = ++sequence_;
  options.hold_locks = rig_->can_hold() && Random(6) == 0;
  if (refuse || Random(4) == 0) options.before_mark.emplace(before_mark);
  Note(thread,
       absl::StrCat("commit ", sequence_, options.hold_locks ? " and hold" : "",
                    refuse ? ", refused before the mark" : ""));
  auto result = std::make_shared<const World>(*std::move(after));
  Expect(refuse ? nullptr : result);
  const absl::Status committed = session.transaction().Commit(options);
  sessions_[thread].reset();
  if (refuse) {
    if (committed.ok()) {
      Check(absl::InternalError("a refused commit succeeded"), "commit");
    }
    ++result_.aborted;
    return;
  }
  if (absl::IsResourceExhausted(committed)) {  // it was aborted
    ++result_.aborted;
    ++result_.full;
    Expect(nullptr);
    return;
  }
  if (!Check(committed, "commit")) return;
  if (options.hold_locks) held_.insert(sequence_);
  world_ = std::move(result);
  Expect(nullptr);
  ++result_.committed;
  if (Random(2) == 0) explorer_.CrashPoint();
}

void Life::Abort(size_t thread) {
  Note(thread, "abort");
  Check(sessions_[thread]->transaction().Abort(), "abort");
  sessions_[thread].reset();
  ++result_.aborted;
}

void Life::Remember(const WriteSet& write_set) {
  for (const Intent& intent : write_set) {
    const auto found = std::find(recent_.begin(), recent_.end(), intent.object);
    if (found != recent_.end()) recent_.erase(found);
    recent_.push_front(intent.object);
  }
  if (recent_.size() > kRecent) recent_.resize(kRecent);
}

}  // namespace

RunResult Run(const Scheme& scheme, uint64_t seed, const RunOptions& options) {
  RunResult result;
  std::mt19937_64 random(seed);
  Explorer explorer(&scheme, random(), options.explorer);
  Life(&explorer, &random, &result).Live(scheme, nullptr, options.steps);
  auto survivor = explorer.TakeSurvivor();
  if (!explorer.failed() && survivor.has_value()) {
    explorer.Restart(*survivor);
    Life(&explorer, &random, &result)
        .Live(scheme, survivor->world, options.steps);
  }
  result.failure = explorer.failure();
  result.counts = explorer.counts();
  return result;
}

}  // namespace kamino::engine::crash
