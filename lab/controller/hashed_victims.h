// The victim cache as firmware has it (WrAP, section 4): a hash table from line
// to data, and a FIFO of what was put there, with its tags. What is free to go
// is at the FIFO's head: a tag names no wrap that a later one does not name,
// but those that have retired. So it takes constant time to let one go.
#ifndef KAMINO_LAB_CONTROLLER_HASHED_VICTIMS_H_
#define KAMINO_LAB_CONTROLLER_HASHED_VICTIMS_H_

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "lab/controller/victim_cache.h"

namespace kamino::bench::controller {

template <typename Rule>
class HashedVictims final : public VictimCache {
 public:
  explicit HashedVictims(WriteHome write_home)
      : VictimCache(std::move(write_home)) {}

  void Open(WrapNumber wrap) override { rule_.Open(wrap); }

  void Retire(WrapNumber wrap) override {
    rule_.Retire(wrap);
    LetGo();
  }

  void Put(LineNumber line, const LineData& data) override {
    ++counts_.put;
    Supersede(line);
    fifo_.push_back({line, data, /*dirty=*/true, rule_.Now()});
    newest_[line] = first_ + fifo_.size() - 1;
    LetGo();
    counts_.most = std::max<uint64_t>(counts_.most, fifo_.size());
  }

  const LineData* Find(LineNumber line) override {
    Version* const version = Newest(line);
    if (version == nullptr) return nullptr;
    ++counts_.found;
    return &version->data;
  }

  // Versions before the newest are clean anyway.
  void MarkClean(LineNumber line) override { Supersede(line); }

  uint64_t held() const override { return fifo_.size(); }

  // A newer version is elsewhere, or home is newer.
  void Supersede(LineNumber line) {
    Version* const version = Newest(line);
    if (version != nullptr) version->dirty = false;
  }

 private:
  struct Version {
    LineNumber line;
    LineData data;
    bool dirty;  // home may need it
    typename Rule::Tag tag;
  };

  Version* Newest(LineNumber line) {
    const auto found = newest_.find(line);
    return found == newest_.end() ? nullptr : &fifo_[found->second - first_];
  }

  void LetGo() {
    while (!fifo_.empty() && rule_.MayGo(&fifo_.front().tag)) {
      const Version version = std::move(fifo_.front());
      fifo_.pop_front();
      const auto found = newest_.find(version.line);
      if (found->second == first_) newest_.erase(found);
      ++first_;
      NoteReleased(version.line);
      if (version.dirty) GoHome(version.line, version.data);
    }
  }

  Rule rule_;
  std::deque<Version> fifo_;
  uint64_t first_ = 0;  // number of the FIFO's head
  absl::flat_hash_map<LineNumber, uint64_t> newest_;  // number in the FIFO
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_HASHED_VICTIMS_H_
