// Faults of a simulated node's disk: lost, slow, put back, changed.
#include <string.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "tests/simulation/sim_node.h"

namespace kamino::simulation {

using node::SimDisk;
using node::SimMedia;

namespace {

// For a node with a copy of another time, which may have counted more.
constexpr uint32_t kMany = 1000;

}  // namespace

void SimNode::LoseDisk() {
  CHECK(!up());
  Discard();
  disk_ = std::make_unique<SimDisk>(options_.drains_all);
  if (!options_.drains_all) disk_->SyncPages();
  disk_->SetDrainHook([this] { OnDrain(); });
  put_back_ = false;
  old_files_.clear();
  must_tell_old_files_ = false;
  Forgive();
  rotten_ = false;
  decayed_ = false;
  deaths_ = 0;
}

void SimNode::HangCore(absl::Duration time) {
  Trace("its core hangs for ", absl::FormatDuration(time));
  executor_->Hang(time);
}

void SimNode::HangMedium(absl::Duration time) {
  HangCore(time);
  medium_time_before_ = MediumTime();
  medium_hangs_since_ = world()->now();
  medium_hangs_for_ = time;
}

absl::Duration SimNode::MediumTime() const {
  return medium_time_before_ + std::clamp(world()->now() - medium_hangs_since_,
                                          absl::ZeroDuration(),
                                          medium_hangs_for_);
}

void SimNode::SlowMedia(absl::Duration drain) {
  Trace("a drain takes ", absl::FormatDuration(drain));
  drain_takes_ = drain;
}

SimNode::Copy SimNode::TakeCopy() const {
  return {incarnation_, node()->core().view().id,
          node()->core().ring().applied(), FilesSayReceiving(), disk_->Copy()};
}

bool SimNode::FilesSayReceiving() const {
  const replica::NodeRecord& record = *storage_->record();
  return !record.durable() ||
         record.state().condition == membership::Condition::kReceiving;
}

SimNode::Copy SimNode::TakeCopyOfDisk() const {
  CHECK(!up());
  Copy copy;
  copy.images = disk_->Copy();
  return copy;
}

bool SimNode::IsOf(const Copy& copy) const {
  return incarnation_ == copy.incarnation && up() &&
         node()->core().view().id == copy.view_id;
}

void SimNode::PutBack(const Copy& copy) {
  CHECK(!up());
  Discard();
  Trace("is put back to a copy of its disk");
  disk_->PutBack(copy.images);
  put_back_ = true;
  deaths_ = kMany;
  old_files_.clear();
  must_tell_old_files_ = may_differ_ = false;
}

void SimNode::PutBackSome(const Copy& copy) {
  CHECK(!up());
  Discard();
  SimDisk::Images old = copy.images;
  const SimMedia names(disk_.get());
  old_files_.clear();
  while (old_files_.empty() || old_files_.size() == copy.images.size()) {
    old = copy.images;
    old_files_.clear();
    for (const auto& [part, image] : copy.images) {
      if (random_.OneIn(2)) {
        old.erase(part);
      } else {
        old_files_.push_back(names.Name(part));
      }
    }
  }
  const bool one_of_two =
      old.count(SimMedia::Part::kHeap) != old.count(SimMedia::Part::kRing);
  const bool one_drain =
      copy.incarnation == incarnation_ && copy.applied >= applied_before_;
  must_tell_old_files_ =
      one_of_two && !one_drain && !copy.receiving && !was_receiving_;
  may_differ_ = needs_undo_copy_ && old.count(SimMedia::Part::kHeap) !=
                                        old.count(SimMedia::Part::kUndoCopy);
  Trace("has older copies of ", absl::StrJoin(old_files_, ", "));
  disk_->PutBack(old);
  deaths_ = kMany;
  put_back_ = true;  // neighbours may know an age within one drain
}

void SimNode::FlipBits() {
  CHECK(!up());
  Discard();
  using Part = SimMedia::Part;
  struct Place {
    Part part;
    size_t begin;
    size_t bytes;
  };
  constexpr size_t kPage = 4096;
  // The descriptive parts of a node's files: heads, marks, records; and
  // entries.
  const Place places[] = {
      {Part::kRing, 0, 320},    {Part::kRing, 1024, 384},
      {Part::kRing, 2048, 384}, {Part::kRing, kPage, 32u << 10},
      {Part::kHeap, 0, 216},    {Part::kHeap, 1024, 192},
      {Part::kUndoCopy, 0, 64}, {Part::kUndoCopy, 1024, 192}};
  SimDisk::Images images = disk_->Copy();
  for (uint64_t flips = 1 + random_.Pick(3); flips > 0; --flips) {
    const Place& place = places[random_.Pick(std::size(places))];
    const auto image = images.find(place.part);
    if (image == images.end()) continue;
    const uint64_t bit = random_.Pick(place.bytes * 8);
    image->second[place.begin + bit / 8] ^=
        static_cast<std::byte>(1u << bit % 8);
    Trace("has a bit flipped in its ", SimMedia(disk_.get()).Name(place.part),
          " at ", place.begin + bit / 8);
  }
  if (random_.OneIn(4)) {
    // Both copies of a version of the record.
    const size_t version = random_.Pick(2);
    for (size_t copy : {1024, 2048}) {
      images[Part::kRing][copy + version * 192 + random_.Pick(184)] ^=
          std::byte{1};
    }
    Trace("has both copies of a version of its record damaged");
  }
  disk_->PutBack(images);
  deaths_ = kMany;
  rotten_ = put_back_ = true;
}

std::byte* SimNode::Find(const std::string& value) const {
  engine::Region* const region = storage_->heap()->region();
  return static_cast<std::byte*>(
      memmem(region->base(), region->size(), value.data(), value.size()));
}

void SimNode::Decay() {
  const std::string& value = options_.cold[random_.Pick(options_.cold.size())];
  std::byte* const place = Find(value);
  if (place == nullptr) return;
  const uint64_t bit = random_.Pick(value.size() * 8);
  place[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  Trace("has a bit flipped in ", value.substr(0, 5), " at ",
        place + bit / 8 - storage_->heap()->region()->base());
  decayed_ = true;
}

bool SimNode::decayed() {
  if (!has_core() || !node()->core().view().formed()) return decayed_;
  // Its data is of no use outside of the chain.
  if (node()->core().place().role() == membership::Role::kOutside) return false;
  if (node()->core().soundness().condition() != membership::Condition::kSound) {
    return decayed_;
  }
  decayed_ = false;
  for (const std::string& value : options_.cold) {
    decayed_ |= Find(value) == nullptr;
  }
  return decayed_;
}

}  // namespace kamino::simulation
