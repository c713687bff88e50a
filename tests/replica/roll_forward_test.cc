// Entries that share objects, and a crash at any flush or drain of any of them:
// their after-images bring the heap to the head's state, whatever the crash
// did, and even if the next entry comes meanwhile.
#include "replica/repair/roll_forward.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap.h"
#include "engine/kamino/checksum.h"
#include "engine/kamino/replica_transaction.h"
#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/procedure.h"
#include "replica/state/heap_executor.h"
#include "replica/state/state_machine.h"
#include "tests/faults/planted.h"

namespace kamino::replica {
namespace {

using engine::Heap;
using engine::Intent;
using engine::IntentKind;
using engine::ObjectId;
using engine::SimRegion;
using engine::WriteSet;
using ::testing::ElementsAre;

constexpr size_t kHeapBytes = 64u << 10;
constexpr uint64_t kSeeds = 3;  // ways a crash comes out, at each moment

// The change of an entry to one object; `text` is stored from `offset` on.
struct Change {
  IntentKind kind;
  ObjectId object;
  uint32_t offset;
  std::string text;
  uint32_t capacity = 0;  // of the object, but for a write
};

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// The live objects, by id.
using Objects = std::map<ObjectId, std::string>;

Objects ObjectsOf(Heap* heap, const std::set<ObjectId>& ids) {
  Objects objects;
  const auto blocks = heap->Load(std::vector<ObjectId>(ids.begin(), ids.end()));
  EXPECT_TRUE(blocks.ok()) << blocks.status();
  if (!blocks.ok()) return objects;
  for (const auto& [id, block] : *blocks) {
    if (!block.allocated) continue;
    const auto payload = heap->BlockPayload(id);
    objects[id] = std::string(reinterpret_cast<const char*>(payload.data()),
                              payload.size());
  }
  return objects;
}

// A node's heap, with an executor that also repairs it.
struct Node {
  explicit Node(const SimRegion::Image& image)
      : region(image),
        heap(*Heap::Open(&region)),
        state(&procedures, heap->root()),
        executor(heap.get(), &state) {
    EXPECT_TRUE(heap->Load().ok());
  }

  SimRegion region;
  std::unique_ptr<Heap> heap;
  ProcedureRegistry procedures;
  StateMachine state;
  HeapExecutor executor;
};

class RollForwardTest : public ::testing::Test {
 protected:
  RollForwardTest()
      : ring_region_(LogRing::kMinTinyBytes),
        ring_(*LogRing::Create(&ring_region_, {}, LogRing::kMinTinyBytes,
                               ChainMode::kImages)) {
    SimRegion region(kHeapBytes);
    const auto heap = *Heap::CreateWithLog(&region, "test", 4096);
    const auto make = [&](uint32_t size) {
      const ObjectId id = *heap->Reserve(size);
      heap->states().MarkAllocated(id);
      const auto payload = heap->BlockPayload(id);
      std::memset(payload.data(), 'o', payload.size());
      region.Persist(payload.data(), payload.size());
      ids_.insert(id);
      return id;
    };
    a_ = make(112);
    kept_ = make(112);
    c_ = make(1008);
    b_ = *heap->Reserve(112);
    heap->Release(b_);
    region.Drain();
    before_ = region.CrashImage(0);
    head_ = std::make_unique<Node>(before_);
    after_.push_back(ObjectsOf(head_->heap.get(), ids_));
    for (const auto& changes : Entries()) Execute(changes);
  }

  // Objects that are written, freed and made again, with another size and in
  // each other's place, also within one entry.
  std::vector<std::vector<Change>> Entries() const {
    const auto write = [](ObjectId id, uint32_t offset, std::string text) {
      return Change{IntentKind::kWrite, id, offset, std::move(text)};
    };
    const auto alloc = [](ObjectId id, uint32_t capacity, std::string text) {
      return Change{IntentKind::kAlloc, id, 0, std::move(text), capacity};
    };
    const auto free = [](ObjectId id, uint32_t capacity) {
      return Change{IntentKind::kFree, id, 0, "", capacity};
    };
    const ObjectId c2 = c_ + 128;
    return {
        {write(a_, 3, "one"), alloc(b_, 112, "first")},
        {write(a_, 50, "two"), write(b_, 2, "2"), free(c_, 1008)},
        {alloc(c_, 112, "half"), alloc(c2, 112, "other half")},
        {free(c_, 112), write(c2, 0, "again"), write(a_, 3, "four")},
        {alloc(c_, 112, "for a moment"), write(a_, 0, "5"), free(c_, 112)},
        {write(b_, 40, "6"), free(c2, 112), free(b_, 112)},
        {alloc(c_, 496, std::string(300, 'z')), alloc(b_, 48, "smaller")},
        {write(c_, 100, "in it"), write(b_, 1, "8"), write(a_, 1, "8"),
         free(a_, 112)},
        {alloc(a_, 112, "new")},
        {write(a_, 4, "gone"), free(a_, 112), write(kept_, 0, "kept")},
        {alloc(a_, 112, "newest")},
    };
  }

  // At the head; the entries' images are taken from its heap.
  void Execute(const std::vector<Change>& changes) {
    WriteSet write_set;
    engine::AfterImage image;
    Heap& heap = *head_->heap;
    for (const Change& change : changes) {
      const ObjectId id = change.object;
      ids_.insert(id);
      uint32_t length = change.capacity;
      if (change.kind == IntentKind::kAlloc) {
        ASSERT_TRUE(heap.ReserveAt(id, length).ok());
        std::memset(heap.BlockPayload(id).data(), 0, length);
        heap.states().MarkAllocated(id);
        image.filled.push_back(static_cast<uint32_t>(change.text.size()));
      } else if (change.kind == IntentKind::kWrite) {
        length = static_cast<uint32_t>(change.text.size());
      }
      write_set.push_back({id, change.offset, length, change.kind});
      std::memcpy(heap.BlockPayload(id).data() + change.offset,
                  change.text.data(), change.text.size());
    }
    image.hash =
        engine::HashAfterImage(write_set, image.filled, [&heap](ObjectId id) {
          return absl::Span<const std::byte>(heap.BlockPayload(id));
        });
    Append(write_set, image);
    for (const Change& change : changes) {
      if (change.kind != IntentKind::kFree) continue;
      heap.states().MarkFree(change.object);
      heap.region()->Drain();
      heap.Release(change.object);
    }
    after_.push_back(ObjectsOf(&heap, ids_));
  }

  void Append(const WriteSet& write_set, const engine::AfterImage& image) {
    Mutation mutation;
    mutation.function = "test";
    const std::vector<const Mutation*> mutations = {&mutation};
    const auto image_of = [this](const Intent& intent) {
      return *head_->executor.ImageOf(intent);
    };
    LogEntryDraft draft;
    draft.first = ring_->received() + 1;
    draft.chain_id = 1;
    draft.mutations = mutations;
    draft.write_set = &write_set;
    draft.image = &image;
    draft.image_of.emplace(image_of);
    ASSERT_TRUE(ring_->Append(draft).ok());
  }

  // At a replica, by its execution.
  static void Execute(Heap* heap, const LogEntry& entry) {
    const auto write_set = entry.WriteSet();
    engine::ReplicaTransaction transaction(heap, *write_set);
    const auto visited = entry.VisitImages(
        [&](const Intent& intent, absl::string_view image) -> absl::Status {
          ObjectId id = intent.object;
          if (intent.kind == IntentKind::kFree) return transaction.Free(id);
          if (intent.kind == IntentKind::kAlloc) {
            id = *transaction.Alloc(intent.length);
          }
          return transaction.Overwrite(id, intent.offset,
                                       BytesOf(std::string(image)));
        });
    ASSERT_TRUE(visited.ok()) << visited;
    ASSERT_TRUE(static_cast<engine::Transaction&>(transaction).Commit().ok());
  }

  // The images that crashes may leave, at each flush and drain of `act`.
  static std::vector<SimRegion::Image> CrashesOf(
      SimRegion* region, uint64_t seeds, const std::function<void()>& act) {
    std::vector<SimRegion::Image> images;
    const auto crash = [&] {
      for (uint64_t seed = 1; seed <= seeds; ++seed) {
        images.push_back(region->CrashImage(images.size() * seeds + seed));
      }
    };
    region->SetFlushHook(crash);
    region->SetDrainHook(crash);
    act();
    region->SetFlushHook(nullptr);
    region->SetDrainHook(nullptr);
    return images;
  }

  // "" when the heap equals the head's after `last`.
  std::string Difference(Heap* heap, uint64_t last) const {
    const Objects objects = ObjectsOf(heap, ids_);
    if (heap->stats().objects != after_[last].size() + 1) {  // and the root
      return absl::StrCat("there are ", heap->stats().objects, " objects");
    }
    for (const auto& [id, text] : after_[last]) {
      const auto found = objects.find(id);
      if (found == objects.end()) return absl::StrCat("no object ", id);
      if (found->second != text) return absl::StrCat("object ", id, " differs");
    }
    return "";
  }

  std::string Roll(Node* node, uint64_t after, uint64_t last) {
    RollForward roll(ring_.get(), &node->executor);
    const absl::Status done = roll.Interrupted(after, last);
    if (!done.ok()) return std::string(done.message());
    return Difference(node->heap.get(), last);
  }

  // The first violation after a crash within any entry, whether or not the mark
  // that those before it are applied is there.
  std::string RollFromEverywhere(bool crash_again) {
    Node replica(before_);
    const uint64_t all = ring_->received();
    for (uint64_t entry = 1; entry <= all; ++entry) {
      const auto crashes = CrashesOf(&replica.region, kSeeds, [&] {
        Execute(replica.heap.get(), ring_->EntryOf(entry));
      });
      for (size_t i = 0; i < crashes.size(); ++i) {
        for (const uint64_t after : {uint64_t{0}, entry - 1}) {
          for (const uint64_t last : {entry, all}) {
            const std::string wrong =
                RollOnce(crashes[i], after, last, crash_again && i % 4 == 0);
            if (wrong.empty()) continue;
            return absl::StrCat("crash ", i, " of entry ", entry, ", (", after,
                                ", ", last, "]: ", wrong);
          }
        }
      }
    }
    return Difference(replica.heap.get(), all);
  }

  std::string RollOnce(const SimRegion::Image& crash, uint64_t after,
                       uint64_t last, bool crash_again) {
    Node node(crash);
    if (!crash_again) return Roll(&node, after, last);
    std::string wrong;
    const auto again =
        CrashesOf(&node.region, 1, [&] { wrong = Roll(&node, after, last); });
    for (size_t i = 0; i < again.size() && wrong.empty(); ++i) {
      Node second(again[i]);
      wrong = Roll(&second, after, last);
      if (!wrong.empty()) wrong = absl::StrCat("crash ", i, " again: ", wrong);
    }
    return wrong;
  }

  SimRegion ring_region_;
  std::unique_ptr<LogRing> ring_;
  std::set<ObjectId> ids_;
  ObjectId a_, b_, c_, kept_;
  SimRegion::Image before_;
  std::unique_ptr<Node> head_;
  std::vector<Objects> after_;  // each entry; first before all
};

TEST_F(RollForwardTest, CompletesInterruptedEntries) {
  EXPECT_EQ(RollFromEverywhere(/*crash_again=*/false), "");
}

TEST_F(RollForwardTest, BeginsAnewAfterAnotherCrash) {
  EXPECT_EQ(RollFromEverywhere(/*crash_again=*/true), "");
}

TEST_F(RollForwardTest, AppliesUntouchedEntries) {
  for (uint64_t after = 0; after < ring_->received(); ++after) {
    Node node(before_);
    for (uint64_t entry = 1; entry <= after; ++entry) {
      Execute(node.heap.get(), ring_->EntryOf(entry));
    }
    RollForward roll(ring_.get(), &node.executor);
    const absl::Status done = roll.Untouched(after, ring_->received());
    ASSERT_TRUE(done.ok()) << after << ": " << done;
    EXPECT_EQ(Difference(node.heap.get(), ring_->received()), "") << after;
  }
}

TEST_F(RollForwardTest, PlantedFaultsAreDetected) {
  for (const char* fault :
       {"roll-forward-applies-nothing", "roll-forward-last-entry-only",
        "roll-forward-makes-what-is-freed"}) {
    faults::Planted planted(fault);
    EXPECT_NE(RollFromEverywhere(/*crash_again=*/false), "") << fault;
  }
}

// --- The calls that an executor gets.

class ListingExecutor final : public Executor {
 public:
  absl::StatusOr<uint64_t> Execute(const LogEntry&) override { return 0; }
  absl::StatusOr<uint64_t> Try(const LogEntry&) override { return 0; }
  absl::StatusOr<uint64_t> HashImage(const LogEntry&) override { return 0; }
  absl::StatusOr<absl::string_view> ImageOf(const Intent&) override {
    return absl::string_view();
  }
  absl::Status ReadIntent(const Intent&, std::string*) override {
    return absl::OkStatus();
  }
  absl::Status BeginRepair(const WriteSet& intents, bool interrupted) override {
    said.push_back(absl::StrCat(interrupted ? "interrupted " : "untouched ",
                                intents.size()));
    return absl::OkStatus();
  }
  absl::Status RepairIntent(const Intent& intent, absl::string_view bytes,
                            RepairDirection direction) override {
    EXPECT_EQ(direction, RepairDirection::kForward);
    said.push_back(absl::StrCat(static_cast<int>(intent.kind), " ",
                                intent.object, " ", bytes.size()));
    return absl::OkStatus();
  }
  void EndRepair(bool confirmed) override {
    said.push_back(confirmed ? "confirmed" : "by the head's word");
  }

  std::vector<std::string> said;
};

TEST_F(RollForwardTest, BeginsOnceWithAllIntents) {
  ListingExecutor executor;
  RollForward roll(ring_.get(), &executor);
  ASSERT_TRUE(roll.Interrupted(7, 10).ok());
  EXPECT_THAT(
      executor.said,
      ElementsAre("interrupted 8",  //
                  absl::StrCat("1 ", c_, " 5"), absl::StrCat("1 ", b_, " 1"),
                  absl::StrCat("3 ", a_, " 0"), absl::StrCat("1 ", kept_, " 4"),
                  "confirmed"));
}

TEST_F(RollForwardTest, ImagesWithoutAMatchingHashAreTheHeadsWord) {
  const WriteSet write_set = {{kept_, 0, 8, IntentKind::kWrite}};
  for (const uint64_t hash : {0u, 7u}) {
    Append(write_set, {hash, {}});
    ListingExecutor executor;
    RollForward roll(ring_.get(), &executor);
    const uint64_t last = ring_->received();
    ASSERT_TRUE(roll.Untouched(last - 1, last).ok());
    EXPECT_THAT(executor.said,
                ElementsAre("untouched 1", absl::StrCat("1 ", kept_, " 8"),
                            "by the head's word"));
  }
}

TEST_F(RollForwardTest, ADamagedEntryStopsTheNode) {
  const LogEntry entry = ring_->EntryOf(3);
  const_cast<char*>(entry.bytes().data())[entry.bytes().size() - 9] ^= 1;
  Node node(before_);
  RollForward roll(ring_.get(), &node.executor);
  EXPECT_TRUE(absl::IsDataLoss(roll.Interrupted(0, 4)));
  EXPECT_EQ(Difference(node.heap.get(), 0), "");
}

}  // namespace
}  // namespace kamino::replica
