#include "engine/pmem/sim_region.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "glog/logging.h"

namespace kamino::engine {
namespace {

constexpr size_t kLine = SimRegion::kLineBytes;
constexpr size_t kWord = SimRegion::kWordBytes;
constexpr size_t kPage = SimRegion::kPageBytes;

std::byte* Allocate(size_t size) {
  CHECK_EQ(size % kLine, 0u);
  void* memory = nullptr;
  CHECK_EQ(posix_memalign(&memory, kPage, size), 0);
  return static_cast<std::byte*>(memory);
}

}  // namespace

SimRegion::SimRegion(size_t size)
    : size_(size), live_(Allocate(size)), durable_(size) {
  std::memset(live_, 0, size);
}

SimRegion::SimRegion(const Image& image)
    : size_(image.size()), live_(Allocate(image.size())), durable_(image) {
  std::memcpy(live_, image.data(), image.size());
}

SimRegion::~SimRegion() { std::free(live_); }

void SimRegion::Reset(const std::byte* content) {
  std::memcpy(live_, content, size_);
  std::memcpy(durable_.data(), content, size_);
  flushed_.clear();
  flushed_pages_.clear();
}

bool SimRegion::Stored(size_t line) const {
  return std::memcmp(live_ + line, durable_.data() + line, kLine) != 0;
}

void SimRegion::Flush(const void* data, size_t length) {
  if (flush_hook_) flush_hook_();
  if (length == 0) return;
  const size_t begin = static_cast<const std::byte*>(data) - live_;
  CHECK(begin < size_ && length <= size_ - begin) << "flush outside the region";
  if (pages_) {
    for (size_t page = begin / kPage * kPage; page < begin + length;
         page += kPage) {
      flushed_pages_.insert(page);
    }
    return;
  }
  for (size_t line = begin / kLine * kLine; line < begin + length;
       line += kLine) {
    const auto found = flushed_.find(line);
    if (found == flushed_.end() && !Stored(line)) continue;
    std::vector<Flushed>& all =
        found != flushed_.end() ? found->second : flushed_[line];
    all.erase(std::remove_if(
                  all.begin(), all.end(),
                  [this](const Flushed& f) { return f.thread == thread_; }),
              all.end());
    all.push_back({thread_, {}});
    std::memcpy(all.back().bytes.data(), live_ + line, kLine);
  }
}

void SimRegion::Drain() {
  ++drains_;
  if (drain_hook_) drain_hook_();
  if (!flushed_pages_.empty()) ++syncs_;
  while (!flushed_pages_.empty()) WritePageBack(*flushed_pages_.begin());
  for (auto line = flushed_.begin(); line != flushed_.end();) {
    std::vector<Flushed>& all = line->second;
    const auto mine =
        std::find_if(all.begin(), all.end(),
                     [this](const Flushed& f) { return f.thread == thread_; });
    if (mine != all.end()) {
      std::memcpy(durable_.data() + line->first, mine->bytes.data(), kLine);
      // Older flushes of other threads add nothing to it.
      all.erase(all.begin(), mine + 1);
    }
    line = all.empty() ? flushed_.erase(line) : std::next(line);
  }
}

void SimRegion::CopyFlush(void* destination, const void* source,
                          size_t length) {
  std::memcpy(destination, source, length);
  Flush(destination, length);
}

std::vector<SimRegion::AtRisk> SimRegion::LinesAtRisk() const {
  std::vector<AtRisk> lines;
  auto next = flushed_.begin();
  const auto look_at = [&](size_t line) {
    AtRisk risk;
    risk.offset = line;
    const auto add = [&](const std::byte* bytes) {
      if (std::memcmp(bytes, durable_.data() + line, kLine) == 0) return;
      for (const std::byte* other : risk.outcomes) {
        if (std::memcmp(bytes, other, kLine) == 0) return;
      }
      risk.outcomes.push_back(bytes);
    };
    add(live_ + line);
    if (next != flushed_.end() && next->first == line) {
      for (const Flushed& flushed : next->second) add(flushed.bytes.data());
      risk.flushed = true;
      ++next;
    }
    if (flushed_pages_.count(line / kPage * kPage) > 0) risk.flushed = true;
    if (!risk.outcomes.empty()) lines.push_back(std::move(risk));
  };
  for (size_t page = 0; page < size_; page += kPage) {
    const size_t end = std::min(page + kPage, size_);
    if (std::memcmp(live_ + page, durable_.data() + page, end - page) != 0) {
      for (size_t line = page; line < end; line += kLine) look_at(line);
    } else {
      while (next != flushed_.end() && next->first < end) look_at(next->first);
    }
  }
  return lines;
}

void SimRegion::WriteBack(size_t line) {
  std::memcpy(durable_.data() + line, live_ + line, kLine);
  // Earlier flushes add nothing to it.
  flushed_.erase(line);
}

void SimRegion::WritePageBack(size_t page) {
  std::memcpy(durable_.data() + page, live_ + page,
              std::min(kPage, size_ - page));
  flushed_pages_.erase(page);
}

SimRegion::Image SimRegion::CrashImageOfPages(uint64_t seed) const {
  Image image = durable_;
  std::mt19937_64 random(seed);
  const uint64_t survive_percent = random() % 101;
  for (size_t page = 0; page < size_; page += kPage) {
    if (random() % 100 >= survive_percent) continue;
    std::memcpy(image.data() + page, live_ + page,
                std::min(kPage, size_ - page));
  }
  return image;
}

SimRegion::Image SimRegion::CrashImage(uint64_t seed) const {
  if (pages_ && seed % 2 == 0) return CrashImageOfPages(seed);
  Image image = durable_;
  std::mt19937_64 random(seed);
  // Some crashes lose nearly everything that is not durable, some nearly
  // nothing.
  const uint64_t survive_percent = random() % 101;
  for (const AtRisk& line : LinesAtRisk()) {
    if (random() % 100 >= survive_percent) continue;
    const std::byte* source = line.outcomes[random() % line.outcomes.size()];
    const bool torn = random() % 4 == 0;
    for (size_t word = 0; word < kLine; word += kWord) {
      if (torn && random() % 2 == 0) continue;
      std::memcpy(image.data() + line.offset + word, source + word, kWord);
    }
  }
  return image;
}

}  // namespace kamino::engine
