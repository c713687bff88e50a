// The memory under a store, which can be examined at any moment as a crash
// would leave it.
//
// Crash points are every Drain, some of the Flushes, and the workload's own
// between stores. At every Drain, and some of the Flushes, another thread may
// run. At each crash point, images are made of the memory at risk, first in
// whole lines, then in single words; each is recovered and checked. Words stand
// for the crash points between single stores too: the effect of a prefix of the
// stores is one of the subsets of words. Some images are recovered on memory
// with crash points of its own.
#ifndef KAMINO_TESTS_ENGINE_CRASH_EXPLORER_H_
#define KAMINO_TESTS_ENGINE_CRASH_EXPLORER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/pmem/cache_model.h"
#include "engine/pmem/plain_region.h"
#include "engine/pmem/sim_region.h"
#include "tests/engine/crash/oracle.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

struct ExplorerOptions {
  // Images in lines and in words at a crash point: every combination up to
  // `exhaustive`, otherwise `most`.
  size_t exhaustive = 64;
  size_t most = 32;
  size_t exhaustive_words = 32;
  size_t most_words = 12;
  // The same within recovery, in lines.
  size_t exhaustive_deep = 16;
  size_t most_deep = 8;

  // For flushes, which are many; drains have their own.
  uint64_t flush_percent = 3;    // crash points
  uint64_t switch_percent = 25;  // let another thread run
  uint64_t deep_one_in = 150;    // images are recovered with crash points

  // Not 0: chance does not decide which unflushed lines are durable. A cache of
  // that size does: evicted lines are durable, and those in the cache at the
  // crash are lost.
  size_t cache_bytes = 0;
  size_t cache_ways = 11;

  // The memory is a file on a disk: SimRegion::SyncPages. Images are made in
  // pages first, and the kernel writes pages back at random.
  bool pages = false;

  // Puts something between the store under test and its memory; null: nothing.
  std::function<std::unique_ptr<Region>(Region* memory, size_t area)> decorate;
  // Called before the first crash point, in a sound state.
  std::function<void()> at_start;
};

struct ExplorerCounts {
  uint64_t points = 0;
  uint64_t images = 0;       // in all
  uint64_t torn_images = 0;  // in words
  uint64_t deep_images = 0;  // within recovery
  uint64_t repaired = 0;     // images with repaired lines
  uint64_t losses = 0;       // images with lost objects
};

// The memory that a crash has left, and its content.
struct Survivor {
  std::vector<SimRegion::Image> memory;
  Found found;
};

class Explorer {
 public:
  Explorer(const Scheme* scheme, uint64_t seed, const ExplorerOptions& options);

  // The memory of the store under test.
  const std::vector<Region*>& regions() const { return regions_; }
  // Starts from a survivor's memory. No store may be open.
  void Restart(const Survivor& survivor);

  // Off at first.
  void Explore(bool on);
  // The percentage of crash points that are explored; 100 at first.
  void SetPercent(uint64_t percent) { percent_ = percent; }
  // Skips crash points once there have been that many images in all, except
  // those that get a close look; explores all at first. Also bounds how often
  // threads switch within calls.
  void SetAllowance(uint64_t images) { allowance_ = images; }
  void Expect(Expectation expectation) {
    expectation_ = std::move(expectation);
    ++expectations_;
  }
  // See SimRegion::ActAs.
  void ActAs(int thread);

  // A crash could happen now.
  void CrashPoint() {
    if (random_() % 100 < percent_) CrashPoint("between stores");
  }

  // These bytes of a region of the store under test were read.
  void Loaded(absl::Span<const std::byte> bytes);

  // An event, for the account of a failure.
  void Note(std::string what);

  // An image was not right; exploration has ended.
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  void Fail(const std::string& failure);

  const ExplorerCounts& counts() const { return counts_; }
  // Any one of the right images.
  std::optional<Survivor> TakeSurvivor();

 private:
  using Memory = std::vector<std::unique_ptr<SimRegion>>;

  // Bytes that a crash may change: a page's, 64 or 8.
  struct Piece {
    size_t area;
    size_t offset;
    size_t length;
    std::vector<const std::byte*> outcomes;
  };

  void Hooked(const char* where, uint64_t crash_percent,
              uint64_t switch_percent);
  void LookAtBranches();
  // Lines stored to since the last call have come into the cache.
  void FollowStores();
  void UseLine(size_t area, size_t line);
  void CrashPoint(const char* where, bool closely = false);
  void DeepCrashPoint();
  std::vector<Piece> LinesOf(const Memory& memory) const;
  // The pages of those lines, or the lines themselves without `pages`.
  std::vector<Piece> WholesOf(const std::vector<Piece>& lines,
                              const Memory& memory) const;
  void WriteSomePageBack();
  static std::vector<Piece> WordsOf(const std::vector<Piece>& lines,
                                    const Memory& memory);
  bool SeenBefore(const std::vector<Piece>& lines);

  // Makes the images of `pieces` and checks each.
  void TryImages(const Memory& memory, const std::vector<Piece>& pieces,
                 size_t exhaustive, size_t most, bool deep, const char* where);
  // In three of four images at most one object of a code has lost lines, so
  // that none is lost.
  std::vector<CodedObjects> CodedNow() const;
  void SpareCoded(const std::vector<CodedObjects>& coded,
                  const std::vector<Piece>& pieces,
                  std::vector<uint8_t>* picks);
  // The objects of the image on the scratch regions.
  std::set<ObjectId> MayBeLost() const;
  // Losses that recovery reported are real, and their objects can be freed.
  absl::Status CheckLosses(std::unique_ptr<Rig> rig,
                           const std::vector<Region*>& regions,
                           const Found& found);
  // The content of `regions` recovers and is right.
  absl::StatusOr<Found> Check(const std::vector<Region*>& regions,
                              uint64_t seed);
  absl::StatusOr<Found> CheckDeep(uint64_t seed);
  std::string Account(const char* where, const std::vector<Piece>& pieces,
                      const std::vector<uint8_t>& picks,
                      const absl::Status& wrong) const;

  const Scheme& scheme_;
  const ExplorerOptions options_;
  std::mt19937_64 random_;

  Memory live_;  // under the store under test
  std::vector<std::unique_ptr<Region>> decorated_;
  std::vector<Region*> regions_;
  // Images are made and recovered here, or copied to where a recovery has
  // crash points.
  std::vector<std::unique_ptr<PlainRegion>> scratch_;
  std::vector<Region*> scratch_regions_;
  Memory deep_;
  std::vector<Region*> deep_regions_;

  std::optional<CacheModel> cache_;
  std::vector<SimRegion::Image> followed_;  // as of the last FollowStores

  // Positions of the crash point, and of the image.
  uint64_t durable_ = 0;
  std::set<ObjectId> may_be_lost_;

  uint64_t percent_ = 100;
  uint64_t allowance_ = UINT64_MAX;  // images
  uint64_t switches_ = 0;            // within calls
  // Branches of the engine reached before, in the process and in this run; and
  // how many crash points get a close look after a new one.
  std::vector<uint64_t> reached_before_;
  std::vector<uint64_t> reached_now_;  // kept for its memory
  std::vector<bool> reached_;
  int close_looks_ = 0;
  bool started_ = false;
  bool exploring_ = false;
  bool recovering_deep_ = false;
  Expectation expectation_;
  uint64_t expectations_ = 0;
  uint64_t last_seen_ = 0;
  ExplorerCounts counts_;
  std::optional<Survivor> survivor_;
  uint64_t survivors_ = 0;
  std::vector<std::string> notes_;
  std::string failure_;
};

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_EXPLORER_H_
